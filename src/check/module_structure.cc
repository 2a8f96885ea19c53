// Checks computations, names, parameters and order (shape-rules 4.2, 4.3, 4.9), which the reader guarantees
// but builders may violate.

#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/counted.h"
#include "check/module_rules.h"
#include "check/rules.h"
#include "check/support.h"

namespace hlo::check {
namespace {

class Structure {
 public:
  Structure(const Module& module, Diagnostics& diagnostics, const CheckOptions& options)
      : module_(module), diagnostics_(diagnostics), options_(options) {}

  void Check() {
    CheckComputations();
    for (const Computation* computation : module_.computations()) {
      if (diagnostics_.full()) return;
      CheckParameters(*computation);
      CheckInstructions(*computation);
    }
  }

 private:
  template <class... Args>
  Diagnostic& Error(const Computation& at, std::string_view rule, fmt::format_string<Args...> format,
                    Args&&... args) {
    return diagnostics_.Error(at.name_range(), format, std::forward<Args>(args)...)
        .Rule(fmt::format("shape-rules {}", rule));
  }

  void CheckComputations() {
    absl::flat_hash_map<std::string_view, const Computation*> names;
    bool has_entry = false;
    for (const Computation* computation : module_.computations()) {
      order_[computation] = static_cast<int64_t>(order_.size());
      has_entry |= computation == module_.entry();
      // Nested bodies and async wrappers are unnamed.
      if (computation->is_nested() || computation->is_async_wrapper()) continue;
      const auto [it, fresh] = names.emplace(computation->name(), computation);
      if (fresh) continue;
      Error(*computation, "4.2", "there are two computations '{}'", computation->name())
          .Note(it->second->name_range(), "the other one");
    }
    if (!has_entry) diagnostics_.Error({}, "the module has no entry computation").Rule("shape-rules 4.2");
  }

  void CheckParameters(const Computation& computation) {
    if (computation.instructions().empty()) {
      Error(computation, "4.2", "'{}' has no instructions", computation.name());
    } else if (computation.root() == nullptr || computation.root()->parent() != &computation) {
      Error(computation, "4.2", "'{}' has no root", computation.name());
    }
    for (size_t i = 0; i < computation.parameters().size(); ++i) {
      const Instruction* parameter = computation.parameters()[i];
      if (parameter == nullptr) {
        Error(computation, "4.3", "'{}' has {}, but parameter({}) is missing", computation.name(),
              Counted(computation.parameters().size(), "parameter"), i);
      } else if (parameter->opcode() != Opcode::kParameter || parameter->parent() != &computation) {
        Error(computation, "4.3", "parameter {} of '{}' is not one of its parameters", i, computation.name());
      }
    }
  }

  void CheckInstructions(const Computation& computation) {
    absl::flat_hash_set<std::string_view> names;
    int64_t position = 0, parameter_count = 0;
    for (const Instruction* instruction : computation.instructions()) {
      RuleContext c(*instruction, diagnostics_, options_);
      if (instruction->parent() != &computation || instruction->index() != position) {
        c.Error(instruction->name_range(), "4.2", "'{}' is listed in '{}' but belongs elsewhere",
                instruction->name(), computation.name());
        return;
      }
      ++position;
      parameter_count += instruction->opcode() == Opcode::kParameter;
      CheckOperands(c);
      CheckCalled(c);
      // The reader has already rejected duplicate names.
      if (module_.source() == nullptr && !names.insert(instruction->name()).second) {
        c.Error({}, "4.2", "there are two instructions '{}' in '{}'", instruction->name(),
                computation.name());
      }
      if (diagnostics_.full()) return;
    }
    if (parameter_count != static_cast<int64_t>(computation.parameters().size())) {
      Error(computation, "4.3", "'{}' has {} parameter instructions for {} numbers", computation.name(),
            parameter_count, computation.parameters().size());
    }
  }

  // True if `earlier` precedes the instruction in the same computation, which excludes cycles.
  static bool IsBefore(const Instruction* earlier, const Instruction& instruction) {
    return earlier != nullptr && earlier->parent() == instruction.parent() &&
           earlier->index() < instruction.index();
  }

  void CheckOperands(RuleContext& c) {
    const Instruction& instruction = c.instruction();
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      if (IsBefore(instruction.operand(i), instruction)) [[likely]]
        continue;
      c.Error(c.operand_range(i), "4.2", "operand {} of '{}' is not defined before it in '{}'", i,
              instruction.name(), instruction.parent()->name());
    }
    if (instruction.attributes().empty()) return;
    for (const Instruction* predecessor : c.Get<attr::control_predecessors>()) {
      if (IsBefore(predecessor, instruction)) continue;
      c.Error(c.range_of<attr::control_predecessors>(), "4.2",
              "a control predecessor of '{}' is not defined before it in '{}'", instruction.name(),
              instruction.parent()->name());
    }
  }

  // Requires callees to precede callers, which excludes recursion.
  void CheckCalled(RuleContext& c) {
    for (const Computation* called : c.instruction().called_computations()) {
      const auto it = order_.find(called);
      if (it != order_.end() && it->second < order_[c.instruction().parent()]) continue;
      c.Error({}, "4.2", "'{}' calls '{}', which is not defined before '{}'", c.instruction().name(),
              called->name(), c.instruction().parent()->name());
    }
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  const CheckOptions& options_;
  absl::flat_hash_map<const Computation*, int64_t> order_;
};

}  // namespace

bool CheckStructure(const Module& module, Diagnostics& diagnostics, const CheckOptions& options) {
  const int64_t before = diagnostics.error_count();
  Structure(module, diagnostics, options).Check();
  return diagnostics.error_count() == before;
}

}  // namespace hlo::check
