#pragma once

// Whole files into memory, and the check that they are text.

#include <filesystem>
#include <string>
#include <string_view>

namespace dsf {

/// The bytes of `file`; one whose name ends in .gz is decompressed. Throws DataError if it is
/// missing, a directory, unreadable, empty, or damaged gzip.
std::string read_corpus_file(const std::filesystem::path& file);

/// Throws DataError if `text` has NUL bytes or malformed UTF-8: byte, line, and `origin`'s name.
void require_utf8(std::string_view text, const std::string& origin);

/// read_corpus_file, require_utf8, and without the byte order mark that some editors write.
std::string read_text_file(const std::filesystem::path& file);

}  // namespace dsf
