#pragma once

// Scalars as TensorBoard reads them: a file of records, each with checksums, each an Event message
// in protobuf's wire format. Both are written by hand; the format needs no more than is here.
//
//   record    length: 8 bytes · masked CRC-32C of them: 4 · Event: length · masked CRC-32C of it: 4
//   Event     1 wall_time: double · 2 step: varint · 3 file_version: string · 5 summary: Summary
//             · 7 session_log: SessionLog
//   Summary   1 value: repeated { 1 tag: string · 2 simple_value: float }
//   SessionLog  1 status: START = 1
//
// All numbers are little-endian.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "dsf/base/dim.h"
#include "dsf/base/file.h"

namespace dsf {

/// CRC-32C (Castagnoli), reflected, as in iSCSI.
std::uint32_t crc32c(std::string_view bytes);

struct Scalar {
  std::string_view tag;
  double value = 0.0;
};

/// One event file, new for each process: TensorBoard reads all of a directory, in the order of
/// their names, as one run.
class EventFile {
 public:
  /// Makes the directory if it is missing and a file in it whose name comes after those that are
  /// there. What an earlier process wrote about steps after `step` is declared void: a resumed run
  /// goes through them again.
  EventFile(const std::filesystem::path& directory, dim_t step);

  void write(dim_t step, std::span<const Scalar> scalars);

 private:
  AppendFile file_;
};

}  // namespace dsf
