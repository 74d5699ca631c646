#include "dsf/run/run_record.h"
#include "python/native/status.h"
#include "python/native/text.h"

using dsf::native::guarded;
using dsf::native::hand_out;

dsf_status dsf_runs(const char* directory, dsf_text* json) {
  return guarded([&] { *json = hand_out(to_json(dsf::read_runs(directory))); });
}

dsf_status dsf_run_log(const char* run, dsf_text* json) {
  return guarded([&] { *json = hand_out(dsf::log_json(run)); });
}
