#include "hlo_run/source_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "base/activity.h"
#include "fmt/format.h"

namespace hlo {
namespace {

constexpr uint64_t kMaxBytes = (uint64_t{1} << 32) - 1;

bool IsLineBreak(char c) { return c == '\n' || c == '\r'; }

}  // namespace

absl::StatusOr<std::shared_ptr<const SourceText>> SourceText::Read(const std::string& path) {
  const bool is_stdin = path == "-";
  Report({.what = fmt::format("reading {}", is_stdin ? "standard input" : path)});
  const int fd = is_stdin ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, fmt::format("cannot read '{}'", path));
  absl::Cleanup close_file = [&] {
    if (!is_stdin) close(fd);
  };
  struct stat info {};
  if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, fmt::format("cannot read '{}'", path));
  if (S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(fmt::format("'{}' is a directory, not a file", path));
  }
  std::string content;
  if (S_ISREG(info.st_mode)) content.reserve(std::min<uint64_t>(info.st_size, kMaxBytes) + 1);
  constexpr size_t kChunk = 1 << 20;
  for (;;) {
    const size_t old_size = content.size();
    content.resize(std::max(old_size + std::min(kChunk, old_size + 4096), content.capacity()));
    const ssize_t got = read(fd, content.data() + old_size, content.size() - old_size);
    if (got < 0 && errno == EINTR) {
      content.resize(old_size);
      continue;
    }
    if (got < 0) return absl::ErrnoToStatus(errno, fmt::format("cannot read '{}'", path));
    content.resize(old_size + got);
    if (got == 0) break;
    if (content.size() > kMaxBytes) {
      return absl::ResourceExhaustedError(
          fmt::format("'{}' is larger than 4 GiB, the most a text may have", path));
    }
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (content.starts_with(kByteOrderMark)) content.erase(0, kByteOrderMark.size());
  return std::make_shared<const SourceText>(is_stdin ? "<stdin>" : path, std::move(content));
}

SourcePlace SourceText::Locate(uint32_t offset) const {
  const std::string_view before = content().substr(0, offset);
  SourcePlace place;
  place.line += std::count(before.begin(), before.end(), '\n');
  for (size_t i = before.find('\r'); i != std::string_view::npos; i = before.find('\r', i + 1)) {
    if (i + 1 == content_.size() || content_[i + 1] != '\n') ++place.line;
  }
  size_t line_begin = before.find_last_of("\r\n") + 1;
  // An offset between CR and LF belongs to the line before them.
  if (line_begin > 0 && line_begin == before.size() && before.back() == '\r' &&
      content_.substr(line_begin, 1) == "\n") {
    line_begin = before.substr(0, line_begin - 1).find_last_of("\r\n") + 1;
  }
  place.column = static_cast<int64_t>(before.size() - line_begin) + 1;
  return place;
}

std::string_view SourceText::LineAt(uint32_t offset) const {
  const std::string_view text = content();
  size_t begin = std::min<size_t>(offset, text.size());
  // The offset of a line break belongs to the line that it terminates.
  while (begin > 0 && !IsLineBreak(text[begin - 1])) --begin;
  size_t end = begin;
  while (end < text.size() && !IsLineBreak(text[end])) ++end;
  return text.substr(begin, end - begin);
}

}  // namespace hlo
