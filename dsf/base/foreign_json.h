#pragma once

// JSON that somebody else may have written.

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace dsf {

/// Throws DataError if values lie deeper in each other than any file of ours has them (copying
/// and printing such a document overflows the stack), and what json::parse throws.
nlohmann::json parse_foreign_json(std::string_view text);

}  // namespace dsf
