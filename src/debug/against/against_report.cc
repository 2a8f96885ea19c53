// Reports of conformance runs: text, JSON, JUnit XML and HTML.

#include <map>

#include "debug/against/against.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {
namespace {

using Json = nlohmann::ordered_json;

std::map<AgainstVerdict, int64_t> Counts(const std::vector<AgainstResult>& results) {
  std::map<AgainstVerdict, int64_t> counts;
  for (const AgainstResult& result : results) ++counts[result.verdict];
  return counts;
}

// Escapes markup and replaces characters that XML forbids.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
  }
  return out;
}

std::string Place(const AgainstResult& result) {
  return result.line > 0 ? fmt::format("{}:{}", result.path, result.line) : result.path;
}

std::string JUnitCase(const AgainstResult& result) {
  const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                                       Escaped(Place(result)), Escaped(result.name), result.seconds);
  if (result.verdict == AgainstVerdict::kPassed) return head + "/>\n";
  const std::string_view element = result.verdict == AgainstVerdict::kFailed    ? "failure"
                                   : result.verdict == AgainstVerdict::kSkipped ? "skipped"
                                                                                : "error";
  const std::string first = result.report.substr(0, result.report.find('\n'));
  return fmt::format("{}><{} type=\"{}\" message=\"{}\">{}</{}></testcase>\n", head, element,
                     Name(result.verdict), Escaped(first), Escaped(result.report), element);
}

std::string HtmlRow(const AgainstResult& result) {
  const std::string report = result.report.empty() ? "" : "<pre>" + Escaped(result.report) + "</pre>";
  return fmt::format("<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}{}</td><td>{:.2f}</td></tr>\n",
                     result.verdict == AgainstVerdict::kTimedOut ? "late" : Name(result.verdict),
                     Name(result.verdict), Escaped(Place(result)),
                     Escaped(result.name == result.path ? "" : result.name), report, result.seconds);
}

constexpr std::string_view kStyle = R"(
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1f2328}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #d1d9e0}
td:last-child{text-align:right;font-variant-numeric:tabular-nums}pre{margin:.3rem 0;white-space:pre-wrap;font-size:13px;color:#59636e}
td:first-child{font-weight:600;white-space:nowrap}.passed td:first-child{color:#1a7f37}.failed td:first-child,.crashed td:first-child{color:#cf222e}
.late td:first-child,.refused td:first-child{color:#9a6700}.skipped td:first-child{color:#59636e}
label{margin-right:1rem}
)";
constexpr std::string_view kScript = R"(
for (const box of document.querySelectorAll('input'))
  box.addEventListener('change', () => {
    for (const row of document.querySelectorAll('tr.' + box.value)) row.hidden = !box.checked;
  });
)";

std::string Filters(const std::vector<AgainstResult>& results) {
  std::string text;
  for (const auto& [verdict, count] : Counts(results)) {
    const std::string_view css = verdict == AgainstVerdict::kTimedOut ? "late" : Name(verdict);
    text += fmt::format("<label><input type=\"checkbox\" value=\"{}\" checked> {} {}</label>\n", css, count,
                        Name(verdict));
  }
  return text;
}

}  // namespace

std::string AgainstText(const std::vector<AgainstResult>& results) {
  std::string text;
  for (const auto& [verdict, count] : Counts(results))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, Name(verdict));
  text += "\n";
  std::map<AgainstVerdict, int64_t> counts = Counts(results);
  const int64_t refused = counts[AgainstVerdict::kRefused];
  if (refused > 0 && refused + counts[AgainstVerdict::kSkipped] == static_cast<int64_t>(results.size()))
    text += "the command has given no results at all: check that it runs\n";
  return text;
}

std::string AgainstJson(const std::vector<AgainstResult>& results, const AgainstOptions& options) {
  Json json = {{"command", options.command}, {"counts", Json::object()}, {"cases", Json::array()}};
  for (const auto& [verdict, count] : Counts(results)) json["counts"][std::string(Name(verdict))] = count;
  for (const AgainstResult& result : results) {
    json["cases"].push_back({{"path", result.path},
                             {"line", result.line},
                             {"name", result.name},
                             {"verdict", Name(result.verdict)},
                             {"seconds", result.seconds},
                             {"report", result.report}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string AgainstJUnit(const std::vector<AgainstResult>& results) {
  std::map<AgainstVerdict, int64_t> counts = Counts(results);
  const int64_t errors =
      counts[AgainstVerdict::kCrashed] + counts[AgainstVerdict::kTimedOut] + counts[AgainstVerdict::kRefused];
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"hlo-run check "
      "--against\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
      results.size(), counts[AgainstVerdict::kFailed], errors, counts[AgainstVerdict::kSkipped]);
  for (const AgainstResult& result : results) text += JUnitCase(result);
  return text + "  </testsuite>\n</testsuites>\n";
}

std::string AgainstHtml(const std::vector<AgainstResult>& results, const AgainstOptions& options) {
  std::string rows;
  for (const AgainstResult& result : results) rows += HtmlRow(result);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta "
      "charset=\"utf-8\"><title>Conformance</title>\n<style>{}</style>\n"
      "<h1>Conformance</h1>\n<p><code>{}</code></p>\n<p>{}</p>\n"
      "<table>\n<tr><th>Verdict</th><th>Case</th><th></th><th>Seconds</th></tr>\n{}</table>\n<script>{}</"
      "script>\n",
      kStyle, Escaped(options.command), Filters(results), rows, kScript);
}

}  // namespace hlo::debug
