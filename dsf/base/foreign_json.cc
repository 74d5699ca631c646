#include "dsf/base/foreign_json.h"

#include <nlohmann/json.hpp>

#include "dsf/base/error.h"

namespace dsf {

using nlohmann::json;

json parse_foreign_json(std::string_view text) {
  constexpr int kDeepest = 64;
  return json::parse(text, [](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest) throw DataError("its values are nested too deeply");
    return true;
  });
}

}  // namespace dsf
