#pragma once

// Curves drawn by gnuplot: one figure becomes NAME.svg and NAME.png, with NAME.gp and NAME.dat
// beside them, so that anybody can draw it again in another way.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dsf {

struct Curve {
  std::string label;
  std::string method;  ///< decides colour and dash: the same method looks the same in every figure
  std::vector<double> x;
  std::vector<double> y;
  bool faint = false;  ///< thin and without marks: stands behind another curve of its method
};

struct Figure {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Curve> curves = {};
  bool log_x = false;
  bool log_y = false;
  bool points_only = false;               ///< large marks, no lines between them
  std::vector<std::string> x_names = {};  ///< in place of the numbers 1, 2, 3, ... on the x axis
};

/// A figure by the name its files get.
struct NamedFigure {
  std::string name;
  Figure figure;
};

/// `stem` may lie in a directory of any name; its last part is printable text.
/// Writes `<stem>.svg` and `<stem>.png`, without curves that have no point, and curves of very many
/// points thinned (thinning.h). Returns false if no
/// curve is left, and, after a warning, if gnuplot is not installed (script and data are written
/// all the same); throws Error if gnuplot fails.
bool write_figure(Figure figure, const std::filesystem::path& stem);

/// The gnuplot script of a figure whose files are called `name`, to be run in their directory.
std::string figure_script(const Figure& figure, const std::string& name);

/// True if curves of this method look the same in every figure.
bool has_own_style(std::string_view method);

}  // namespace dsf
