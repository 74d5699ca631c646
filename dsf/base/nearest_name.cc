#include "dsf/base/nearest_name.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace dsf {

// The restricted Damerau-Levenshtein distance, by rows of its table: distance[i][j] is that of the
// first i letters of a to the first j letters of b.
dim_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<dim_t>> distance(a.size() + 1, std::vector<dim_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distance[i][0] = static_cast<dim_t>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) distance[0][j] = static_cast<dim_t>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const dim_t replaced = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      dim_t best = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, distance[i - 2][j - 2] + 1);
      }
      distance[i][j] = best;
    }
  }
  return distance[a.size()][b.size()];
}

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  const dim_t allowed = std::max<dim_t>(2, static_cast<dim_t>(name.size()) / 3);
  std::string nearest;
  dim_t least = allowed + 1;
  for (const std::string& candidate : known) {
    // Letters that one name has more than the other are edits; a name may be as long as a file.
    const auto longer = static_cast<dim_t>(name.size()) - static_cast<dim_t>(candidate.size());
    if (std::abs(longer) >= least) continue;
    const dim_t distance = edit_distance(name, candidate);
    // All letters changed is not a likeness, however short the name.
    if (distance < least && distance < static_cast<dim_t>(candidate.size())) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

}  // namespace dsf
