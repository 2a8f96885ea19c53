// Mutation test of the bytecode verifier. The bytecode of plans is mutated randomly; accepted mutants run and
// must give the original's results. Rejected mutants may have undefined behaviour and do not run.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "exec/executor.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "hlo_run/conform.h"
#include "hlo_run/execute.h"
#include "kernels/cpu/bytecode/decode.h"
#include "kernels/cpu/bytecode/opcodes.h"
#include "plan/cpu/plan_bytecode.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "plan/validate/bytecode_verifier.h"
#include "reference/obstacles.h"

namespace hlo::bytecode_mutants_test {
namespace {

using cpu::Bytecode;
using Parts = cpu::BytecodeParts;

// Counts by kind of mutation.
struct Counts {
  int64_t mutants = 0, rejected = 0, equal = 0, changed = 0;
};

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  // Returns the name of the mutation; empty if nothing changed.
  std::string Mutate(plan::PlanBytecode& code, int64_t slots) {
    std::vector<Bytecode::Op>& ops = Parts::Ops(code.code);
    const auto k = Below(static_cast<int64_t>(ops.size()) - 1);
    Bytecode::Op& op = ops[k];
    const Bytecode::Op before = op;
    const std::string kind = Change(code, ops, k, slots);
    const bool is_same = op.code == before.code && op.count == before.count && op.out == before.out &&
                         op.a == before.a && op.b == before.b && op.c == before.c &&
                         op.number == before.number;
    const bool is_table = kind == "table" || kind == "import" || kind == "swap" || kind == "label";
    if (is_same && !is_table) return "";
    Parts::ChooseHandlers(code.code);
    return kind;
  }

 private:
  int64_t Below(int64_t limit) { return limit <= 0 ? 0 : static_cast<int64_t>(random_() % limit); }
  int64_t Shift() {
    constexpr int64_t kShifts[] = {-16, -8, -4, -1, 1, 4, 8, 16};
    return kShifts[Below(8)];
  }
  // Returns an operand location of another operation, or one close to `place`.
  cpu::FrameOffset Place(const std::vector<Bytecode::Op>& ops, cpu::FrameOffset place) {
    if (Below(3) == 0) return static_cast<cpu::FrameOffset>(place + Shift());
    const Bytecode::Op& other = ops[Below(static_cast<int64_t>(ops.size()))];
    const cpu::FrameOffset places[] = {other.out, other.a, other.b, other.c};
    return places[Below(4)];
  }

  std::string Change(plan::PlanBytecode& code, std::vector<Bytecode::Op>& ops, int64_t k, int64_t slots) {
    Bytecode::Op& op = ops[k];
    switch (Below(13)) {
      case 0:
        op.out = Place(ops, op.out);
        return "result's place";
      case 1:
      case 2: {
        cpu::FrameOffset* const places[] = {&op.a, &op.b, &op.c};
        cpu::FrameOffset& place = *places[Below(3)];
        place = Place(ops, place);
        return "operand's place";
      }
      case 3:  // Copies a value to itself.
        op = {.code = cpu::kCopy1, .out = op.out, .a = op.out};
        return "drop";
      case 4:
        if (k + 2 >= static_cast<int64_t>(ops.size()) || op.code >= cpu::kEscape ||
            ops[k + 1].code >= cpu::kEscape)
          return "";
        std::swap(op, ops[k + 1]);
        return "swap";
      case 5:
        if (op.code <= cpu::kSelect8)
          op.code = static_cast<uint16_t>(Below(cpu::kSelect8 + 1));
        else if (op.code <= cpu::kCopyBytes)
          op.code = static_cast<uint16_t>(cpu::kCopy1 + Below(5));
        else if (op.code >= cpu::kDotF32 && op.code <= cpu::kStoreAt8)
          op.code = static_cast<uint16_t>(cpu::kDotF32 + Below(cpu::kStoreAt8 - cpu::kDotF32 + 1));
        else
          op.code = static_cast<uint16_t>(Below(cpu::kEnd + 1));
        return "opcode";
      case 6:
        op.count = static_cast<uint16_t>(op.count + (Below(2) == 0 ? 1 : -1));
        return "count";
      case 7:
        op.number += Below(2) == 0 ? Shift() : op.number + 1;
        return "number";
      case 8:
        (Below(2) == 0 ? op.b : op.c) += static_cast<int32_t>(Shift());
        return "field";
      case 9:
        op.b = static_cast<int32_t>(Below(slots));
        return "argument";
      case 10:
        op = ops[Below(static_cast<int64_t>(ops.size()))];
        return "duplicate";
      case 11:
        return ChangeImport(code, slots);
      default:
        return ChangeTable(code.code, slots);
    }
  }
  std::string ChangeImport(plan::PlanBytecode& code, int64_t slots) {
    if (code.imports.empty()) return "";
    plan::PlanBytecode::Import& import = code.imports[Below(static_cast<int64_t>(code.imports.size()))];
    switch (Below(4)) {
      case 0:
        import.to = code.imports[Below(static_cast<int64_t>(code.imports.size()))].to;
        break;
      case 1:
        import.offset += Shift();
        break;
      case 2:
        import.byte_count += Shift();
        break;
      default:
        import.slot = static_cast<plan::Slot>(Below(slots));
    }
    return "import";
  }
  std::string ChangeTable(Bytecode& code, int64_t slots) {
    auto& tiles = Parts::Tiles(code);
    auto& ranges = Parts::Ranges(code);
    auto& far = Parts::MemoryCalls(code);
    auto& tables = Parts::Tables(code);
    auto& targets = Parts::Targets(code);
    const auto any = [&](auto& table) -> auto& { return table[Below(static_cast<int64_t>(table.size()))]; };
    switch (Below(5)) {
      case 0:
        if (tiles.empty()) return "";
        if (Below(2) == 0)
          any(tiles).call = any(tiles).call;
        else
          any(tiles).count += Below(2) == 0 ? 1 : -1;
        return "table";
      case 1: {
        if (ranges.empty()) return "";
        Bytecode::Range& range = any(ranges);
        (Below(2) == 0 ? range.max : range.byte_stride) += Shift();
        return "table";
      }
      case 2: {
        if (far.empty()) return "";
        Bytecode::MemoryCall& call = any(far);
        Bytecode::MemoryOperand& place = Below(2) == 0 ? call.out : call.in[Below(3)];
        if (Below(3) == 0)
          place.argument = static_cast<int32_t>(Below(slots));
        else if (Below(2) == 0)
          place.offset += Shift();
        else
          call.count += Below(2) == 0 ? 1 : -1;
        return "table";
      }
      case 3:
        if (tables.empty()) return "";
        std::swap(any(any(tables)), any(any(tables)));
        return "table";
      default:
        if (targets.empty()) return "";
        any(targets) += Below(2) == 0 ? 1 : -1;
        return "label";
    }
  }

  std::mt19937 random_;
};

// Returns the bits of a value.
std::string BitsOf(const Literal& value) {
  std::string bits;
  for (const LiteralLeaf& leaf : ArrayLeaves(value))
    bits.append(reinterpret_cast<const char*>(leaf.value->data()), leaf.value->byte_count());
  return bits;
}

std::vector<Literal> Copies(const std::vector<Literal>& values) {
  std::vector<Literal> copies = values;
  for (Literal& copy : copies) EXPECT_TRUE(copy.MakeUnique().ok());
  return copies;
}

// Returns true if the module transfers values from or to the host: its runs cannot be repeated.
bool NeedsHost(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (reference::NeedsHost(*instruction)) return true;
    }
  }
  return false;
}

class BytecodeMutants : public testing::Test {
 protected:
  static constexpr EvaluateOptions kOptions{.max_seconds = 20};

  absl::StatusOr<Literal> Evaluate(const CheckedModule& module, std::vector<Literal> arguments) {
    const PlanOptions unchecked = {.validate = false};
    absl::StatusOr<plan::Plan> plan = plan::MakePlan(module, nullptr, plan::Target::kCpu, unchecked);
    if (!plan.ok() || plan->bytecode == nullptr)
      return Execute(module, std::move(arguments), Engine::kFast, kOptions);
    ++plans_;
    const absl::Status verified = plan::VerifyBytecode(*plan);
    EXPECT_TRUE(verified.ok()) << place_ << ": " << verified;
    const std::shared_ptr<const plan::PlanBytecode> code = plan->bytecode;
    absl::StatusOr<Literal> truth = absl::InternalError("");
    std::string bits;
    for (int64_t k = 0; k < per_plan_; ++k) {
      auto mutant = std::make_shared<plan::PlanBytecode>(*code);
      const std::string kind = mutator_.Mutate(*mutant, static_cast<int64_t>(plan->buffers.size()));
      if (kind.empty()) continue;
      Counts& counts = counts_[kind];
      ++counts.mutants;
      plan->bytecode = mutant;
      if (!plan::VerifyBytecode(*plan).ok()) {
        ++counts.rejected;
        continue;
      }
      if (bits.empty()) {
        plan->bytecode = code;
        truth = exec::Executor(module, *plan).Run(Copies(arguments), kOptions);
        if (!truth.ok()) return truth;
        bits = BitsOf(*truth);
        plan->bytecode = mutant;
      }
      const absl::StatusOr<Literal> result = exec::Executor(module, *plan).Run(Copies(arguments), kOptions);
      const bool is_equal = result.ok() && BitsOf(*result) == bits;
      ++(is_equal ? counts.equal : counts.changed);
      EXPECT_TRUE(is_equal) << place_ << ": an accepted mutant (" << kind << ") changes the result; "
                            << result.status();
    }
    return Execute(module, std::move(arguments), Engine::kFast, kOptions);
  }

  void RunOn(const std::vector<std::string>& paths) {
    const absl::StatusOr<std::vector<Case>> cases = FindCases(paths);
    ASSERT_TRUE(cases.ok()) << cases.status();
    for (const Case& each : *cases) {
      place_ = fmt::format("{}:{} {}", each.path, each.line, each.name);
      RunCase(each, [&](const CheckedModule& module, std::vector<Literal> arguments, Host*) {
        if (NeedsHost(module.module())) return absl::StatusOr<Literal>(absl::UnimplementedError("a host"));
        return Evaluate(module, std::move(arguments));
      });
    }
    Counts all;
    for (const auto& [kind, counts] : counts_) {
      fmt::print(
          "{:<16} {:>7} mutants, {:>7} rejected, {:>6} accepted and equal, {:>3} accepted and changed\n",
          kind, counts.mutants, counts.rejected, counts.equal, counts.changed);
      all.mutants += counts.mutants;
      all.rejected += counts.rejected;
      all.equal += counts.equal;
      all.changed += counts.changed;
    }
    fmt::print(
        "{} plans with code, {} mutants, {} rejected, {} accepted and equal, {} accepted and changed\n",
        plans_, all.mutants, all.rejected, all.equal, all.changed);
    EXPECT_GT(all.rejected, 1000);
    EXPECT_EQ(all.changed, 0);
  }

  Mutator mutator_{
      std::getenv("HLO_SEED") == nullptr ? 1U : static_cast<uint32_t>(std::atoi(std::getenv("HLO_SEED")))};
  int64_t per_plan_ = std::getenv("HLO_MUTANTS") == nullptr ? 5 : std::atoi(std::getenv("HLO_MUTANTS"));
  int64_t plans_ = 0;
  std::string place_;
  std::map<std::string, Counts> counts_;
};

TEST_F(BytecodeMutants, AcceptedMutantsHaveTheSameResults) {
  RunOn({"tests/cases/ops", "tests/cases/semantics", "tests/cases/types", "golden"});
}

}  // namespace
}  // namespace hlo::bytecode_mutants_test
