#include "python/native/status.h"

#include <filesystem>
#include <new>
#include <string>

#include "dsf/base/error.h"
#include "dsf/base/error_text.h"

namespace dsf::native {
namespace {

thread_local std::string last_error;

template <typename Kind>
bool is(const std::exception& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

dsf_status status_of(const std::exception& error) {
  if (is<UsageError>(error)) return DSF_USAGE_ERROR;
  if (is<ConfigError>(error)) return DSF_CONFIG_ERROR;
  if (is<DataError>(error)) return DSF_DATA_ERROR;
  if (is<CheckpointError>(error)) return DSF_CHECKPOINT_ERROR;
  if (is<DivergenceError>(error)) return DSF_DIVERGENCE_ERROR;
  if (is<InterruptedError>(error)) return DSF_INTERRUPTED;
  if (is<IoError>(error) || is<std::filesystem::filesystem_error>(error)) return DSF_IO_ERROR;
  if (is<std::bad_alloc>(error)) return DSF_OUT_OF_MEMORY;
  return is<Error>(error) ? DSF_OTHER_ERROR : DSF_INTERNAL_ERROR;
}

}  // namespace

dsf_status keep_error(const std::exception& error) noexcept {
  const dsf_status status = status_of(error);
  try {
    last_error = error_text(error);
  } catch (const std::bad_alloc&) {  // no memory left for the sentence either
    last_error.clear();
  }
  return status;
}

}  // namespace dsf::native

const char* dsf_last_error() { return dsf::native::last_error.c_str(); }
