#pragma once
/// \file
/// Defines source texts and locations in them. Lines are counted only on demand.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#pragma GCC visibility push(default)
namespace hlo {

/// The bytes [begin, end) of a source text of at most 4 GiB - 1. begin == end == 0 means that the location is
/// unknown.
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool known() const { return end != 0; }
};

/// The 1-based line and column (in bytes) of an offset.
struct SourcePlace {
  int64_t line = 1;
  int64_t column = 1;
};

/// The name and the content of a source file.
class SourceText {
 public:
  SourceText(std::string name, std::string content) : name_(std::move(name)), content_(std::move(content)) {}

  /// Reads a file; "-" is standard input. Errors name the file: NotFound, PermissionDenied,
  /// FailedPrecondition for a directory, ResourceExhausted from 4 GiB on.
  static absl::StatusOr<std::shared_ptr<const SourceText>> Read(const std::string& path);

  const std::string& name() const { return name_; }
  std::string_view content() const { return content_; }
  SourcePlace Locate(uint32_t offset) const;
  /// Returns the line that contains the offset, without its line break (LF, CR LF or CR).
  std::string_view LineAt(uint32_t offset) const;

 private:
  std::string name_;
  std::string content_;
};

}  // namespace hlo
#pragma GCC visibility pop
