#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/activity.h"
#include "base/status.h"
#include "fmt/format.h"

namespace hlo::io {
namespace {

constexpr int64_t kReportEvery = int64_t{16} << 20, kSmall = 1 << 16;  // In bytes.

absl::Status Failure(const std::string& path, const char* what, int error) {
  const std::string message = fmt::format("{}: {}: {}", path, what, std::strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::FailedPreconditionError(message);
  }
}

class FileStream final : public ByteStream {
 public:
  FileStream(const InputFile& file, int64_t begin, int64_t end)
      : ByteStream(end - begin), file_(file), offset_(begin) {}

 private:
  absl::Status DoRead(void* to, int64_t count) override {
    HLO_RETURN_IF_ERROR(file_.ReadAt(offset_, to, count));
    offset_ += count;
    return absl::OkStatus();
  }
  const InputFile& file_;
  int64_t offset_;
};

}  // namespace

absl::Status WriteError(const std::string& path, int error) {
  return Failure(path, "cannot be written", error);
}

absl::StatusOr<std::unique_ptr<InputFile>> InputFile::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Failure(path, "cannot be read", errno);
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    return absl::FailedPreconditionError(fmt::format("{}: is not a regular file", path));
  }
  return std::unique_ptr<InputFile>(new InputFile(path, descriptor, info.st_size));
}

InputFile::~InputFile() { close(descriptor_); }

absl::Status InputFile::ReadAt(int64_t offset, void* to, int64_t count) const {
  const std::string what = count > kSmall ? fmt::format("reading {}", path_) : "";
  auto* out = static_cast<char*>(to);
  while (count > 0) {
    if (!what.empty()) Report({what, offset, byte_count_, "bytes"});
    HLO_RETURN_IF_ERROR(CheckCancelled());
    const ssize_t got = pread(descriptor_, out, std::min<int64_t>(count, kReportEvery), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failure(path_, "cannot be read", errno);
    if (got == 0)
      return absl::FailedPreconditionError(fmt::format("{}: ends at byte {}, too early", path_, offset));
    out += got;
    offset += got;
    count -= got;
  }
  return absl::OkStatus();
}

absl::Status ByteStream::Read(void* to, int64_t count) {
  if (count > remaining_) {
    return absl::FailedPreconditionError(fmt::format("{} bytes are missing at the end", count - remaining_));
  }
  HLO_RETURN_IF_ERROR(DoRead(to, count));
  remaining_ -= count;
  return absl::OkStatus();
}

std::unique_ptr<ByteStream> StreamOf(const InputFile& file) { return StreamOf(file, 0, file.byte_count()); }
std::unique_ptr<ByteStream> StreamOf(const InputFile& file, int64_t begin, int64_t end) {
  return std::make_unique<FileStream>(file, begin, end);
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(fmt::format("{}: cannot be written: it is a folder", path));
  }
  // A rename would replace a device such as /dev/null, or a pipe, by a file.
  if (exists && !S_ISREG(info.st_mode)) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return Failure(path, "cannot be written", errno);
    return std::unique_ptr<OutputFile>(new OutputFile(path, "", descriptor));
  }
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return Failure(path, "cannot be written", errno);
  return std::unique_ptr<OutputFile>(new OutputFile(path, temporary, descriptor));
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status OutputFile::Write(const void* data, int64_t count) {
  const auto* bytes = static_cast<const char*>(data);
  while (count > 0) {
    const ssize_t written = write(descriptor_, bytes, std::min<int64_t>(count, int64_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failure(path_, "cannot be written", errno);
    bytes += written;
    count -= written;
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  // mkstemp creates files with mode 0600; results get the ordinary mode.
  const mode_t mask = umask(0);
  umask(mask);
  if (!temporary_.empty() && fchmod(descriptor_, 0666 & ~mask) != 0)
    return Failure(path_, "cannot be written", errno);
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) return Failure(path_, "cannot be written", errno);
  if (!temporary_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0)
    return Failure(path_, "cannot be written", errno);
  temporary_.clear();
  return absl::OkStatus();
}

absl::Status WriteText(const std::string& path, std::string_view text) {
  HLO_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(path));
  HLO_RETURN_IF_ERROR(file->Write(text));
  return file->Commit();
}

}  // namespace hlo::io
