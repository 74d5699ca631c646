// A text of any bytes that sub-word pieces are learnt from. The input's first byte says how often
// the rest is repeated, so that runs without a space get longer than SentencePiece can take.

#include <algorithm>

#include "dsf/base/error.h"
#include "dsf/base/utf8.h"
#include "dsf/data/bpe_tokenizer.h"
#include "tests/fuzz/target.h"

namespace dsf {
namespace {

constexpr std::size_t kMostBytes = 6'000;  // learning from more takes a second
constexpr dim_t kVocab = 300;

void check_learning(std::string_view text) {
  const BpeTokenizer tokenizer(learn_bpe({TokenizerKind::bpe, kVocab, 1}, text));
  std::vector<token_t> ids;
  tokenizer.encode(text, ids);
  require(tokenizer.decode(ids) == text, "what was learnt from comes back");
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const SecondLimit limit;
  if (size < 2) return 0;
  const std::string_view part = as_text(data + 1, size - 1);
  std::string text;
  for (unsigned i = 0; i <= data[0] && text.size() < kMostBytes; ++i) text += part;
  text.resize(std::min(text.size(), kMostBytes));
  try {
    check_learning(text);
  } catch (const DataError&) {  // nothing to learn from, or too many characters for the vocabulary
    return 0;
  }
  return 0;
}
