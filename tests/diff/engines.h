#pragma once
// Runs both engines on the same module and arguments and compares the results.

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "arrays.h"
#include "gtest/gtest.h"
#include "hlo_run/compare.h"
#include "hlo_run/execute.h"
#include "hlo_run/parse.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "plan/print_plan.h"

namespace hlo::test {

inline absl::StatusOr<CheckedModule> ReadModule(const std::string& text) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(std::make_shared<SourceText>("t.hlo", text), diagnostics);
  if (module == nullptr) return absl::InvalidArgumentError("the module does not parse: " + text);
  return Check(std::move(module), diagnostics);
}

// Inserts NaN, infinities and zeros of both signs into a floating array.
inline void AddSpecials(Literal& array) {
  DispatchType(array.type(), [&]<ElementType kType>() {
    using N = Native<kType>;
    if constexpr (std::is_floating_point_v<N> || requires(N n) { n.ToFloat(); }) {
      const double specials[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(), 0.0, -0.0};
      for (int64_t i = 3, k = 0; i < array.element_count(); i += 7, ++k) {
        if constexpr (std::is_floating_point_v<N>)
          array.mutable_span<N>()[i] = static_cast<N>(specials[k % 5]);
        else
          array.mutable_span<N>()[i] = N::FromDouble(specials[k % 5]);
      }
    }
  });
}

struct Agreement {
  CompareRule rule = CompareRule::Exact();
  bool specials = false;
  bool has_kernel = true;   // No step of the plan may run on the reference.
  int64_t index_range = 0;  // Elements of s32 parameters are in [-2, index_range).
  Device device = {};       // Device of the fast engine.
  PlanOptions plan = {};
};

// Returns random values for the parameters of the entry.
inline std::vector<Literal> ArgumentsOf(const CheckedModule& module, const Agreement& agreement) {
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module.module().entry()->parameters()) {
    const Shape& shape = parameter->shape();
    const auto seed = static_cast<uint32_t>(arguments.size() + 1);
    arguments.push_back(RandomArray(shape.type(), {shape.dims().begin(), shape.dims().end()}, seed));
    if (agreement.specials) AddSpecials(arguments.back());
    if (agreement.index_range > 0 && shape.type() == ElementType::kS32) {
      std::mt19937 random(seed);
      for (int32_t& i : arguments.back().mutable_span<int32_t>())
        i = static_cast<int32_t>(random() % static_cast<uint32_t>(agreement.index_range + 2)) - 2;
    }
  }
  return arguments;
}

// Returns copies that share no memory.
inline std::vector<Literal> Copies(std::vector<Literal> values) {
  for (Literal& value : values) EXPECT_TRUE(value.MakeUnique().ok());
  return values;
}

inline void ExpectClose(const Literal& got, const Literal& want, const CompareRule& rule) {
  const std::vector<LiteralLeaf> have = ArrayLeaves(got), expected = ArrayLeaves(want);
  ASSERT_EQ(have.size(), expected.size());
  for (size_t i = 0; i < have.size(); ++i) {
    const CompareReport report = CompareArrays(*have[i].value, *expected[i].value, rule);
    EXPECT_TRUE(report.ok()) << "leaf " << expected[i].key << "\n" << ToString(report, 2);
  }
}

// `text` contains the entry computation.
inline void ExpectEnginesAgreeOn(const std::string& text, const std::vector<Literal>& arguments,
                                 const Agreement& agreement = {}) {
  SCOPED_TRACE(text);
  absl::StatusOr<CheckedModule> module = ReadModule("HloModule t\n" + text);
  ASSERT_TRUE(module.ok()) << module.status();
  if (agreement.has_kernel) {
    const absl::StatusOr<plan::Plan> plan =
        plan::MakePlan(*module, nullptr, plan::Target::kCpu, agreement.plan);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan::ToString(*plan).find("\n  reference "), std::string::npos) << plan::ToString(*plan);
  }
  const absl::StatusOr<Literal> want = Execute(*module, arguments, Engine::kReference);
  const absl::StatusOr<Literal> got =
      Execute(*module, arguments, Engine::kFast, {}, agreement.device, agreement.plan);
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  ExpectClose(*got, *want, agreement.rule);
  // If the arguments may be overwritten, the bits must not change.
  const absl::StatusOr<Literal> in_place =
      Execute(*module, Copies(arguments), Engine::kFast, {}, agreement.device, agreement.plan);
  ASSERT_TRUE(in_place.ok()) << in_place.status();
  ExpectClose(*in_place, *got, {});
}

// Uses random values for the parameters.
inline void ExpectEnginesAgree(const std::string& text, const Agreement& agreement = {}) {
  absl::StatusOr<CheckedModule> module = ReadModule("HloModule t\n" + text);
  ASSERT_TRUE(module.ok()) << text << module.status();
  ExpectEnginesAgreeOn(text, ArgumentsOf(*module, agreement), agreement);
}

}  // namespace hlo::test
