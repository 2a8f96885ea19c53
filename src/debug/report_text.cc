#include "debug/report_text.h"

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlo_run/print.h"

namespace hlo::debug {

std::string PlaceText(const Shape& shape, int64_t leaf, const std::vector<int64_t>& index) {
  std::string text = shape.IsTuple() ? fmt::format("result {{{}}}", leaf) : "the result";
  return index.empty() ? text : text + fmt::format(" at {{{}}}", fmt::join(index, ","));
}

std::string ShortText(const Instruction& instruction) {
  PrintOptions print;
  print.form = PrintForm::kShort;
  print.layouts = false;
  return Print(instruction, print);
}

std::string PathText(const std::vector<const Instruction*>& path) {
  constexpr size_t kMax = 12;
  std::vector<std::string> names;
  for (const Instruction* instruction : path) names.push_back(fmt::format("%{}", instruction->name()));
  if (names.size() > kMax) {
    const std::string left_out = fmt::format("({} more)", names.size() - kMax);
    names.erase(names.begin() + kMax / 2, names.end() - kMax / 2);
    names.insert(names.begin() + kMax / 2, left_out);
  }
  return fmt::format("{}", fmt::join(names, " -> "));
}

}  // namespace hlo::debug
