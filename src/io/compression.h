#pragma once
// Decompresses gzip and zstd. Only this file uses the two libraries.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo::io {

enum class Compression : uint8_t { kNone, kGzip, kZstd };
// Recognises the compression by the first bytes.
Compression CompressionOf(std::string_view bytes);
// Returns the path without the suffix .gz or .zst.
std::string_view WithoutCompressionSuffix(std::string_view path);

// Decompresses all members or frames of a file. Errors: InvalidArgument with the offset of damaged or
// truncated data; ResourceExhausted for more than `max_bytes`.
absl::StatusOr<std::string> Decompress(std::string_view bytes, int64_t max_bytes);

}  // namespace hlo::io
