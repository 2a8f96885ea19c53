#pragma once
// Bytes in and out: files that are read at will, and files that appear only when they are complete.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hlo::io {

// A file open for reading.
class InputFile {
 public:
  // NotFound, PermissionDenied, or FailedPrecondition for what is no regular file; all name the path.
  static absl::StatusOr<std::unique_ptr<InputFile>> Open(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t byte_count() const { return byte_count_; }
  // Exactly `count` bytes, which must lie within the file.
  absl::Status ReadAt(int64_t offset, void* to, int64_t count) const;

 private:
  InputFile(std::string path, int descriptor, int64_t byte_count)
      : path_(std::move(path)), descriptor_(descriptor), byte_count_(byte_count) {}
  std::string path_;
  int descriptor_;
  int64_t byte_count_;
};

// Bytes that come one after the other: a part of a file, an entry of an archive.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  int64_t remaining() const { return remaining_; }
  // Exactly `count` bytes; FailedPrecondition when there are fewer.
  absl::Status Read(void* to, int64_t count);

 protected:
  explicit ByteStream(int64_t byte_count) : remaining_(byte_count) {}
  virtual absl::Status DoRead(void* to, int64_t count) = 0;

 private:
  int64_t remaining_;
};
std::unique_ptr<ByteStream> StreamOf(const InputFile& file);

// Why a file cannot be written, from an errno.
absl::Status WriteError(const std::string& path, int error);

// A file under a temporary name in the folder of `path`; Commit gives it its name, else it vanishes.
class OutputFile {
 public:
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  absl::Status Write(const void* data, int64_t count);
  absl::Status Write(std::string_view text) { return Write(text.data(), static_cast<int64_t>(text.size())); }
  absl::Status Commit();

 private:
  OutputFile(std::string path, std::string temporary, int descriptor)
      : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}
  std::string path_;
  std::string temporary_;
  int descriptor_;
};

}  // namespace hlo::io
