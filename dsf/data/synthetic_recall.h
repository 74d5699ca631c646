#pragma once

// A made-up language that cannot be learned without memory. A line shows a value, counts down,
// asks, and the value must come again:
//
//   v5 n4 n3 n2 n1 ask v5
//
// Each token follows from the one before it, except the two values and the length of the count.
// The first value is a free choice; to get the last one right, a model must carry it over the
// count, whose words are all different and press on the state at every step. And it must learn to:
// that takes credit that goes back over the whole count. Without it the last value stays a guess.
//
// A count of length n has probability proportional to 1/n: short ones are learned first and lead to
// the long ones. Loss per line in nats, <eos> included, H being the entropy of the length:
//
//   perfect memory     ln(values) + H
//   no memory        2 ln(values) + H
//
// What learns it: a GRU of 64 units, batch 32, Adam at 0.01, 10 epochs of the default text. BPTT
// and DSF then get nearly all last values right, FT-BPTT one in `values`. The rate matters: at
// 0.003 BPTT is still guessing by then. Harder: longer gap, min_gap nearer to gap (with min_gap =
// gap no short counts lead the way), more values.

#include <cstdint>
#include <string_view>

#include "dsf/base/dim.h"
#include "dsf/data/corpus.h"

namespace dsf {

struct RecallConfig {
  dim_t gap = 32;          ///< longest count between the value and the question
  dim_t min_gap = 1;       ///< shortest
  dim_t values = 8;        ///< different values; a guess is right once in `values` times
  dim_t lines = 4000;      ///< of the training text
  dim_t eval_lines = 500;  ///< of valid, and of test
};

/// "gap=32,values=8": the fields above by name; the rest keep their defaults, except that min_gap
/// is never above gap. Throws ConfigError for an unknown name or a value out of range.
RecallConfig parse_recall(std::string_view options);

/// Three independent texts, a pure function of its arguments.
CorpusText generate_recall(const RecallConfig& config, std::uint64_t seed);

/// Expected loss per target token (`sentences` batching, context of gap + 4 or more).
struct RecallBounds {
  double perfect_memory = 0.0;
  double no_memory = 0.0;
};
RecallBounds recall_bounds(const RecallConfig& config);

}  // namespace dsf
