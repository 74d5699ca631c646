#pragma once

#include <span>
#include <string_view>

namespace dsf {

/// A file of the watch page, put into the program at build time (cmake/embed_files.cmake).
struct Asset {
  std::string_view name;  ///< "watch.js"
  std::string_view contents;
};

std::span<const Asset> watch_assets();

}  // namespace dsf
