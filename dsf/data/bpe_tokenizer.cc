#include "dsf/data/bpe_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/utf8.h"
#include "dsf/data/bpe_model_check.h"
#include "dsf/data/tokenizer_file.h"
#include "dsf/data/vocabulary.h"

namespace dsf {
namespace {

using sentencepiece::SentencePieceProcessor;

// The text a piece stands for, were it not a byte.
std::string plain_text(const SentencePieceProcessor& processor, int id) {
  if (processor.IsControl(id)) return "";
  if (processor.IsUnknown(id)) return std::string(kReplacementCharacter);
  std::string text = processor.IdToPiece(id);
  for (std::size_t at = 0; (at = text.find(kSpaceMark, at)) != std::string::npos; ++at) {
    text.replace(at, kSpaceMark.size(), " ");
  }
  return text;
}

}  // namespace

BpeTokenizer::BpeTokenizer(std::string model)
    : model_(std::move(model)), processor_(std::make_unique<SentencePieceProcessor>()) {
  check_bpe_model(model_);
  if (!processor_->LoadFromSerializedProto(model_).ok()) {
    throw DataError("no SentencePiece model in it");
  }
  for (int id = 0; id < processor_->GetPieceSize(); ++id) {
    text_of_.push_back(plain_text(*processor_, id));
  }
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const int id = processor_->PieceToId(fmt::format("<0x{:02X}>", byte));
    if (!processor_->IsByte(id)) throw DataError(fmt::format("no piece for the byte {}", byte));
    byte_ids_[byte] = id;
    text_of_[static_cast<std::size_t>(id)] = std::string(1, static_cast<char>(byte));
  }
  bos_ = processor_->bos_id();
  if (bos_ < 0) throw DataError("no piece for <bos>");
  if (processor_->IsUnknown(processor_->PieceToId(kSpaceMark))) spaces_ = Spaces::apart;
}

BpeTokenizer::~BpeTokenizer() = default;

void BpeTokenizer::encode(std::string_view text, std::vector<token_t>& out) const {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t plain = plain_length(text, at, spaces_);
    if (plain > 0) encode_plain(text.substr(at, plain), out);
    at += plain;
    if (at == text.size()) break;
    for (const char c : text.substr(at, decode_utf8(text, at).length)) {
      out.push_back(byte_ids_[static_cast<unsigned char>(c)]);
      ++at;
    }
  }
}

void BpeTokenizer::encode_plain(std::string_view text, std::vector<token_t>& out) const {
  std::vector<int> ids;
  const auto status = processor_->Encode(text, &ids);
  if (!status.ok()) throw DataError(fmt::format("SentencePiece: {}", status.ToString()));
  out.insert(out.end(), ids.begin(), ids.end());
}

std::string BpeTokenizer::decode(const std::vector<token_t>& ids) const {
  std::string text;
  for (const token_t id : ids) {
    require_token(id, vocab_size());
    text += text_of_[static_cast<std::size_t>(id)];
  }
  return text;
}

StoredTokenizer BpeTokenizer::stored() const { return {kind(), {}, model_}; }

}  // namespace dsf
