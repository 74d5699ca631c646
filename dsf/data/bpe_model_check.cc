#include "dsf/data/bpe_model_check.h"

#include <cstdint>

#include "dsf/base/error.h"

namespace dsf {
namespace {

// Numbers of sentencepiece_model.proto.
namespace model_field {
constexpr std::uint64_t kPiece = 1;
constexpr std::uint64_t kTrainer = 2;
constexpr std::uint64_t kNormalizer = 3;
constexpr std::uint64_t kDenormalizer = 5;
}  // namespace model_field
constexpr std::uint64_t kPieceText = 1;
constexpr std::uint64_t kModelType = 3;
constexpr std::uint64_t kBpe = 2;
constexpr std::uint64_t kCharacterMap = 2;

[[noreturn]] void refuse() { throw DataError("no SentencePiece model in it"); }

/// A field of a message in protobuf's wire format.
struct WireField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  ///< of a varint
  std::string_view bytes;   ///< of a string or message
  bool has_bytes = false;
};

/// The fields of a message, one after another. Throws DataError if there is none to read.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  bool done() const { return rest_.empty(); }

  WireField next() {
    constexpr std::uint64_t kWireTypeBits = 3;
    const std::uint64_t tag = varint();
    WireField field;
    field.number = tag >> kWireTypeBits;
    switch (tag & ((1U << kWireTypeBits) - 1)) {
      case 0:
        field.value = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        field.bytes = take(varint());
        field.has_bytes = true;
        break;
      case 5:
        take(4);
        break;
      default:
        refuse();
    }
    return field;
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) refuse();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  // Seven bits a byte, the lowest first; the last byte has its highest bit clear.
  std::uint64_t varint() {
    constexpr unsigned kBits = 7;
    constexpr unsigned kMostBits = 64;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < kMostBits; shift += kBits) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) return value;
    }
    refuse();
  }

  std::string_view rest_;
};

// The bytes or value of the one field of this number; of two, protobuf would take the last.
WireField only_field(std::string_view message, std::uint64_t number) {
  WireField found;
  for (WireReader reader(message); !reader.done();) {
    const WireField field = reader.next();
    if (field.number != number) continue;
    if (found.number == number) refuse();
    found = field;
  }
  return found;
}

void check_piece(std::string_view piece) {
  const std::string_view text = only_field(piece, kPieceText).bytes;
  if (text.empty() || text.find('\0') != std::string_view::npos) {
    throw DataError("a piece of the SentencePiece model is empty or has a NUL in it");
  }
}

void check_unchanged_text(std::string_view rules) {
  if (!only_field(rules, kCharacterMap).bytes.empty()) {
    throw DataError("the SentencePiece model changes characters before it cuts them into pieces");
  }
}

}  // namespace

void check_bpe_model(std::string_view model) {
  if (model.empty()) refuse();
  if (only_field(only_field(model, model_field::kTrainer).bytes, kModelType).value != kBpe) {
    throw DataError("the SentencePiece model is not one of byte-pair encoding");
  }
  for (WireReader reader(model); !reader.done();) {
    const WireField field = reader.next();
    if (!field.has_bytes) continue;
    if (field.number == model_field::kPiece) check_piece(field.bytes);
    if (field.number == model_field::kNormalizer) check_unchanged_text(field.bytes);
    if (field.number == model_field::kDenormalizer) check_unchanged_text(field.bytes);
  }
}

}  // namespace dsf
