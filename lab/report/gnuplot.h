#pragma once

// What may be said to gnuplot, and how it is started. gnuplot runs commands out of text: backticks
// inside double quotes, and file names that begin with "<" or "|".

#include <filesystem>
#include <string>
#include <string_view>

namespace dsf {

/// `text` with U+FFFD for control characters and malformed bytes: a line end would end gnuplot's
/// command or its line of data.
std::string printable(std::string_view text);

/// `text` as one string of a gnuplot script that stands for it and nothing else: printable, and in
/// single quotes, in which gnuplot substitutes nothing.
std::string gnuplot_string(std::string_view text);

/// The same for a label of an axis, in which gnuplot would take "%" as the beginning of a format.
std::string gnuplot_tic(std::string_view text);

/// The same for a file beside the script: never a pipe, whatever the name begins with.
std::string gnuplot_file(std::string_view name);

/// Runs gnuplot with the script `directory`/`script`, in that directory and without a shell, so
/// that no path is ever read as a command. Returns false if gnuplot is not installed; throws Error
/// if it fails.
bool run_gnuplot(const std::filesystem::path& directory, const std::string& script);

}  // namespace dsf
