#include "lab/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace dsf {
namespace {

std::string padded(const std::string& cell, std::size_t column, std::size_t width) {
  return column == 0 ? fmt::format("{:<{}}", cell, width) : fmt::format("{:>{}}", cell, width);
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  assert(cells.size() == headings_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < headings_.size(); ++column) {
    std::size_t width = std::max<std::size_t>(3, headings_[column].size());
    for (const auto& row : rows_) width = std::max(width, row[column].size());
    widths.push_back(width);
  }
  return widths;
}

std::string Table::to_text() const {
  const auto width = widths();
  std::string text;
  const auto append_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i)
      line += (i == 0 ? "  " : "   ") + padded(cells[i], i, width[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  append_line(headings_);
  std::vector<std::string> rules;
  rules.reserve(width.size());
  for (const std::size_t w : width) rules.emplace_back(w, '-');
  append_line(rules);
  for (const auto& row : rows_) append_line(row);
  return text;
}

std::string Table::to_markdown() const {
  const auto width = widths();
  std::string text;
  const auto append_line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += "| " + padded(cells[i], i, width[i]) + ' ';
    text += "|\n";
  };
  append_line(headings_);
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < width.size(); ++i) {
    rules.push_back(i == 0 ? std::string(width[i], '-') : std::string(width[i] - 1, '-') + ':');
  }
  append_line(rules);
  for (const auto& row : rows_) append_line(row);
  return text;
}

}  // namespace dsf
