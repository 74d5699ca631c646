#include "dsf/base/error_message.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>

#include "dsf/base/error.h"

namespace dsf {

std::string message_of(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error) != nullptr) return error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "out of memory; a smaller model, batch or context needs less";
  }
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    const std::string name = file->path1().string();
    return fmt::format("{}: {}", name.empty() ? "a file" : name, file->code().message());
  }
  return fmt::format("internal error: {}", error.what());
}

}  // namespace dsf
