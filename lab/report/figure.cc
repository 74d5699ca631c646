#include "lab/report/figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "dsf/base/file.h"
#include "dsf/base/log.h"
#include "lab/report/gnuplot.h"
#include "lab/report/thinning.h"

namespace dsf {
namespace {

struct MethodStyle {
  std::string_view method;
  std::string_view colour;
  int dash;
  int point;
};

// Okabe and Ito's palette: distinguishable with every common form of colour vision. Relatives share
// a colour: all but the first are dashed, each with a mark of its own.
constexpr auto kStyles = std::to_array<MethodStyle>({
    {"bptt", "#000000", 1, 7},
    {"bptt:rank", "#000000", 2, 6},
    {"dsf", "#0072B2", 1, 7},
    {"ft", "#D55E00", 1, 7},
    {"adaptive", "#009E73", 1, 5},
    {"gated", "#CC79A7", 1, 9},
    {"gated:dsf", "#CC79A7", 4, 10},
    {"iterated:1", "#E69F00", 1, 13},
    {"iterated:2", "#E69F00", 2, 12},
    {"pairs", "#999999", 1, 13},
    {"lowrank:8", "#999999", 2, 12},
    {"orthogonal", "#999999", 4, 10},
    {"dense", "#999999", 5, 8},
    {"dsf:serial", "#0072B2", 2, 6},
    {"dsf:blocked", "#56B4E9", 1, 5},
    {"dsf:fft", "#56B4E9", 2, 4},
});
// For curves of no method in the list. Eight colours, seven marks and five dashes: 280 curves can be
// told apart, the first eight by their colour alone, as whole lines, which are the easiest to follow.
constexpr std::array<std::string_view, 8> kFurtherColours = {
    "#999999", "#56B4E9", "#009E73", "#CC79A7", "#E69F00", "#0072B2", "#D55E00", "#000000"};
constexpr std::array<int, 7> kFurtherMarks = {6, 4, 8, 12, 10, 2, 1};
constexpr std::array<int, 5> kFurtherDashes = {1, 2, 3, 4, 5};
constexpr std::size_t kFurtherStyles =
    kFurtherColours.size() * kFurtherMarks.size() * kFurtherDashes.size();

MethodStyle further_style(std::size_t index) {
  return {"", kFurtherColours[index % kFurtherColours.size()],
          kFurtherDashes[index / kFurtherColours.size() % kFurtherDashes.size()],
          kFurtherMarks[index % kFurtherMarks.size()]};
}

const MethodStyle* own_style(std::string_view method) {
  const auto* known = std::find_if(kStyles.begin(), kStyles.end(), [&](const MethodStyle& style) {
    return style.method == method;
  });
  return known == kStyles.end() ? nullptr : known;
}

/// One per curve. Curves of one method look the same, all others differ.
std::vector<MethodStyle> styles_of(const std::vector<Curve>& curves) {
  // A line of a method that is drawn too is not left to its marks alone to be told from others.
  const auto is_of_a_method = [&](const MethodStyle& style) {
    return std::any_of(curves.begin(), curves.end(), [&](const Curve& curve) {
      const MethodStyle* own = own_style(curve.method);
      return own != nullptr && own->colour == style.colour && own->dash == style.dash;
    });
  };
  std::vector<MethodStyle> styles;
  std::size_t next = 0;
  const auto further = [&] {
    MethodStyle style = further_style(next++);
    while (next < kFurtherStyles && is_of_a_method(style)) style = further_style(next++);
    return style;
  };
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string& method = curves[i].method;
    const auto same = [&](const Curve& curve) { return curve.method == method; };
    const MethodStyle* own = own_style(method);
    const auto before =
        std::find_if(curves.begin(), curves.begin() + static_cast<std::ptrdiff_t>(i), same);
    const auto place = static_cast<std::size_t>(before - curves.begin());
    if (own != nullptr) {
      styles.push_back(*own);
    } else if (!method.empty() && place < i) {
      styles.push_back(styles[place]);
    } else {
      styles.push_back(further());
    }
  }
  return styles;
}

std::filesystem::path with_suffix(const std::filesystem::path& stem, const char* suffix) {
  return stem.string() + suffix;
}

/// One block of "x y" lines per curve, two empty lines between them (gnuplot's `index`).
std::string data_text(const Figure& figure) {
  std::string text;
  for (const Curve& curve : figure.curves) {
    text += fmt::format("# {}\n", printable(curve.label));
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      text += fmt::format("{} {}\n", curve.x[i], curve.y[i]);
    text += "\n\n";
  }
  return text;
}

std::string form_of(const Figure& figure, const Curve& curve, const MethodStyle& style) {
  if (figure.points_only) return fmt::format("points lw 2 ps 1.4 pt {}", style.point);
  if (curve.faint) return "lines lw 1.5 dt 2";
  // Marks that touch each other would hide the dashes.
  constexpr std::size_t kMostMarks = 30;
  const std::size_t interval = (curve.x.size() + kMostMarks - 1) / kMostMarks;
  return fmt::format("linespoints lw 2 ps 0.8 pt {} pi {} dt {}", style.point,
                     std::max<std::size_t>(interval, 1), style.dash);
}

std::string plot_command(const Figure& figure, const std::string& data) {
  std::string plots;
  const std::vector<MethodStyle> styles = styles_of(figure.curves);
  for (std::size_t i = 0; i < figure.curves.size(); ++i) {
    const Curve& curve = figure.curves[i];
    const MethodStyle& style = styles[i];
    plots += fmt::format("{} {} index {} with {} lc rgb \"{}\" title {}",
                         i == 0 ? "plot" : ", \\\n     ", gnuplot_file(data), i,
                         form_of(figure, curve, style), style.colour, gnuplot_string(curve.label));
  }
  return plots + '\n';
}

/// A logarithmic x axis from the first point to the last. Where the curves share a few places (a
/// sweep over sizes) these are labelled, for gnuplot's powers of ten are seldom among them.
std::string log_x_axis(const std::vector<Curve>& curves) {
  constexpr std::size_t kMostLabels = 10;
  std::set<double> places;
  for (const Curve& curve : curves) places.insert(curve.x.begin(), curve.x.end());
  std::string text = "set logscale x\nset autoscale xfix\n";
  if (places.empty() || places.size() > kMostLabels) return text;
  return text + fmt::format("set xtics ({})\n", fmt::join(places, ", "));
}

/// A logarithmic y axis. gnuplot labels powers of ten only: within two of them that says too little.
std::string log_y_axis(const std::vector<Curve>& curves) {
  double low = HUGE_VAL;
  double high = 0.0;
  for (const Curve& curve : curves) {
    for (const double y : curve.y) {
      low = std::min(low, y);
      high = std::max(high, y);
    }
  }
  std::string text = "set logscale y\n";
  if (!(low > 0.0) || high > 100.0 * low) return text;
  std::string tics;
  for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high; power *= 10.0) {
    for (const double digit : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0}) {
      tics += fmt::format("{}{:g}", tics.empty() ? "" : ", ", digit * power);
    }
  }
  return text + fmt::format("set ytics ({})\n", tics);
}

/// Names on the x axis, with half a place of room on either side.
std::string named_axis(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string tics;
  for (std::size_t i = 0; i < names.size(); ++i) {
    tics += fmt::format("{}{} {}", i == 0 ? "" : ", ", gnuplot_tic(names[i]), i + 1);
  }
  return fmt::format("set xtics ({}) noenhanced\nset xrange [0.5:{}.5]\n", tics, names.size());
}

}  // namespace

bool has_own_style(std::string_view method) { return own_style(method) != nullptr; }

std::string figure_script(const Figure& figure, const std::string& name) {
  std::string text = "set encoding utf8\n";
  text += fmt::format("set title {} noenhanced\n", gnuplot_string(figure.title));
  text += fmt::format("set xlabel {}\nset ylabel {}\n", gnuplot_string(figure.x_label),
                      gnuplot_string(figure.y_label));
  text += "set grid lt 1 lw 0.5 lc rgb \"#dddddd\"\nset border 3\nset tics nomirror\n";
  // Above the plot no curve runs through it. Points have many methods: beside the plot.
  text += fmt::format("set key outside {} noenhanced\n",
                      figure.points_only ? "top right" : "top center horizontal");
  // Room for the right half of the last number on the x axis.
  if (!figure.points_only) text += "set rmargin 5\n";
  text += figure.log_x ? log_x_axis(figure.curves) : "";
  text += figure.log_y ? log_y_axis(figure.curves) : "";
  text += named_axis(figure.x_names);
  text += "set autoscale yfix\n";
  text += fmt::format("set offsets graph {0}, graph {0}, graph 0.05, graph 0.05\n",
                      figure.points_only || figure.log_x ? 0.05 : 0.0);
  const std::string plot = plot_command(figure, name + ".dat");
  text += "set terminal svg size 760,480 font \"sans,13\" background rgb \"white\"\n";
  text += fmt::format("set output {}\n{}", gnuplot_file(name + ".svg"), plot);
  text += "set terminal pngcairo size 1140,720 font \"sans,18\" background rgb \"white\"\n";
  text += fmt::format("set output {}\n{}", gnuplot_file(name + ".png"), plot);
  return text;
}

bool write_figure(Figure figure, const std::filesystem::path& stem) {
  std::erase_if(figure.curves, [](const Curve& curve) { return curve.x.empty(); });
  if (figure.curves.empty()) return false;
  std::transform(figure.curves.begin(), figure.curves.end(), figure.curves.begin(), thinned);
  const auto script = with_suffix(stem, ".gp");
  replace_file(with_suffix(stem, ".dat"), data_text(figure));
  replace_file(script, figure_script(figure, stem.filename().string()));
  if (run_gnuplot(stem.parent_path(), script.filename().string())) return true;
  log_warning(
      fmt::format("gnuplot is not installed (Debian: gnuplot-nox); the script of the figure is {}",
                  script.string()));
  return false;
}

}  // namespace dsf
