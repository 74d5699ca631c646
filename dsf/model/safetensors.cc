#include "dsf/model/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/model/tensor_types.h"

namespace dsf {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "the file's byte order is the CPU's");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr std::uint64_t kAlignment = 8;
constexpr const char* kMetadataKey = "__metadata__";

std::uint64_t bytes_of(const TensorToWrite& tensor) { return tensor.values.size() * sizeof(float); }

std::string header_of(std::span<const TensorToWrite> tensors, const Metadata& metadata) {
  ordered_json header = ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t begin = 0;
  for (const TensorToWrite& tensor : tensors) {
    const std::uint64_t end = begin + bytes_of(tensor);
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

std::uint64_t dtype_bytes(std::string_view dtype) {
  struct Size {
    std::string_view name;
    std::uint64_t bytes;
  };
  static constexpr std::array<Size, 13> kSizes = {{{"BOOL", 1},
                                                   {"U8", 1},
                                                   {"I8", 1},
                                                   {"U16", 2},
                                                   {"I16", 2},
                                                   {"F16", 2},
                                                   {"BF16", 2},
                                                   {"U32", 4},
                                                   {"I32", 4},
                                                   {"F32", 4},
                                                   {"U64", 8},
                                                   {"I64", 8},
                                                   {"F64", 8}}};
  const auto* found = std::find_if(kSizes.begin(), kSizes.end(),
                                   [dtype](const Size& size) { return size.name == dtype; });
  return found == kSizes.end() ? 0 : found->bytes;
}

// JSON in which a key that comes twice is an error, not silently the later one.
json parse_unique(std::string_view text) {
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&open_objects](int /*depth*/, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) open_objects.pop_back();
    if (event == json::parse_event_t::key &&
        !open_objects.back().insert(parsed.get<std::string>()).second) {
      throw CheckpointError("the key \"" + parsed.get<std::string>() + "\" comes twice");
    }
    return true;
  };
  return json::parse(text, watch);
}

// Bytes of a tensor of this shape. Throws if they do not fit into 64 bits.
std::uint64_t bytes_of_shape(const std::vector<dim_t>& shape, std::uint64_t element) {
  std::uint64_t bytes = element;
  for (const dim_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
      throw CheckpointError("its size overflows");
    }
  }
  return bytes;
}

SafetensorsFile::Tensor parse_tensor(const json& entry) {
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") ||
      !entry.contains("shape") || !entry.contains("data_offsets")) {
    throw CheckpointError("it must have exactly dtype, shape and data_offsets");
  }
  SafetensorsFile::Tensor tensor;
  tensor.dtype = entry["dtype"].get<std::string>();
  const std::uint64_t element = dtype_bytes(tensor.dtype);
  if (element == 0) throw CheckpointError("unknown dtype \"" + tensor.dtype + "\"");
  const auto natural = [](const json& number) { return number.is_number_unsigned(); };
  const json& shape = entry["shape"];
  const json& offsets = entry["data_offsets"];
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), natural)) {
    throw CheckpointError("shape must be a list of sizes");
  }
  if (!offsets.is_array() || offsets.size() != 2 ||
      !std::all_of(offsets.begin(), offsets.end(), natural)) {
    throw CheckpointError("data_offsets must be [begin, end]");
  }
  tensor.shape = shape.get<std::vector<dim_t>>();
  tensor.begin = offsets[0].get<std::uint64_t>();
  tensor.end = offsets[1].get<std::uint64_t>();
  const std::uint64_t expected = bytes_of_shape(tensor.shape, element);
  if (tensor.end < tensor.begin || tensor.end - tensor.begin != expected) {
    throw CheckpointError(fmt::format("data_offsets [{}, {}] do not span the {} bytes of its shape",
                                      tensor.begin, tensor.end, expected));
  }
  return tensor;
}

// The tensors, in the order they lie in the file, must follow each other from 0 to `data_bytes`.
void check_tiling(const std::map<std::string, SafetensorsFile::Tensor>& tensors,
                  std::uint64_t data_bytes) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  ranges.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) ranges.emplace_back(tensor.begin, tensor.end);
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t next = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != next) {
      throw CheckpointError(fmt::format("tensors {} at byte {} of the data",
                                        begin < next ? "overlap" : "leave a hole", next));
    }
    next = end;
  }
  if (next != data_bytes) {
    throw CheckpointError(
        fmt::format("the tensors need {} bytes of data, the file has {}", next, data_bytes));
  }
}

}  // namespace

PartSeals write_safetensors(std::span<const TensorToWrite> tensors, const Metadata& metadata,
                            FileWriter& writer) {
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  writer.write(&length, kLengthBytes);
  writer.write(header);
  PartSeals seals{writer.bytes(), writer.hash(), {}};
  for (const TensorToWrite& tensor : tensors) {
    writer.write(tensor.values.data(), bytes_of(tensor));
    seals.tensors[tensor.name] =
        hash_bytes({reinterpret_cast<const char*>(tensor.values.data()), bytes_of(tensor)});
  }
  return seals;
}

SafetensorsFile SafetensorsFile::read(const std::filesystem::path& path) {
  return {read_file(path), path.string()};
}

SafetensorsFile::SafetensorsFile(std::string contents, std::string origin)
    : contents_(std::move(contents)), origin_(std::move(origin)) {
  try {
    parse();
  } catch (const json::exception& error) {
    throw CheckpointError(fmt::format("{}: damaged header: {}", origin_, error.what()));
  } catch (const CheckpointError& error) {
    throw CheckpointError(
        fmt::format("{}: not a sound safetensors file: {}", origin_, error.what()));
  }
}

void SafetensorsFile::parse() {
  if (contents_.size() < kLengthBytes) throw CheckpointError("it is shorter than 8 bytes");
  std::uint64_t length = 0;
  std::memcpy(&length, contents_.data(), kLengthBytes);
  if (length > kLongestHeader || length > contents_.size() - kLengthBytes) {
    throw CheckpointError(fmt::format("a header of {} bytes does not fit", length));
  }
  data_start_ = kLengthBytes + length;
  const std::string_view text(contents_.data() + kLengthBytes, length);
  if (!text.starts_with('{')) throw CheckpointError("the header is not a JSON object");

  const json header = parse_unique(text);
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadataKey) {
      metadata_ = entry.get<Metadata>();
      continue;
    }
    try {
      tensors_[name] = parse_tensor(entry);
    } catch (const CheckpointError& error) {
      throw CheckpointError(fmt::format("tensor \"{}\": {}", name, error.what()));
    }
  }
  check_tiling(tensors_, contents_.size() - data_start_);
}

const SafetensorsFile::Tensor& SafetensorsFile::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw CheckpointError(fmt::format("{}: there is no tensor \"{}\"", origin_, name));
  }
  return found->second;
}

void SafetensorsFile::require(const std::string& name, const std::vector<dim_t>& shape) const {
  const Tensor& tensor = find(name);
  if (!is_weight_type(tensor.dtype) || tensor.shape != shape) {
    throw CheckpointError(fmt::format("{}: tensor \"{}\" is {} {}, the model needs F32 {}", origin_,
                                      name, tensor.dtype, tensor.shape, shape));
  }
}

std::string_view SafetensorsFile::bytes_of(const Tensor& tensor) const {
  return std::string_view(contents_).substr(data_start_ + tensor.begin, tensor.end - tensor.begin);
}

void SafetensorsFile::copy_to(const std::string& name, std::span<float> out) const {
  const Tensor& tensor = find(name);
  if (!is_weight_type(tensor.dtype) ||
      tensor.end - tensor.begin != out.size() * dtype_bytes(tensor.dtype)) {
    throw CheckpointError(fmt::format("{}: tensor \"{}\" is {} {}, {} F32 numbers are needed",
                                      origin_, name, tensor.dtype, tensor.shape, out.size()));
  }
  to_float(tensor.dtype, bytes_of(tensor), out);
}

}  // namespace dsf
