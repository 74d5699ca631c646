// The library's messages, kept until Python asks for them: a callback into Python could be called on any
// thread and while locks are held.

#include <deque>
#include <mutex>
#include <string>

#include "dsf/base/message_handler.h"
#include "python/native/status.h"
#include "python/native/text.h"

namespace dsf::native {
namespace {

struct Message {
  MessageKind kind;
  std::string text;
};

class MessageQueue {
 public:
  void push(MessageKind kind, std::string_view text) {
    const std::lock_guard lock(mutex_);
    messages_.push_back({kind, std::string(text)});
  }

  /// False if there is none.
  bool pop(Message& message) {
    const std::lock_guard lock(mutex_);
    if (messages_.empty()) return false;
    message = std::move(messages_.front());
    messages_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<Message> messages_;
};

MessageQueue& queue() {
  static MessageQueue instance;
  return instance;
}

}  // namespace
}  // namespace dsf::native

void dsf_keep_messages() {
  dsf::set_message_handler(
      [](dsf::MessageKind kind, std::string_view text) { dsf::native::queue().push(kind, text); });
}

dsf_status dsf_next_message(int* kind, dsf_text* message) {
  return dsf::native::guarded([&] {
    dsf::native::Message next{};
    const bool there = dsf::native::queue().pop(next);
    *kind = there ? static_cast<int>(next.kind) : -1;
    *message = dsf::native::hand_out(std::move(next.text));
  });
}
