#include "dsf/layers/embedding.h"

#include <gtest/gtest.h>

#include "dsf/base/rng.h"
#include "tests/support/gradient_check.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf::testing {
namespace {

constexpr dim_t kVocab = 700;  // more than one task of tokens
constexpr dim_t kWidth = 5;
constexpr dim_t kRows = 900;  // more than one task of rows

std::vector<token_t> random_tokens(dim_t count, dim_t vocab) {
  Rng rng(5);
  std::vector<token_t> tokens(static_cast<std::size_t>(count));
  for (token_t& token : tokens) token = static_cast<token_t>(rng.below(vocab));
  return tokens;
}

const std::vector<token_t> kTokens = random_tokens(kRows, kVocab);

// The lookup as an equation; x is not read.
const auto kEquation = [](const auto& parameters, const auto& x) {
  const auto& table = parameters.at("weight");
  auto y = x;
  y = {kRows, kWidth};
  for (dim_t i = 0; i < kRows; ++i) {
    for (dim_t j = 0; j < kWidth; ++j) y(i, j) = table(kTokens[static_cast<std::size_t>(i)], j);
  }
  return y;
};

TEST(Embedding, MatchesReference) {
  ParameterTable table;
  const Embedding embedding(table, "", kVocab, kWidth, 0.02F);
  const ParameterValues weights = random_weights(table, 1);
  const RandomMatrix dy(kRows, kWidth, 2);
  const Derivatives expected =
      differentiate(kEquation, to_values(table, weights), {}, to_grid(dy.view()));

  Matrix y(kRows, kWidth);
  embedding.forward(weights, kTokens, y);
  EXPECT_EQ(to_grid(y).values, expected.y.values);

  EmbeddingScratch scratch;
  Buffer<float> gradients(table.flat_size());
  embedding.backward(kTokens, dy.view(), scratch, {gradients.data()});
  expect_close(to_values(table, gradients), expected.parameters);
}

TEST(Embedding, GradientOfATokenIsTheSumOverItsRows) {
  ParameterTable table;
  const Embedding embedding(table, "", 4, 2, 0.02F);
  const std::vector<token_t> tokens = {3, 1, 3, 3};
  Matrix dy(4, 2);
  for (dim_t i = 0; i < 8; ++i) dy.view().data[i] = static_cast<float>(i + 1);
  EmbeddingScratch scratch;
  Buffer<float> gradients(table.flat_size());
  const std::vector<float> once = {0, 0, 3, 4, 0, 0, 1 + 5 + 7, 2 + 6 + 8};
  for (int pass = 1; pass <= 2; ++pass) {  // the second pass adds to the first
    embedding.backward(tokens, dy, scratch, {gradients.data()});
    for (dim_t i = 0; i < 8; ++i) {
      EXPECT_EQ(gradients[i], static_cast<float>(pass) * once[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(Embedding, ScratchFitsSmallerAndLargerBatches) {
  ParameterTable table;
  const Embedding embedding(table, "", kVocab, kWidth, 0.02F);
  const RandomMatrix dy(kRows, kWidth, 2);
  EmbeddingScratch reused;
  for (const dim_t rows : {dim_t{40}, kRows, dim_t{7}}) {
    const std::span<const token_t> tokens(kTokens.data(), static_cast<std::size_t>(rows));
    Buffer<float> with_reused(table.flat_size());
    Buffer<float> with_fresh(table.flat_size());
    EmbeddingScratch fresh;
    embedding.backward(tokens, dy.view().middle_rows(0, rows), reused, {with_reused.data()});
    embedding.backward(tokens, dy.view().middle_rows(0, rows), fresh, {with_fresh.data()});
    EXPECT_TRUE(std::ranges::equal(with_reused.span(), with_fresh.span())) << rows << " rows";
  }
}

TEST(Embedding, SameBitsWithAnyNumberOfThreads) {
  ParameterTable table;
  const Embedding embedding(table, "", kVocab, kWidth, 0.02F);
  const ParameterValues weights = random_weights(table, 1);
  const RandomMatrix dy(kRows, kWidth, 2);
  EXPECT_TRUE(same_with_any_thread_count([&] {
    EmbeddingScratch scratch;
    Buffer<float> gradients(table.flat_size());
    embedding.backward(kTokens, dy.view(), scratch, {gradients.data()});
    return to_values(table, gradients).at("weight").values;
  }));
}

}  // namespace
}  // namespace dsf::testing
