// Updates the expectations of inline cases.

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "conform/inline_case.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "hlo_run/conform.h"
#include "io/file.h"

namespace hlo {
namespace {

using conform::CaseText;

bool Contains(const std::vector<size_t>& sorted, size_t i) {
  return std::binary_search(sorted.begin(), sorted.end(), i);
}

// Returns the lines with the found diagnostics drawn under them.
std::vector<std::string> WithDrawnDiagnostics(const CaseText& text, const conform::LoadedCase& loaded,
                                              int64_t first_line) {
  const std::vector<conform::DrawnDiagnostic> found = conform::FoundDiagnostics(loaded);
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.lines.size(); ++i) {
    if (!Contains(text.drawn, i)) lines.push_back(text.lines[i]);
    for (const conform::DrawnDiagnostic& drawing : found) {
      if (drawing.line == first_line + static_cast<int64_t>(i)) lines.push_back(conform::Draw(drawing));
    }
  }
  for (const conform::DrawnDiagnostic& drawing : found) {
    if (drawing.line == 0) lines.push_back(conform::Draw(drawing));
  }
  return lines;
}

std::vector<std::string> Reprinted(const CaseText& text, const std::string& printed) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.lines.size() && text.lines[i] != "// prints"; ++i)
    lines.push_back(text.lines[i]);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  lines.push_back("// prints");
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(printed, "\n"), '\n')) {
    lines.push_back(line.empty() ? "//" : fmt::format("// {}", std::string_view(line.data(), line.size())));
  }
  return lines;
}

std::vector<std::string> Revalued(const CaseText& text, const Literal& result) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.lines.size(); ++i) {
    if (!Contains(text.out, i)) lines.push_back(text.lines[i]);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (const LiteralLeaf& leaf : ArrayLeaves(result)) {
    lines.push_back("// out  " + ToString(*leaf.value, {.i_comments = false}));
  }
  return lines;
}

absl::StatusOr<std::vector<std::string>> Updated(const std::string& path, const conform::Block& block,
                                                 const UpdateOptions& options) {
  HLO_ASSIGN_OR_RETURN(CaseText text, conform::ParseCaseText(absl::StrJoin(block.lines, "\n")));
  if (text.is_foreach) return block.lines;
  conform::LoadedCase loaded;
  conform::Load(text, path, block.begin, &loaded);
  switch (text.verb) {
    case conform::Verb::kCheck:
      return WithDrawnDiagnostics(text, loaded, block.begin);
    case conform::Verb::kPrint:
    case conform::Verb::kPlan: {
      HLO_ASSIGN_OR_RETURN(std::string printed, conform::PrintOf(text, loaded));
      return Reprinted(text, printed);
    }
    case conform::Verb::kRun: {
      if (!options.values || !text.values.empty() || text.HasDevices() || !text.fails.empty())
        return block.lines;
      conform::Outcome ignored;
      HLO_ASSIGN_OR_RETURN(Literal result, conform::EvaluateCase(text, loaded, options.evaluate, &ignored));
      return Revalued(text, result);
    }
  }
  return block.lines;
}

}  // namespace

absl::StatusOr<int64_t> UpdateCaseFile(const std::string& path, const UpdateOptions& options) {
  HLO_ASSIGN_OR_RETURN(std::shared_ptr<const SourceText> source, SourceText::Read(path));
  std::vector<std::string> texts;
  int64_t changed = 0;
  for (const conform::Block& block : conform::SplitBlocks(source->content())) {
    std::vector<std::string> lines = block.lines;
    if (conform::HasVerb(block)) {
      HLO_ASSIGN_OR_RETURN(lines, Updated(path, block, options));
    }
    changed += lines != block.lines;
    texts.push_back(absl::StrJoin(lines, "\n"));
  }
  if (changed == 0) return 0;
  HLO_RETURN_IF_ERROR(io::WriteText(path, absl::StrJoin(texts, "\n// -----\n") + "\n"));
  return changed;
}

}  // namespace hlo
