// Reports the results of many cases: one line, JSON or JUnit XML.

#include <map>

#include "base/append.h"
#include "base/counted.h"
#include "fmt/format.h"
#include "hlo_run/conform.h"
#include "nlohmann/json.hpp"

namespace hlo {
namespace {

// Escapes markup and removes characters that XML forbids.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::string Trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void AppendTestCase(const CaseResult& result, std::string* out) {
  Append(out, "    <testcase classname=\"{}\" name=\"{}\" line=\"{}\" time=\"{:.6f}\"", Escaped(result.path),
         Escaped(result.name), result.line, result.seconds);
  const std::string report = Escaped(Trimmed(result.report));
  switch (result.verdict) {
    case Verdict::kPassed:
      out->append("/>\n");
      return;
    case Verdict::kFailed:
      Append(out, "><failure message=\"{}\"/></testcase>\n", report);
      return;
    case Verdict::kUnsupported:
      Append(out, "><skipped message=\"{}\"/></testcase>\n", report);
      return;
    case Verdict::kError:
      Append(out, "><error message=\"{}\"/></testcase>\n", report);
      return;
  }
}

}  // namespace

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kUnsupported:
      return "unsupported";
    case Verdict::kError:
      return "error";
  }
  return "";
}

ConformSummary Summarize(absl::Span<const CaseResult> results) {
  ConformSummary summary;
  for (const CaseResult& result : results) {
    summary.seconds += result.seconds;
    switch (result.verdict) {
      case Verdict::kPassed:
        ++summary.passed;
        break;
      case Verdict::kFailed:
        ++summary.failed;
        break;
      case Verdict::kUnsupported:
        ++summary.unsupported;
        break;
      case Verdict::kError:
        ++summary.errors;
        break;
    }
  }
  return summary;
}

std::string ToString(const ConformSummary& summary) {
  const int64_t total = summary.passed + summary.failed + summary.unsupported + summary.errors;
  std::string text = fmt::format("{}: {} passed", Counted(total, "case"), summary.passed);
  if (summary.failed > 0) Append(&text, ", {} failed", summary.failed);
  if (summary.errors > 0) Append(&text, ", {} with errors", summary.errors);
  if (summary.unsupported > 0) Append(&text, ", {} unsupported", summary.unsupported);
  return text + fmt::format(" in {:.1f} s", summary.seconds);
}

std::string ConformJson(absl::Span<const CaseResult> results) {
  using Json = nlohmann::ordered_json;
  const ConformSummary summary = Summarize(results);
  Json cases = Json::array();
  for (const CaseResult& result : results) {
    Json entry = {{"path", result.path}, {"name", result.name}, {"verdict", Name(result.verdict)}};
    if (result.line > 0) entry["line"] = result.line;
    entry["seconds"] = result.seconds;
    if (!result.report.empty()) entry["report"] = Trimmed(result.report);
    cases.push_back(std::move(entry));
  }
  const Json json = {{"passed", summary.passed},           {"failed", summary.failed},
                     {"unsupported", summary.unsupported}, {"errors", summary.errors},
                     {"seconds", summary.seconds},         {"cases", std::move(cases)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ConformJUnit(absl::Span<const CaseResult> results) {
  std::map<std::string, std::vector<const CaseResult*>> suites;
  for (const CaseResult& result : results) suites[result.path].push_back(&result);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const auto& [path, members] : suites) {
    std::vector<CaseResult> folder_results;
    for (const CaseResult* member : members) folder_results.push_back(*member);
    const ConformSummary summary = Summarize(folder_results);
    Append(&out,
           "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
           "time=\"{:.6f}\">\n",
           Escaped(path), folder_results.size(), summary.failed, summary.errors, summary.unsupported,
           summary.seconds);
    for (const CaseResult& result : folder_results) AppendTestCase(result, &out);
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace hlo
