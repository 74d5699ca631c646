#include "dsf/base/error_text.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>

#include "dsf/base/error.h"

namespace dsf {
namespace {

/// nlohmann's messages begin with the name of their class in brackets.
std::string_view behind_bracket(std::string_view text) {
  const std::size_t close = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  return close == std::string_view::npos ? text : text.substr(close + 2);
}

}  // namespace

std::string error_text(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error) != nullptr) return error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "out of memory; a smaller model, batch or context needs less";
  }
  if (const auto* files = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    const std::string path = files->path1().string();
    return fmt::format("{}: {}", path.empty() ? "a file" : path, files->code().message());
  }
  if (dynamic_cast<const nlohmann::json::exception*>(&error) != nullptr) {
    return fmt::format("internal error in JSON: {}", behind_bracket(error.what()));
  }
  return fmt::format("internal error: {}", error.what());
}

}  // namespace dsf
