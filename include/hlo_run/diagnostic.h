#pragma once
/// \file
/// Defines the errors, warnings and notes of the parser and the verifier, and renders them:
///   m.hlo:4:12: error: transpose gives f32[3,2], but the instruction declares f32[2,3]  [transpose C2]
///     ROOT t = f32[2,3] transpose(a), dimensions={1,0}
///              ^~~~~~~~
///   m.hlo:3:3: note: operand 'a' is f32[2,3]

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

/// Errors make a module invalid; warnings do not.
enum class Severity { kError, kWarning };

/// Another location of a diagnostic, such as that of an operand.
struct Note {
  SourceRange range;  ///< Unknown if the note has no location.
  std::string message;
};

/// An error or a warning with its location and notes.
struct Diagnostic {
  Severity severity = Severity::kError;
  SourceRange range;
  std::string message;
  std::string rule;  ///< The violated rule, such as "shape-rules 3.9"; may be empty.
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

/// Collects diagnostics in the order in which they are reported. References to them stay valid.
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
  /// True once the error limit is reached; producers then stop. Later diagnostics are still kept.
  bool full() const { return error_count_ >= error_limit_; }
  const std::deque<Diagnostic>& all() const { return all_; }

  /// Returns OK, or InvalidArgument with all rendered errors.
  absl::Status ToStatus(const SourceText& source) const;

 private:
  Diagnostic& Add(Severity severity, SourceRange at, std::string message);

  int64_t error_limit_;
  int64_t error_count_ = 0;
  std::deque<Diagnostic> all_;
};

/// Options of Render.
struct RenderOptions {
  bool color = false;
  int64_t width = 100;  ///< The columns of source that are shown; longer lines are clipped around the caret.
};

/// Renders one diagnostic with its notes; the text ends in a newline.
std::string Render(const Diagnostic& diagnostic, const SourceText& source, const RenderOptions& options = {});
/// Renders all diagnostics, or only the errors if `warnings` is false.
std::string Render(const Diagnostics& diagnostics, const SourceText& source,
                   const RenderOptions& options = {}, bool warnings = true);

/// Returns the candidate with the smallest edit distance to `word`, or "" if none is close enough to suggest.
std::string_view ClosestName(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace hlo
#pragma GCC visibility pop
