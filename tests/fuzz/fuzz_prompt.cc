// A prompt of any bytes: encoded by every tokenizer, read by a model, decoded again.

#include <memory>
#include <vector>

#include "dsf/base/hash.h"
#include "dsf/base/utf8.h"
#include "dsf/data/bpe_tokenizer.h"
#include "dsf/data/text_stream.h"
#include "dsf/use/generation.h"
#include "tests/fuzz/target.h"
#include "tests/support/small_text.h"

namespace dsf {
namespace {

struct Reader {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<LanguageModel> model;
};

std::vector<Reader> make_readers() {
  const std::string text = small_text(200) + "caf\xC3\xA9 \xE2\x82\xAC \n";
  std::vector<Reader> readers;
  for (const TokenizerKind kind :
       {TokenizerKind::word, TokenizerKind::character, TokenizerKind::byte, TokenizerKind::bpe}) {
    Reader reader;
    reader.tokenizer = build_tokenizer({kind, 0, 1}, text);
    ModelConfig config;
    config.hidden = 2;
    reader.model = std::make_unique<LanguageModel>(config, FeedbackConfig{},
                                                   reader.tokenizer->vocab_size(), 1);
    readers.push_back(std::move(reader));
  }
  return readers;
}

// What `dsf generate` shows of these tokens, one after the other, is text.
void check_showing(const Tokenizer& tokenizer, const std::vector<token_t>& ids) {
  TextStream stream(tokenizer);
  std::string shown;
  for (const token_t id : ids) shown += stream.push(id);
  shown += stream.finish();
  require(find_malformed_utf8(shown) == std::string_view::npos, "what is shown is UTF-8");
}

void check_reading(const Reader& reader, std::string_view prompt) {
  GenerationSession session(*reader.model, *reader.tokenizer, DataConfig{});
  check_showing(*reader.tokenizer, session.read(prompt));
  require(static_cast<dim_t>(session.logits().size()) == reader.tokenizer->vocab_size(),
          "there is a logit for every token");
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> made = make_readers();
  return made;
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  dsf::readers();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const SecondLimit limit;
  if (size == 0) return 0;
  const Reader& reader = readers()[data[0] % readers().size()];
  const std::string_view prompt = as_text(data + 1, size - 1);
  std::vector<token_t> ids;
  reader.tokenizer->encode(prompt, ids);
  for (const token_t id : ids) {
    require(id >= 0 && id < reader.tokenizer->vocab_size(), "tokens are in the vocabulary");
  }
  const std::string back = reader.tokenizer->decode(ids);
  const TokenizerKind kind = reader.tokenizer->kind();
  require(back == prompt || (kind != TokenizerKind::byte && kind != TokenizerKind::bpe),
          "bytes and pieces lose nothing");
  check_showing(*reader.tokenizer, ids);
  // The model is the slow part, and reads tokens that were checked above.
  constexpr std::uint64_t kOneIn = 16;
  constexpr std::size_t kRead = 48;
  if (hash_bytes(prompt) % kOneIn == 0) check_reading(reader, prompt.substr(0, kRead));
  return 0;
}
