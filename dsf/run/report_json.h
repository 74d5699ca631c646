#pragma once

// Reports of a run as JSON objects on one line each, without a line end: what log.jsonl holds, and what a
// program in another language is told.

#include <string>

#include "dsf/run/run_report.h"

namespace dsf {

std::string to_json(const StartReport& report);
std::string to_json(const TrainReport& report);
std::string to_json(const EvalReport& report);
/// "event" is "done", or "interrupted" for a run that was asked to stop.
std::string to_json(const RunSummary& summary);

}  // namespace dsf
