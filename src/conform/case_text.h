#pragma once
// The text of an inline case taken apart: directives, verb, module, expectations. The format:
// tests/README.md.

#include <cstdint>
#include <string>
#include <string_view>
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
  Verb verb = Verb::kRun;
  std::string form;                     // `print short`
  std::string devices;                  // `run  replicas 2`: "replicas 2"; empty for one device.
  std::vector<std::string> lines;       // All of them; the module is what is left when comments are skipped.
  size_t verb_line = 0;                 // Positions in `lines`.
  std::vector<size_t> in, out;          // Lines `// in …`, `// out …`.
  std::vector<size_t> infeed, outfeed;  // Arrays that the host gives and is given.
  std::vector<size_t> prints;           // The lines after `// prints`.
  std::vector<size_t> drawn;            // Drawn diagnostics.
};

// The literal after `// in` or `// out`.
std::string_view ValueOf(std::string_view line);

// The case without drawn diagnostics: what the parser reads. Lines keep their numbers, drawn ones being
// empty.
absl::StatusOr<CaseText> ParseCaseText(std::string_view text);

// The blocks of a file between lines `// -----`; begin is the number of the first line, from 1.
struct Block {
  int64_t begin;
  std::vector<std::string> lines;
};
std::vector<Block> SplitBlocks(std::string_view content);
// Whether it has a verb, and so is a case.
bool HasVerb(const Block& block);

// The texts of a block for each choice of its `foreach` words, and what was chosen (`T=f32`, or nothing).
struct Instance {
  std::string text;
  std::string choice;
};
absl::StatusOr<std::vector<Instance>> Instances(const Block& block);

}  // namespace hlo::conform
