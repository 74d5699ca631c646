#pragma once

#include <string>
#include <vector>

namespace dsf {

/// Rows of text under headings. The first column is aligned left, the others (numbers) right.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

  /// As many cells as there are headings.
  void add_row(std::vector<std::string> cells);

  const std::vector<std::string>& headings() const { return headings_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  std::string to_text() const;      ///< for a terminal
  std::string to_markdown() const;  ///< GitHub's pipe tables

 private:
  std::vector<std::size_t> widths() const;

  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dsf
