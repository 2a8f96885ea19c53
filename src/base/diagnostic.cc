#include "hlo_run/diagnostic.h"

#include <algorithm>
#include <utility>

#include "base/append.h"
#include "base/limit_rule.h"

namespace hlo {
namespace {

constexpr std::string_view kReset = "\033[0m", kBold = "\033[1m", kRed = "\033[1;31m",
                           kMagenta = "\033[1;35m", kCyan = "\033[1;36m", kGreen = "\033[1;32m";

// Replaces control characters and bytes that are not valid text by '?'.
std::string Printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c == '\t')
      c = ' ';
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  }
  return result;
}

// Renders the parts of a diagnostic: its own lines and those of its notes.
class Renderer {
 public:
  Renderer(const SourceText& source, const RenderOptions& options) : source_(source), options_(options) {}

  // Appends place, kind, message and rule.
  void AddHeadline(SourceRange range, std::string_view kind, std::string_view color, std::string_view message,
                   std::string_view rule) {
    Append(&out_, "{}{}:", Paint(kBold), source_.name());
    if (range.known()) {
      const SourcePlace place = source_.Locate(range.begin);
      Append(&out_, "{}:{}:", place.line, place.column);
    }
    Append(&out_, "{} {}{}:{} {}", Paint(kReset), Paint(color), kind, Paint(kReset), message);
    if (!rule.empty()) Append(&out_, "  [{}]", rule);
    out_ += '\n';
  }

  // Appends the source line, clipped around the range if it is long, and the caret line.
  void AddSnippet(SourceRange range) {
    const std::string_view line = source_.LineAt(range.begin);
    if (line.empty()) return;
    const size_t column = std::min<size_t>(source_.Locate(range.begin).column - 1, line.size());
    const size_t caret_count =
        std::clamp<size_t>(range.end - range.begin, 1, std::max<size_t>(line.size() - column, 1));
    const size_t width = std::max<int64_t>(options_.width, 20);
    size_t begin = 0;
    if (line.size() > width) {
      const size_t wanted_left = std::min(column, width / 3);
      begin = std::min(column - wanted_left, line.size() - width);
    }
    const size_t length = std::min(width, line.size() - begin);
    const std::string_view left = begin > 0 ? "..." : "";
    const std::string_view right = begin + length < line.size() ? "..." : "";
    const size_t shown_carets = std::min(caret_count, begin + length - std::min(column, begin + length));
    Append(&out_, "  {}{}{}\n", left, Printable(line.substr(begin, length)), right);
    Append(&out_, "  {:{}}{}^{:~<{}}{}\n", "", column - begin + left.size(), Paint(kGreen), "",
           shown_carets > 1 ? shown_carets - 1 : 0, Paint(kReset));
  }

  std::string Take() { return std::move(out_); }

 private:
  std::string_view Paint(std::string_view code) const { return options_.color ? code : std::string_view(); }

  const SourceText& source_;
  const RenderOptions& options_;
  std::string out_;
};

int64_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

Diagnostic& Diagnostics::Add(Severity severity, SourceRange at, std::string message) {
  if (severity == Severity::kError) ++error_count_;
  return all_.emplace_back(Diagnostic{severity, at, std::move(message), {}, {}});
}

absl::Status Diagnostics::ToStatus(const SourceText& source) const {
  if (ok()) return absl::OkStatus();
  std::string text = Render(*this, source, {}, /*warnings=*/false);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const bool is_limit =
      std::any_of(all_.begin(), all_.end(), [](const Diagnostic& d) { return d.rule == kMemoryLimitRule; });
  return is_limit ? absl::ResourceExhaustedError(text) : absl::InvalidArgumentError(text);
}

std::string Render(const Diagnostic& diagnostic, const SourceText& source, const RenderOptions& options) {
  Renderer renderer(source, options);
  const bool error = diagnostic.severity == Severity::kError;
  renderer.AddHeadline(diagnostic.range, error ? "error" : "warning", error ? kRed : kMagenta,
                       diagnostic.message, diagnostic.rule);
  if (diagnostic.range.known()) renderer.AddSnippet(diagnostic.range);
  for (const Note& note : diagnostic.notes) renderer.AddHeadline(note.range, "note", kCyan, note.message, "");
  return renderer.Take();
}

std::string Render(const Diagnostics& diagnostics, const SourceText& source, const RenderOptions& options,
                   bool warnings) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (warnings || diagnostic.severity == Severity::kError) out += Render(diagnostic, source, options);
  }
  return out;
}

std::string_view ClosestName(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr size_t kLongest = 64;
  if (word.size() > kLongest) return {};
  std::string_view best;
  int64_t best_distance = static_cast<int64_t>(word.size()) / 3 + 2;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const int64_t distance = EditDistance(word, candidate);
    // Most of the longer name must remain, so that `dir` is not taken for `dot`.
    const auto longer = static_cast<int64_t>(std::max(word.size(), candidate.size()));
    if (distance > std::max<int64_t>((longer - 1) / 2, 1)) continue;
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace hlo
