#pragma once
// Input files with random access, and output files that are renamed atomically when complete.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo::io {

// A file that is open for reading.
class InputFile {
 public:
  // Opens a file. Errors name the path: NotFound, PermissionDenied, or FailedPrecondition unless it is a
  // regular file.
  static absl::StatusOr<std::unique_ptr<InputFile>> Open(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t byte_count() const { return byte_count_; }
  // Reads exactly `count` bytes, which must be within the file.
  absl::Status ReadAt(int64_t offset, void* to, int64_t count) const;

 private:
  InputFile(std::string path, int descriptor, int64_t byte_count)
      : path_(std::move(path)), descriptor_(descriptor), byte_count_(byte_count) {}
  std::string path_;
  int descriptor_;
  int64_t byte_count_;
};

// A sequential stream of bytes: a part of a file, or an entry of an archive.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  int64_t remaining() const { return remaining_; }
  // Reads exactly `count` bytes; returns FailedPrecondition if there are fewer.
  absl::Status Read(void* to, int64_t count);

 protected:
  explicit ByteStream(int64_t byte_count) : remaining_(byte_count) {}
  virtual absl::Status DoRead(void* to, int64_t count) = 0;

 private:
  int64_t remaining_;
};
// Streams a file, or its bytes from `begin` to `end`.
std::unique_ptr<ByteStream> StreamOf(const InputFile& file);
std::unique_ptr<ByteStream> StreamOf(const InputFile& file, int64_t begin, int64_t end);

// Returns the status for a failed write, from errno.
absl::Status WriteError(const std::string& path, int error);

// A temporary file in the folder of `path`. Commit renames it to `path`; otherwise the destructor removes it.
// If `path` is a device or a pipe, Write writes to it directly.
class OutputFile {
 public:
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  absl::Status Write(const void* data, int64_t count);
  absl::Status Write(std::string_view text) { return Write(text.data(), static_cast<int64_t>(text.size())); }
  absl::Status Commit();
  bool IsDeviceOrPipe() const { return temporary_.empty(); }

 private:
  OutputFile(std::string path, std::string temporary, int descriptor)
      : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}
  std::string path_;
  std::string temporary_;
  int descriptor_;
};

// Writes an OutputFile and commits it.
absl::Status WriteText(const std::string& path, std::string_view text);

}  // namespace hlo::io
