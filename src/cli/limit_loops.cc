#include "cli/limit_loops.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/append.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"

namespace hlo::cli {
namespace {

std::string LoopShape(const Shape& shape) {
  return ToString(shape, {.layouts = true, .index_comments = false});
}

// Rewrites the text of a module: a while over a state S becomes one over (S, s64[]), whose body and condition
// call the old ones and count iterations.
class LoopLimiter {
 public:
  LoopLimiter(const Module& module, int64_t limit) : module_(module), limit_(limit) {}

  std::string Rewrite() {
    const std::string text = Print(module_, {.own_order = true});
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      if (Opens(line)) {
        Enter(line);
        before_ = out_.size();
      }
      const Instruction* loop = LoopOf(line);
      if (loop != nullptr)
        Replace(*loop, absl::StartsWith(line, "  ROOT "));
      else
        Append(&out_, "{}\n", std::string_view(line.data(), line.size()));
    }
    return std::move(out_);
  }

 private:
  // True if a computation starts on this line.
  static bool Opens(absl::string_view line) {
    return (absl::StartsWith(line, "%") || absl::StartsWith(line, "ENTRY ")) && absl::EndsWith(line, "{");
  }
  // Returns the name after a percent sign.
  static std::string NameIn(absl::string_view line) {
    const size_t begin = line.find('%') + 1;
    return std::string(line.substr(begin, line.find(' ', begin) - begin));
  }
  void Enter(absl::string_view line) {
    loops_.clear();
    const Computation* computation = module_.FindComputation(NameIn(line));
    if (computation == nullptr) return;
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kWhile) loops_[std::string(instruction->name())] = instruction;
    }
  }
  const Instruction* LoopOf(absl::string_view line) const {
    if (loops_.empty() || (!absl::StartsWith(line, "  %") && !absl::StartsWith(line, "  ROOT %")))
      return nullptr;
    const auto found = loops_.find(NameIn(line));
    return found == loops_.end() ? nullptr : found->second;
  }

  // Returns an unused computation name.
  std::string NewName(const Computation& computation) {
    std::string name;
    do {
      name = fmt::format("{}.limited.{}", computation.name(), ++names_);
    } while (module_.FindComputation(name) != nullptr);
    return name;
  }

  void Replace(const Instruction& loop, bool is_root) {
    const Computation &body = *loop.Get<attr::body>(), &condition = *loop.Get<attr::condition>();
    const std::string new_body = NewName(body), new_condition = NewName(condition);
    const std::string shape = LoopShape(loop.shape()), state = fmt::format("({}, s64[])", shape);
    std::string added;
    Append(&added, "%{} {{\n  %state = {} parameter(0)\n  %inner = {} get-tuple-element(%state), index=0\n",
           new_body, state, shape);
    Append(&added, "  %count = s64[] get-tuple-element(%state), index=1\n  %one = s64[] constant(1)\n");
    Append(&added, "  %next = s64[] add(%count, %one)\n  %result = {} call(%inner), to_apply=%{}\n", shape,
           body.name());
    Append(&added, "  ROOT %both = {} tuple(%result, %next)\n}}\n\n", state);
    Append(&added, "%{} {{\n  %state = {} parameter(0)\n  %inner = {} get-tuple-element(%state), index=0\n",
           new_condition, state, shape);
    Append(&added, "  %count = s64[] get-tuple-element(%state), index=1\n  %limit = s64[] constant({})\n",
           limit_);
    Append(&added, "  %within = pred[] compare(%count, %limit), direction=LT\n");
    Append(&added, "  %goes_on = pred[] call(%inner), to_apply=%{}\n", condition.name());
    Append(&added, "  ROOT %both = pred[] and(%goes_on, %within)\n}}\n\n");
    out_.insert(before_, added);
    before_ += added.size();

    const std::string name(loop.name());
    Append(&out_, "  %{}.limited.zero = s64[] constant(0)\n", name);
    Append(&out_, "  %{0}.limited.init = {1} tuple(%{2}, %{0}.limited.zero)\n", name, state,
           loop.operand(0)->name());
    Append(&out_, "  %{0}.limited = {1} while(%{0}.limited.init), condition=%{2}, body=%{3}", name, state,
           new_condition, new_body);
    std::string separator = ", control-predecessors={%";
    for (const Instruction* before : loop.Get<attr::control_predecessors>())
      Append(&out_, "{}{}", std::exchange(separator, ", %"), before->name());
    Append(&out_, "{}\n", loop.Get<attr::control_predecessors>().empty() ? "" : "}");
    Append(&out_, "  {}%{} = {} get-tuple-element(%{}.limited), index=0\n", is_root ? "ROOT " : "", name,
           shape, name);
  }

  const Module& module_;
  const int64_t limit_;
  // While loops of the current computation by name.
  absl::flat_hash_map<std::string, const Instruction*> loops_;
  std::string out_;
  size_t before_ = 0;  // The offset of the computation's text.
  int64_t names_ = 0;
};

}  // namespace

absl::StatusOr<CheckedModule> LimitLoops(const Module& module, int64_t limit, const ParseOptions& options) {
  const auto text = std::make_shared<const SourceText>(fmt::format("{} with --while-limit", module.name()),
                                                       LoopLimiter(module, limit).Rewrite());
  Diagnostics diagnostics(1);
  const std::shared_ptr<Module> limited = Parse(text, diagnostics, options);
  if (limited != nullptr) {
    absl::StatusOr<CheckedModule> checked = Check(limited, diagnostics, {});
    if (checked.ok()) return checked;
  }
  return absl::InvalidArgumentError(
      fmt::format("its loops cannot be limited: {}", Render(diagnostics, *text, {})));
}

}  // namespace hlo::cli
