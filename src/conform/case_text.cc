#include "conform/case_text.h"

#include <cctype>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "conform/drawn.h"
#include "fmt/format.h"

namespace hlo::conform {
namespace {

constexpr std::string_view kSeparator = "// -----";

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  for (std::string& line : lines) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
  }
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> Words(std::string_view text) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty());
}

// Returns the text of a line `// …`; "" for any other line.
std::string_view Comment(std::string_view line) {
  if (line.substr(0, 2) != "//") return {};
  line.remove_prefix(2);
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  const size_t end = line.find_last_not_of(" \t");
  return line.substr(begin, end - begin + 1);
}

bool StartsWithWord(std::string_view text, std::string_view word) {
  return text.substr(0, word.size()) == word && (text.size() == word.size() || text[word.size()] == ' ');
}

// True for `run`, optionally with the devices of the run: `run  replicas 2 partitions 4`.
bool IsRun(std::string_view comment) {
  if (comment == "run") return true;
  if (!StartsWithWord(comment, "run")) return false;
  comment.remove_prefix(comment.find_first_not_of(' ', 3));
  return StartsWithWord(comment, "replicas") || StartsWithWord(comment, "partitions");
}

bool IsVerb(std::string_view comment) {
  return IsRun(comment) || comment == "check" || comment == "plan" || StartsWithWord(comment, "print");
}

bool IsNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Replaces whole-word occurrences of `word`.
std::string Substitute(std::string_view text, std::string_view word, std::string_view by) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t end = i + word.size();
    const bool here = text.substr(i, word.size()) == word && (i == 0 || !IsNameCharacter(text[i - 1])) &&
                      (end >= text.size() || !IsNameCharacter(text[end]));
    result.append(here ? by : text.substr(i, 1));
    i = here ? end : i + 1;
  }
  return result;
}

// Reads a rule that may be followed by its reason: `within 2ulp: the reason`.
absl::StatusOr<CompareRule> ReadRule(std::string_view comment) {
  return ParseCompareRule(comment.substr(0, comment.find(": ")));
}

// Reads one directive between the name and the verb. Other comments are explanations and are skipped.
absl::Status ReadDirective(std::string_view comment, CaseText* out) {
  if (StartsWithWord(comment, "foreach")) out->is_foreach = true;
  if (comment == "strict") out->strict = true;
  if (comment == "exact" || comment.starts_with("exact: ") || StartsWithWord(comment, "within")) {
    HLO_ASSIGN_OR_RETURN(out->rule, ReadRule(comment));
  }
  if (StartsWithWord(comment, "output")) {
    // `output 1.0 within 2ulp`
    const std::string_view rest = comment.substr(std::min(comment.size(), comment.find_first_not_of(' ', 6)));
    const size_t space = std::min(rest.size(), rest.find(' '));
    HLO_ASSIGN_OR_RETURN(CompareRule rule, ReadRule(rest.substr(std::min(rest.size(), space + 1))));
    out->rule_by_output.emplace_back(rest.substr(0, space), rule);
  }
  if (StartsWithWord(comment, "values") && comment.size() > 7) out->values = comment.substr(7);
  return absl::OkStatus();
}

// Reads the numbers in `run  replicas 2 partitions 4`, and `shard` or `xla-cpu` after them.
absl::Status ReadDevices(std::string_view comment, CaseText* out) {
  std::vector<std::string> words = Words(comment);
  if (words.size() > 1 && (words.back() == "shard" || words.back() == "xla-cpu")) {
    (words.back() == "shard" ? out->shard : out->emulates_xla_cpu) = true;
    words.pop_back();
  }
  for (size_t w = 1; w < words.size(); w += 2) {
    int64_t* count = words[w] == "replicas"     ? &out->replicas
                     : words[w] == "partitions" ? &out->partitions
                                                : nullptr;
    if (count == nullptr || w + 1 == words.size() || !absl::SimpleAtoi(words[w + 1], count) || *count < 1)
      return absl::InvalidArgumentError(
          fmt::format("'{}' should read like `run  replicas 2 partitions 4`", comment));
  }
  return absl::OkStatus();
}

// Reads the device of a line such as `out@3 {1,2}` after its word; nullopt for other lines.
std::optional<int64_t> DeviceOf(std::string_view comment, std::string_view word) {
  if (!comment.starts_with(word) || comment.size() <= word.size() || comment[word.size()] != '@')
    return std::nullopt;
  comment = comment.substr(word.size() + 1, comment.find(' ') - word.size() - 1);
  int64_t device = 0;
  if (!absl::SimpleAtoi(absl::string_view(comment.data(), comment.size()), &device)) return std::nullopt;
  return device;
}

void ReadVerb(std::string_view comment, CaseText* out) {
  if (IsRun(comment)) {
    out->verb = Verb::kRun;
  } else if (comment == "check") {
    out->verb = Verb::kCheck;
  } else if (comment == "plan") {
    out->verb = Verb::kPlan;
  } else {
    out->verb = Verb::kPrint;
  }
  if (out->verb == Verb::kPrint && comment.size() > 6) out->form = comment.substr(6);
}

}  // namespace

const CompareRule& RuleOf(const CaseText& text, std::string_view key) {
  for (const auto& [output, rule] : text.rule_by_output) {
    if (output == key) return rule;
  }
  return text.rule;
}

std::string_view ValueOf(std::string_view line) {
  std::string_view comment = Comment(line);
  const size_t space = comment.find(' ');
  if (space == std::string_view::npos) return {};
  comment.remove_prefix(space);
  return comment.substr(comment.find_first_not_of(' '));
}

absl::StatusOr<CaseText> ParseCaseText(std::string_view text) {
  CaseText result{.lines = Lines(text)};
  bool has_verb = false, in_print = false;
  for (size_t i = 0; i < result.lines.size(); ++i) {
    const std::string_view comment = Comment(result.lines[i]);
    if (in_print) {
      if (result.lines[i].substr(0, 2) == "//") result.prints.push_back(i);
      continue;
    }
    if (!has_verb) {
      if (result.name.empty()) result.name = comment;
      if (IsVerb(comment)) {
        has_verb = true;
        result.verb_line = i;
        ReadVerb(comment, &result);
        if (result.verb == Verb::kRun) HLO_RETURN_IF_ERROR(ReadDevices(comment, &result));
      } else {
        HLO_RETURN_IF_ERROR(ReadDirective(comment, &result));
      }
    } else if (IsDrawnDiagnostic(result.lines[i])) {
      result.drawn.push_back(i);
    } else if (StartsWithWord(comment, "in")) {
      result.in.push_back(i);
    } else if (StartsWithWord(comment, "out")) {
      result.out.push_back(i);
    } else if (const auto in = DeviceOf(comment, "in")) {
      result.in_of[*in].push_back(i);
    } else if (const auto out = DeviceOf(comment, "out")) {
      result.out_of[*out].push_back(i);
    } else if (StartsWithWord(comment, "fails")) {
      result.fails.emplace_back(ValueOf(result.lines[i]));
    } else if (StartsWithWord(comment, "infeed")) {
      result.infeed.push_back(i);
    } else if (StartsWithWord(comment, "outfeed")) {
      result.outfeed.push_back(i);
    } else if (comment == "prints") {
      in_print = true;
    }
  }
  if (!has_verb)
    return absl::InvalidArgumentError(
        "has no verb: expected a line `// run`, `// check`, `// print` or `// plan`");
  return result;
}

std::vector<Block> SplitBlocks(std::string_view content) {
  std::vector<Block> blocks;
  Block block{.begin = 1};
  int64_t number = 0;
  const auto finish = [&] {
    bool blank = true;
    for (const std::string& line : block.lines) blank = blank && line.empty();
    if (!blank) blocks.push_back(std::move(block));
    block = Block{.begin = number + 1};
  };
  for (std::string& line : Lines(content)) {
    ++number;
    if (line == kSeparator)
      finish();
    else
      block.lines.push_back(std::move(line));
  }
  finish();
  return blocks;
}

bool HasVerb(const Block& block) {
  for (const std::string& line : block.lines) {
    if (IsVerb(Comment(line))) return true;
  }
  return false;
}

absl::StatusOr<std::vector<Instance>> Instances(const Block& block) {
  std::vector<Instance> instances = {{absl::StrJoin(block.lines, "\n"), ""}};
  for (const std::string& line : block.lines) {
    const std::string_view comment = Comment(line);
    if (IsVerb(comment)) break;
    if (!StartsWithWord(comment, "foreach")) continue;
    const std::vector<std::string> words = Words(comment);
    if (words.size() < 4 || words[2] != "in") {
      return absl::InvalidArgumentError(fmt::format("'{}' should read like `foreach T in f32 f64`", comment));
    }
    std::vector<Instance> expanded;
    for (const Instance& instance : instances) {
      for (size_t w = 3; w < words.size(); ++w) {
        // The foreach directive itself is not substituted, so that the text remains recognisable as an
        // instance.
        std::string text;
        for (const std::string& each : Lines(instance.text)) {
          text += StartsWithWord(Comment(each), "foreach") ? each : Substitute(each, words[1], words[w]);
          text += '\n';
        }
        const std::string choice = fmt::format("{}={}", words[1], words[w]);
        expanded.push_back({text, instance.choice.empty() ? choice : instance.choice + " " + choice});
      }
    }
    instances = std::move(expanded);
    constexpr size_t kMax = 10000;
    if (instances.size() > kMax) return absl::InvalidArgumentError("`foreach` makes too many cases");
  }
  return instances;
}

}  // namespace hlo::conform
