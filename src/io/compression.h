#pragma once
// Bytes that gzip or zstd has compressed. This file alone knows the two libraries.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo::io {

enum class Compression : uint8_t { kNone, kGzip, kZstd };
// By the first bytes.
Compression CompressionOf(std::string_view bytes);
// The path without the ending .gz or .zst, if it has one.
std::string_view WithoutCompressionSuffix(std::string_view path);

// The bytes before compression, all members or frames of the file one after the other. InvalidArgument with
// the offset where the data are damaged or end too early; ResourceExhausted for more than `most_bytes`.
absl::StatusOr<std::string> Decompress(std::string_view bytes, int64_t most_bytes);

}  // namespace hlo::io
