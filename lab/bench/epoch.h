#pragma once

#include <filesystem>
#include <vector>

#include "lab/bench/measure.h"
#include "lab/bench/training_step.h"

namespace dsf {

/// Training steps over sentences of unequal length, each batch packed without padding. `lengths`:
/// tokens to predict of each sentence, in the order in which batches are filled; the first of the
/// options' batch sizes, or the configuration's. Uses options only (one configuration), methods,
/// precisions, batch and seconds.
BenchReport bench_epoch(const std::vector<dim_t>& lengths, const BenchOptions& options);

/// Sentence lengths drawn like those of the Penn Treebank: log-normal, 22 tokens on average.
std::vector<dim_t> draw_sentence_lengths(dim_t sentences);

/// One number a line, cut at the context of 64 tokens. Throws DataError on anything else.
std::vector<dim_t> read_sentence_lengths(const std::filesystem::path& file);

/// A batch of sequences of these lengths, packed longest first whatever their order.
PackedLayout layout_of(std::vector<dim_t> lengths);

}  // namespace dsf
