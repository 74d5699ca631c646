// A tokenizer file of any bytes; behind the letter B, the sub-word model in one.

#include "dsf/base/error.h"
#include "dsf/data/bpe_tokenizer.h"
#include "tests/fuzz/target.h"

namespace dsf {
namespace {

std::unique_ptr<Tokenizer> tokenizer_of(std::string_view input) {
  if (input.starts_with('B')) return std::make_unique<BpeTokenizer>(std::string(input.substr(1)));
  return parse_tokenizer(input, "input");
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const SecondLimit limit;
  try {
    const auto tokenizer = tokenizer_of(as_text(data, size));
    std::vector<token_t> ids = {tokenizer->bos(), tokenizer->eos()};
    tokenizer->encode("w1 w2 \xC3\xA9 \xE2\x96\x81 \xFF b", ids);
    for (const token_t id : ids) {
      require(id >= 0 && id < tokenizer->vocab_size(), "tokens are in the vocabulary");
    }
    tokenizer->decode(ids);
  } catch (const DataError&) {
    return 0;
  }
  return 0;
}
