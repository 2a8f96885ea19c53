#pragma once
// Modules, arguments and lookups for tests of shadow runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "debug/shadow/shadow.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::debug::test {

// Reports refer to the instructions of the module, which is therefore kept.
inline const CheckedModule& Checked(const std::string& text) {
  const auto source = std::make_shared<const SourceText>("m.hlo", text);
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(source, diagnostics, {.infer_shape = InferMissingShape});
  EXPECT_NE(module, nullptr);
  static std::list<CheckedModule> kept;
  return kept.emplace_back(*Check(module, diagnostics));
}

inline Literal F32(const std::vector<float>& values) {
  Literal literal = *Literal::Create(Shape::Array(ElementType::kF32, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), literal.mutable_span<float>().begin());
  return literal;
}

inline const InstructionError& ErrorOf(const ShadowReport& report, std::string_view name) {
  for (const InstructionError& error : report.errors) {
    if (error.instruction->name() == name) return error;
  }
  ADD_FAILURE() << "no error of " << name;
  static const InstructionError none;
  return none;
}

}  // namespace hlo::debug::test
