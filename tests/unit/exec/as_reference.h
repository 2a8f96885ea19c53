#pragma once
// Compares modules on GPUs with the reference.

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/compare.h"
#include "hlo_run/execute.h"
#include "hlo_run/parse.h"
#include "test_devices.h"

namespace hlo {

inline CheckedModule Load(const std::string& text) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(std::make_shared<SourceText>("t.hlo", text), diagnostics);
  EXPECT_NE(module, nullptr) << text;
  absl::StatusOr<CheckedModule> checked = Check(std::move(module), diagnostics);
  EXPECT_TRUE(checked.ok()) << checked.status() << text;
  return *std::move(checked);
}

// Returns values with many duplicates; floats include NaN and zeros of both signs.
inline Literal Values(ElementType type, std::vector<int64_t> dims, uint32_t seed, bool with_nan) {
  Literal literal = *Literal::Create(Shape::Array(type, dims));
  std::mt19937 random(seed);
  if (type == ElementType::kF32) {
    for (float& x : literal.mutable_span<float>()) {
      x = static_cast<float>(static_cast<int>(random() % 41) - 20) / 4;
      if (with_nan && random() % 5 == 0) x = std::nanf("");
      if (x == 0 && random() % 2 == 0) x = -0.0f;
    }
  } else {
    for (int32_t& x : literal.mutable_span<int32_t>()) x = static_cast<int>(random() % 50) - 10;
  }
  return literal;
}

// Expects the reference's values on all devices and no CPU fallback.
inline void ExpectAsReference(const std::string& text, const std::vector<Literal>& arguments,
                              const CompareRule& rule = CompareRule::Exact()) {
  const CheckedModule module = Load(text);
  const absl::StatusOr<Literal> expected = Execute(module, arguments, Engine::kReference);
  ASSERT_TRUE(expected.ok()) << expected.status() << text;
  for (const Device& device : TestDevices()) {
    absl::StatusOr<Executable> executable = Executable::Make(module, Engine::kFast, {}, device);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const absl::StatusOr<Literal> got = executable->Run(arguments);
    ASSERT_TRUE(got.ok()) << got.status() << text;
    EXPECT_TRUE(executable->fallbacks().empty()) << executable->fallbacks()[0].reason << text;
    const std::vector<LiteralLeaf> got_leaves = ArrayLeaves(*got), wanted = ArrayLeaves(*expected);
    ASSERT_EQ(got_leaves.size(), wanted.size());
    for (size_t k = 0; k < wanted.size(); ++k) {
      const CompareReport report = CompareArrays(*got_leaves[k].value, *wanted[k].value, rule);
      ASSERT_TRUE(report.ok()) << "device " << device.number << "\n" << ToString(report) << text;
    }
  }
}

}  // namespace hlo
