// Prints strings, JSON values and numbers (text-format 1.7, 1.8, 9.6).

#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/charconv.h"
#include "base/append.h"
#include "fmt/format.h"
#include "ir/printer.h"

namespace hlo {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";

// Returns the position after the white space and comments at `at`; npos if a comment is unterminated.
size_t SkipBlanks(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (kBlanks.find(text[at]) != std::string_view::npos) {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      while (at < text.size() && text[at] != '\n' && text[at] != '\r') ++at;
    } else if (text.substr(at, 2) == "/*") {
      at = text.find("*/", at + 2);
      if (at == std::string_view::npos) return at;
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

// Returns the position after the JSON value at `at`; npos if there is none.
size_t SkipJson(std::string_view text, size_t at) {
  if (at >= text.size() || text[at] != '{') return std::string_view::npos;
  int64_t depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// True if the text parses to the value. Out-of-range text parses to the largest double and does not count.
bool Reads(std::string_view text, double value) {
  double read = 0;
  const absl::from_chars_result result = absl::from_chars(text.data(), text.data() + text.size(), read);
  return result.ec == std::errc() && read == value;
}

}  // namespace

bool ReadsAsJson(std::string_view text, bool as_xla) {
  if (!as_xla) return SkipJson(text, 0) == text.size();
  size_t at = SkipBlanks(text, 0);
  if (at != std::string_view::npos) at = SkipJson(text, at);
  if (at != std::string_view::npos) at = SkipBlanks(text, at);
  return at == text.size();
}

void AppendEscaped(std::string_view text, std::string* out) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\'' && c != '\\'; };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_plain(text[end])) ++end;
    out->append(text, at, end - at);
    at = end;
    if (at == text.size()) return;
    switch (const char c = text[at++]) {
      case '\n':
        out->append("\\n");
        break;
      case '\r':
        out->append("\\r");
        break;
      case '\t':
        out->append("\\t");
        break;
      case '"':
      case '\'':
      case '\\':
        out->push_back('\\');
        out->push_back(c);
        break;
      default:
        Append(out, "\\{:03o}", static_cast<unsigned char>(c));
    }
  }
}

bool IsReserved(std::string_view name) {
  static const auto* const kWords = new absl::flat_hash_set<std::string_view>{
      "true",          "false",       "inf",      "nan",        "token",   "opaque",
      "HloModule",     "ENTRY",       "ROOT",     "FileNames",  "manual",  "FunctionNames",
      "FileLocations", "StackFrames", "maximal",  "replicated", "unknown", "last_tile_dim_replicate",
      "shard_as",      "shard_like",  "unreduced"};
  return kWords->contains(name) || ParseElementType(name).has_value();
}

std::string RealText(double value, bool as_xla) {
  std::string text = fmt::format("{:.6g}", value);
  if (as_xla || !std::isfinite(value)) return text;
  if (value == 0 && std::signbit(value)) return "-0.0";  // The reader would parse `-0` as an integer.
  return Reads(text, value) ? text : fmt::format("{}", value);
}

}  // namespace hlo
