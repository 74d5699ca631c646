#pragma once

#include <functional>
#include <string_view>

namespace dsf {

enum class MessageKind { info, warning, error };

/// Takes the messages of this process instead of stderr: for programs that have a place of their own for
/// them. An empty one gives them back to stderr. It is called on the thread that has something to say,
/// one message at a time, and must not say anything itself.
using MessageHandler = std::function<void(MessageKind kind, std::string_view message)>;
void set_message_handler(MessageHandler handler);

}  // namespace dsf
