#pragma once

// Tensors in a file, in the public safetensors format:
//
//   8 bytes    n, little endian: length of the header
//   n bytes    JSON: {"__metadata__": {"k": "v"}, "name": {"dtype": "F32", "shape": [2, 3],
//              "data_offsets": [begin, end]}, ...}, padded with spaces
//   the rest   the tensors' bytes, row-major, little endian; offsets count from here

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsf/base/dim.h"

namespace dsf {

class FileWriter;

/// What is to be written. `values` holds the product of the shape's sizes.
struct TensorToWrite {
  std::string name;
  std::vector<dim_t> shape;
  std::span<const float> values;
};

using Metadata = std::map<std::string, std::string>;

/// Checksums of a file's parts, by which damage gets a place.
struct PartSeals {
  std::uint64_t header_bytes = 0;  ///< with the 8 bytes of its length
  std::uint64_t header_hash = 0;
  std::map<std::string, std::uint64_t> tensors;  ///< of each tensor's bytes
};

/// The tensors in the order given, as F32. The same tensors give the same bytes.
PartSeals write_safetensors(std::span<const TensorToWrite> tensors, const Metadata& metadata,
                            FileWriter& writer);

/// A file's bytes with the table of what lies where. The reader believes nothing: sizes are checked
/// for overflow, tensors may not overlap, leave holes or miss the end of the file, names may not
/// repeat.
class SafetensorsFile {
 public:
  struct Tensor {
    std::string dtype;
    std::vector<dim_t> shape;
    std::uint64_t begin = 0;  ///< in the data, bytes
    std::uint64_t end = 0;
  };

  /// Takes the whole file's contents; `origin` is its name in messages. Throws CheckpointError.
  SafetensorsFile(std::string contents, std::string origin);
  static SafetensorsFile read(const std::filesystem::path& path);

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  bool has(const std::string& name) const { return tensors_.contains(name); }

  /// Throws CheckpointError if `name` is not there with this shape, as F32 or another type
  /// of numbers (tensor_types.h).
  void require(const std::string& name, const std::vector<dim_t>& shape) const;
  /// The bytes of one of tensors().
  std::string_view bytes_of(const Tensor& tensor) const;
  /// The values of a tensor of out.size() numbers; those of another type than F32 are converted.
  void copy_to(const std::string& name, std::span<float> out) const;

 private:
  void parse();
  const Tensor& find(const std::string& name) const;

  std::string contents_;
  std::string origin_;
  std::uint64_t data_start_ = 0;
  std::map<std::string, Tensor> tensors_;
  Metadata metadata_;
};

}  // namespace dsf
