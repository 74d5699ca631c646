#pragma once

// Feedbacks from outside the library, by name. examples/own_feedback.cc shows one.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dsf/feedback/feedback.h"

namespace dsf {

/// Makes a feedback as make_feedback does, which has the meaning of the parameters.
using FeedbackFactory = std::function<std::unique_ptr<Feedback>(
    const FeedbackConfig& config, dim_t state_size, std::uint64_t seed, std::string_view purpose)>;

/// From here on `name` is a feedback.method like the library's own, for models and configurations.
/// Call it at the start of the program: before the first configuration is read, and from one
/// thread. Throws ConfigError if the name is taken or empty.
void register_feedback(const std::string& name, FeedbackFactory factory);

/// The factory of a registered name, or null.
const FeedbackFactory* registered_feedback(std::string_view name);

/// Their names, in the order they were registered.
std::vector<std::string> registered_feedbacks();

}  // namespace dsf
