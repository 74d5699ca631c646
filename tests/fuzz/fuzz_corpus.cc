// A corpus of any bytes, tokenized and cut into batches, or a file of its cache; the input's first
// byte says which, how to tokenize and how to cut.

#include <array>

#include "dsf/base/error.h"
#include "dsf/base/hash.h"
#include "dsf/data/batcher.h"
#include "dsf/data/split_file.h"
#include "dsf/data/text_file.h"
#include "tests/fuzz/target.h"

namespace dsf {
namespace {

constexpr std::array<TokenizerKind, 3> kKinds = {TokenizerKind::word, TokenizerKind::character,
                                                 TokenizerKind::byte};
constexpr std::array<Batching, 3> kBatchings = {Batching::sentences, Batching::blocks,
                                                Batching::stream};

void check_batches(const Split& split, Batching batching, dim_t vocab, token_t bos) {
  constexpr dim_t kContext = 5;
  constexpr dim_t kBatch = 3;
  Batcher batcher(split, batching, kContext, kBatch, bos, 1, true);
  TokenBatch batch;
  for (dim_t i = 0; i < std::min<dim_t>(batcher.batches_per_epoch(), 4); ++i) {
    batcher.next(batch);
    for (const token_t token : batch.inputs) {
      require(token >= 0 && token < vocab, "batches hold tokens of the vocabulary");
    }
  }
}

void check_text(TokenizerKind kind, Batching batching, std::string_view text) {
  const auto tokenizer = build_tokenizer({kind, 0, 1}, text);
  const Split split = make_split(*tokenizer, text);
  require(split.line_starts.back() == static_cast<dim_t>(split.tokens.size()),
          "lines end where the tokens end");
  check_batches(split, batching, tokenizer->vocab_size(), tokenizer->bos());
}

// The checksum is put right, so that what lies behind it is reached.
void check_cache(Batching batching, std::string_view contents) {
  constexpr dim_t kVocab = 300;
  const auto sealed = std::make_shared<std::string>(contents);
  const std::uint64_t hash = hash_bytes(*sealed);
  sealed->append(reinterpret_cast<const char*>(&hash), sizeof hash);
  if (const auto split = parse_split(*sealed, kVocab, sealed))
    check_batches(*split, batching, kVocab, 0);
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const SecondLimit limit;
  if (size == 0) return 0;
  const std::string_view input = as_text(data + 1, size - 1);
  const std::size_t what = data[0] % (kKinds.size() + 1);
  const Batching batching = kBatchings[data[0] / (kKinds.size() + 1) % kBatchings.size()];
  try {
    if (what == 0) {
      check_cache(batching, input);
    } else {
      check_text(kKinds[what - 1], batching, input);
    }
  } catch (const DataError&) {  // no text, or too short for a batch
    return 0;
  }
  return 0;
}
