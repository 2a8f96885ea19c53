#pragma once
// What went wrong, where, and what would fit? Errors, warnings and notes of parser and checker, and their
// rendering:
//   m.hlo:4:12: error: transpose gives f32[3,2], but the instruction declares f32[2,3]  [transpose C2]
//     ROOT t = f32[2,3] transpose(a), dimensions={1,0}
//              ^~~~~~~~
//   m.hlo:3:3: note: operand 'a' is f32[2,3]

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "hlo_run/source_text.h"

#pragma GCC visibility push(default)
namespace hlo {

enum class Severity { kError, kWarning };

struct Note {
  SourceRange range;  // Unknown for a note without a place.
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::kError;
  SourceRange range;
  std::string message;
  std::string rule;  // For example "shape-rules 3.9"; shown in brackets, may be empty.
  std::vector<hlo::Note> notes;

  template <class... Args>
  Diagnostic& Note(SourceRange at, fmt::format_string<Args...> format, Args&&... args) {
    notes.push_back({at, fmt::format(format, std::forward<Args>(args)...)});
    return *this;
  }
  Diagnostic& Rule(std::string_view name) {
    rule = name;
    return *this;
  }
};

// Collects diagnostics in the order of their discovery. References returned stay valid.
class Diagnostics {
 public:
  explicit Diagnostics(int64_t error_limit = 20) : error_limit_(error_limit) {}

  template <class... Args>
  Diagnostic& Error(SourceRange at, fmt::format_string<Args...> format, Args&&... args) {
    return Add(Severity::kError, at, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  Diagnostic& Warning(SourceRange at, fmt::format_string<Args...> format, Args&&... args) {
    return Add(Severity::kWarning, at, fmt::format(format, std::forward<Args>(args)...));
  }

  bool ok() const { return error_count_ == 0; }
  int64_t error_count() const { return error_count_; }
  int64_t warning_count() const { return static_cast<int64_t>(all_.size()) - error_count_; }
  // Producers stop when this holds; what is added later is still kept.
  bool full() const { return error_count_ >= error_limit_; }
  const std::deque<Diagnostic>& all() const { return all_; }

  // OK, or InvalidArgument with all errors rendered.
  absl::Status ToStatus(const SourceText& source) const;

 private:
  Diagnostic& Add(Severity severity, SourceRange at, std::string message);

  int64_t error_limit_;
  int64_t error_count_ = 0;
  std::deque<Diagnostic> all_;
};

struct RenderOptions {
  bool color = false;
  int64_t width = 100;  // Columns of source shown; the line is cut around the caret.
};

// Text of one diagnostic with its notes, ending in a newline.
std::string Render(const Diagnostic& diagnostic, const SourceText& source, const RenderOptions& options = {});
// All of them; with `warnings` false, errors alone.
std::string Render(const Diagnostics& diagnostics, const SourceText& source,
                   const RenderOptions& options = {}, bool warnings = true);

// The candidate closest to `word` by edit distance, or "" where none is near enough to be meant.
std::string_view ClosestName(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace hlo
#pragma GCC visibility pop
