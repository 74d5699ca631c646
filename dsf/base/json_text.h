#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dsf {

/// The text of a JSON value. Names of files may be other than UTF-8, which JSON cannot hold: U+FFFD stands for
/// such bytes.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace dsf
