#include "lab/experiment/complexity_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lab/report/power_fit.h"

namespace dsf {
namespace {

using nlohmann::ordered_json;

struct Method {
  const char* name;
  const char* title;
  const char* over_steps;   // the paper's table 1: growth with T
  const char* over_hidden;  // with D
};
constexpr std::array<Method, 5> kMethods = {{{"bptt", "BPTT", "1", "2"},
                                             {"dsf:serial", "DSF serial", "1", "1"},
                                             {"dsf:blocked", "DSF blocked scan", "1 (log)", "1"},
                                             {"dsf:fft", "DSF FFT", "1 (log)", "1"},
                                             {"ft", "FT-BPTT", "0", "0"}}};

enum class Along { steps, hidden };
enum class Quantity { backward, path };

/// One method's times along one axis of a sweep, shortest first.
struct Series {
  std::vector<double> x;
  std::vector<double> y;
};

Series series_of(const std::vector<ComplexityPoint>& points, const ComplexitySweep& sweep,
                 const std::string& method, Along along, Quantity quantity) {
  Series series;
  const auto& places = along == Along::steps ? sweep.lengths : sweep.widths;
  for (const dim_t place : places) {
    const dim_t steps = along == Along::steps ? place : sweep.steps;
    const dim_t hidden = along == Along::steps ? sweep.hidden : place;
    for (const ComplexityPoint& point : points) {
      if (point.method != method || point.batch != sweep.batch || point.steps != steps ||
          point.hidden != hidden) {
        continue;
      }
      const auto value =
          quantity == Quantity::backward ? std::optional(point.backward) : point.path;
      if (!value || (quantity == Quantity::path && *value <= point.path_spread)) continue;
      series.x.push_back(static_cast<double>(place));
      series.y.push_back(*value);
    }
  }
  return series;
}

/// An exponent, and how many of the sweep's places it is from.
struct SweepFit {
  std::optional<PowerFit> fit;
  std::size_t points = 0;
  std::size_t places = 0;
};

SweepFit fit_of(const std::vector<ComplexityPoint>& points, const ComplexitySweep& sweep,
                const std::string& method, Along along, Quantity quantity) {
  const Series series = series_of(points, sweep, method, along, quantity);
  return {fit_power(series.x, series.y), series.x.size(),
          along == Along::steps ? sweep.lengths.size() : sweep.widths.size()};
}

std::string fit_cell(const SweepFit& fitted) {
  if (!fitted.fit) return "-";
  std::string text = fmt::format("{:.2f} ± {:.2f}", fitted.fit->exponent, fitted.fit->error);
  if (fitted.points < fitted.places) {
    text += fmt::format(" ({} of {})", fitted.points, fitted.places);
  }
  return text;
}

ordered_json fit_json(const SweepFit& fitted) {
  if (!fitted.fit) return {};
  return {
      {"exponent", fitted.fit->exponent}, {"error", fitted.fit->error}, {"points", fitted.points}};
}

std::string span_text(const std::vector<double>& values) {
  return values.empty() ? "none" : fmt::format("{} .. {}", values.front(), values.back());
}

std::string ms(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.3f}", 1e3 * *seconds) : "-";
}

}  // namespace

std::optional<dim_t> fft_crossover(const std::vector<ComplexityPoint>& points,
                                   const ComplexitySweep& sweep, const std::string& other) {
  const Series fft = series_of(points, sweep, "dsf:fft", Along::steps, Quantity::path);
  const Series rival = series_of(points, sweep, other, Along::steps, Quantity::path);
  std::optional<dim_t> first;
  for (std::size_t i = 0; i < std::min(fft.x.size(), rival.x.size()); ++i) {
    if (fft.y[i] >= rival.y[i]) {
      first.reset();
    } else if (!first) {
      first = static_cast<dim_t>(fft.x[i]);
    }
  }
  return first;
}

Table exponent_table(const std::vector<ComplexitySweep>& sweeps,
                     const std::vector<ComplexityPoint>& points) {
  Table table(
      {"method", "B", "path: T^", "paper", "path: D^", "paper", "backward: T^", "backward: D^"});
  for (const ComplexitySweep& sweep : sweeps) {
    for (const Method& method : kMethods) {
      const auto fit = [&](Along along, Quantity quantity) {
        return fit_cell(fit_of(points, sweep, method.name, along, quantity));
      };
      table.add_row({method.title, fmt::to_string(sweep.batch), fit(Along::steps, Quantity::path),
                     method.over_steps, fit(Along::hidden, Quantity::path), method.over_hidden,
                     fit(Along::steps, Quantity::backward),
                     fit(Along::hidden, Quantity::backward)});
    }
  }
  return table;
}

Table crossover_table(const std::vector<ComplexitySweep>& sweeps,
                      const std::vector<ComplexityPoint>& points) {
  Table table({"FFT faster than", "B", "D", "lengths measured", "from T ="});
  for (const ComplexitySweep& sweep : sweeps) {
    for (const char* other : {"dsf:serial", "dsf:blocked"}) {
      const auto from = fft_crossover(points, sweep, other);
      const Series measured = series_of(points, sweep, other, Along::steps, Quantity::path);
      table.add_row({other, fmt::to_string(sweep.batch), fmt::to_string(sweep.hidden),
                     span_text(measured.x), from ? fmt::to_string(*from) : "none of these"});
    }
  }
  return table;
}

Table complexity_times(const std::vector<ComplexityPoint>& points) {
  Table table({"method", "B", "T", "D", "backward ms", "path ms"});
  for (const ComplexityPoint& point : points) {
    table.add_row({point.method, fmt::to_string(point.batch), fmt::to_string(point.steps),
                   fmt::to_string(point.hidden), ms(point.backward), ms(point.path)});
  }
  return table;
}

std::string complexity_json(const std::vector<ComplexitySweep>& sweeps,
                            const std::vector<ComplexityPoint>& points) {
  ordered_json report = {{"experiment", "complexity"},
                         {"exponents", ordered_json::array()},
                         {"fft_faster_from", ordered_json::array()},
                         {"times", ordered_json::array()}};
  for (const ComplexitySweep& sweep : sweeps) {
    for (const Method& method : kMethods) {
      ordered_json row = {
          {"method", method.name},
          {"batch", sweep.batch},
          {"paper", {{"steps", method.over_steps}, {"hidden", method.over_hidden}}}};
      for (const auto& [name, quantity] :
           {std::pair("path", Quantity::path), std::pair("backward", Quantity::backward)}) {
        row[name] = {
            {"steps", fit_json(fit_of(points, sweep, method.name, Along::steps, quantity))},
            {"hidden", fit_json(fit_of(points, sweep, method.name, Along::hidden, quantity))}};
      }
      report["exponents"].push_back(std::move(row));
    }
    for (const char* other : {"dsf:serial", "dsf:blocked"}) {
      const auto from = fft_crossover(points, sweep, other);
      report["fft_faster_from"].push_back({{"than", other},
                                           {"batch", sweep.batch},
                                           {"steps", from ? ordered_json(*from) : ordered_json()}});
    }
  }
  for (const ComplexityPoint& point : points) {
    report["times"].push_back(to_json(point));
  }
  return report.dump(2) + "\n";
}

std::vector<NamedFigure> complexity_figures(const std::vector<ComplexitySweep>& sweeps,
                                            const std::vector<ComplexityPoint>& points) {
  std::vector<NamedFigure> figures;
  for (const ComplexitySweep& sweep : sweeps) {
    for (const Along along : {Along::steps, Along::hidden}) {
      const bool steps = along == Along::steps;
      NamedFigure named{fmt::format("over_{}_B{}", steps ? "steps" : "hidden", sweep.batch), {}};
      Figure& figure = named.figure;
      figure.title = fmt::format(
          "Path through time of a GRU layer, B = {}, {}", sweep.batch,
          steps ? fmt::format("D = {}", sweep.hidden) : fmt::format("T = {}", sweep.steps));
      figure.x_label = steps ? "length T" : "width D";
      figure.y_label = "milliseconds";
      figure.log_x = figure.log_y = true;
      for (const Method& method : kMethods) {
        Series series = series_of(points, sweep, method.name, along, Quantity::path);
        for (double& seconds : series.y) seconds *= 1e3;
        if (series.x.empty()) continue;
        figure.curves.push_back({method.title, method.name, series.x, series.y});
      }
      if (!figure.curves.empty()) figures.push_back(std::move(named));
    }
  }
  return figures;
}

}  // namespace dsf
