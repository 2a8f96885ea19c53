#include "io/compression.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace hlo::io {
namespace {

constexpr size_t kChunk = size_t{1} << 18;

absl::Status TooLarge(int64_t max_bytes) {
  return absl::ResourceExhaustedError(
      fmt::format("takes more than {} bytes when it is decompressed, the limit", max_bytes));
}

absl::Status EndsEarly(std::string_view format, size_t size) {
  return absl::InvalidArgumentError(
      fmt::format("the {} data end too early, at byte {}: the file is incomplete", format, size));
}

// Grows the buffer by a chunk after the first `used` bytes, up to one byte beyond the limit.
void Grow(size_t used, int64_t max_bytes, std::string* out) {
  if (out->size() > used) return;
  const size_t step = std::max(kChunk, used / 2);
  out->resize(std::min(used + step, static_cast<size_t>(max_bytes) + 1));
}

absl::StatusOr<std::string> Gunzip(std::string_view bytes, int64_t max_bytes) {
  z_stream stream = {};
  constexpr int kGzipHeader = 16;
  if (inflateInit2(&stream, MAX_WBITS + kGzipHeader) != Z_OK)
    return absl::ResourceExhaustedError("there is no memory to decompress it");
  const absl::Cleanup end = [&] { inflateEnd(&stream); };
  std::string out;
  size_t taken = 0, used = 0;
  for (;;) {
    Grow(used, max_bytes, &out);
    constexpr size_t kMax = std::numeric_limits<uInt>::max();
    const size_t in = std::min(bytes.size() - taken, kMax), room = std::min(out.size() - used, kMax);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    used += room - stream.avail_out;
    if (used > static_cast<size_t>(max_bytes)) return TooLarge(max_bytes);
    if (result == Z_STREAM_END) {
      if (CompressionOf(bytes.substr(taken)) != Compression::kGzip) break;  // Padding follows.
      inflateReset(&stream);
    } else if (result == Z_BUF_ERROR || (result == Z_OK && taken == bytes.size() && stream.avail_out > 0)) {
      return EndsEarly("gzip", bytes.size());
    } else if (result == Z_MEM_ERROR) {
      return absl::ResourceExhaustedError("there is no memory to decompress it");
    } else if (result != Z_OK) {
      return absl::InvalidArgumentError(fmt::format("the gzip data are damaged at byte {}{}{}", taken,
                                                    stream.msg == nullptr ? "" : ": ",
                                                    stream.msg == nullptr ? "" : stream.msg));
    }
  }
  out.resize(used);
  return out;
}

absl::StatusOr<std::string> Unzstd(std::string_view bytes, int64_t max_bytes) {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  if (context == nullptr) return absl::ResourceExhaustedError("there is no memory to decompress it");
  const absl::Cleanup end = [&] { ZSTD_freeDCtx(context); };
  std::string out;
  size_t used = 0;
  ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
  for (;;) {
    Grow(used, max_bytes, &out);
    ZSTD_outBuffer room = {out.data() + used, out.size() - used, 0};
    const size_t result = ZSTD_decompressStream(context, &room, &in);
    used += room.pos;
    if (ZSTD_isError(result) != 0) {
      return absl::InvalidArgumentError(
          fmt::format("the zstd data are damaged at byte {}: {}", in.pos, ZSTD_getErrorName(result)));
    }
    if (used > static_cast<size_t>(max_bytes)) return TooLarge(max_bytes);
    if (in.pos < in.size || room.pos == room.size) {
      if (result != 0 || in.pos < in.size) continue;
    }
    if (result != 0) return EndsEarly("zstd", bytes.size());
    break;
  }
  out.resize(used);
  return out;
}

}  // namespace

Compression CompressionOf(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b")) return Compression::kGzip;
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return Compression::kZstd;
  return Compression::kNone;
}

std::string_view WithoutCompressionSuffix(std::string_view path) {
  for (const std::string_view suffix : {".gz", ".zst"}) {
    if (path.size() > suffix.size() && path.ends_with(suffix))
      return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

absl::StatusOr<std::string> Decompress(std::string_view bytes, int64_t max_bytes) {
  switch (CompressionOf(bytes)) {
    case Compression::kGzip:
      return Gunzip(bytes, max_bytes);
    case Compression::kZstd:
      return Unzstd(bytes, max_bytes);
    case Compression::kNone:
      break;
  }
  return std::string(bytes);
}

}  // namespace hlo::io
