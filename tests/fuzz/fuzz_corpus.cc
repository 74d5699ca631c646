// A corpus of any bytes, tokenized and cut into batches; behind a zero byte, a file of its cache.

#include <array>

#include "dsf/base/error.h"
#include "dsf/base/hash.h"
#include "dsf/data/batcher.h"
#include "dsf/data/split_file.h"
#include "dsf/data/text_file.h"
#include "tests/fuzz/target.h"

namespace dsf {
namespace {

void check_batches(const Split& split, dim_t vocab, token_t bos) {
  for (const Batching batching : {Batching::sentences, Batching::blocks, Batching::stream}) {
    try {
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
    } catch (const DataError&) {  // too short for a batch
    }
  }
}

void check_text(std::string_view text) {
  for (const char* kind : {"word", "char", "byte"}) {
    try {
      const auto tokenizer = build_tokenizer({kind, 0, 1}, text);
      const Split split = make_split(*tokenizer, text);
      require(split.line_starts.back() == static_cast<dim_t>(split.tokens.size()),
              "lines end where the tokens end");
      check_batches(split, tokenizer->vocab_size(), tokenizer->bos());
    } catch (const DataError&) {
    } catch (const ConfigError&) {
    }
  }
}

// The checksum is put right, so that what lies behind it is reached.
void check_cache(std::string_view contents) {
  constexpr dim_t kVocab = 300;
  std::string sealed(contents);
  const std::uint64_t hash = hash_bytes(sealed);
  sealed.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  if (const auto split = parse_split(sealed, kVocab)) check_batches(*split, kVocab, 0);
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = dsf::as_text(data, size);
  if (text.starts_with('\0')) {
    dsf::check_cache(text.substr(1));
  } else {
    dsf::check_text(text);
  }
  return 0;
}
