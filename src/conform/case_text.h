#pragma once
// Splits the text of an inline case into directives, verb, module and expectations. tests/README.md defines
// the format.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/compare.h"

namespace hlo::conform {

enum class Verb : uint8_t { kRun, kCheck, kPrint, kPlan };

struct CaseText {
  std::string name;
  bool strict = false;
  bool is_foreach = false;
  CompareRule rule;
  std::vector<std::pair<std::string, CompareRule>> rule_by_output;  // The keys are those of ArrayLeaves.
  std::string
      values;  // `values NAME`: the arrays are NAME/in/0, NAME/out/0, ... of the archive beside the file.
  Verb verb = Verb::kRun;
  std::string form;  // The form in `print short`.
  // The counts in `run  replicas 2 partitions 4`; 1 if they are not written.
  int64_t replicas = 1, partitions = 1;
  // True for `run  partitions 4  shard`: the values are whole arrays, which the shardings of the entry split
  // and join.
  bool shard = false;
  // True for `run  replicas 4  xla-cpu`: reductions give the bits of XLA:CPU (DevicesOptions).
  bool emulates_xla_cpu = false;
  std::vector<std::string> lines;  // All lines. The module is the text without comments.
  size_t verb_line = 0;            // Index into `lines`.
  std::vector<size_t> in, out;     // Lines `// in …` and `// out …`.
  // Lines `// in@3 …` and `// out@3 …`, by device.
  std::map<int64_t, std::vector<size_t>> in_of, out_of;
  std::vector<std::string>
      fails;  // Texts of `// fails …`: the run must fail with a message that contains them.
  std::vector<size_t> infeed, outfeed;  // Arrays that the host sends and receives.
  std::vector<size_t> prints;           // The lines after `// prints`.
  std::vector<size_t> drawn;            // Drawn diagnostics.

  bool HasDevices() const { return replicas != 1 || partitions != 1; }
};

// Returns the rule for the output `key`.
const CompareRule& RuleOf(const CaseText& text, std::string_view key);

// The literal after `// in` or `// out`.
std::string_view ValueOf(std::string_view line);

// Parses a case. Drawn diagnostics become empty lines, so that line numbers remain.
absl::StatusOr<CaseText> ParseCaseText(std::string_view text);

// A block of a file between lines `// -----`; `begin` is the 1-based number of its first line.
struct Block {
  int64_t begin;
  std::vector<std::string> lines;
};
std::vector<Block> SplitBlocks(std::string_view content);
// True if the block has a verb and is therefore a case.
bool HasVerb(const Block& block);

// The text of a block for one choice of its `foreach` words, and the choice (`T=f32`, or nothing).
struct Instance {
  std::string text;
  std::string choice;
};
absl::StatusOr<std::vector<Instance>> Instances(const Block& block);

}  // namespace hlo::conform
