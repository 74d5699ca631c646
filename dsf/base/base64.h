#pragma once

// Bytes as text (RFC 4648, with padding), for binary values inside JSON.

#include <optional>
#include <string>
#include <string_view>

namespace dsf {

std::string to_base64(std::string_view bytes);

/// The bytes again; nothing if `text` is not what to_base64 writes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace dsf
