#pragma once
// Parses what the tests need.

#include <memory>
#include <string>

#include "base/status.h"
#include "gtest/gtest.h"
#include "hlo_run/parse.h"

namespace hlo::spmd {

inline std::unique_ptr<Module> Load(const std::string& text) {
  const auto source = std::make_shared<SourceText>("m.hlo", text);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  EXPECT_NE(module, nullptr) << Message(diagnostics.ToStatus(*source));
  return module;
}

// Returns a literal with its shape, as in `s32[2] {1,2}`.
inline Literal Value(const std::string& text) {
  absl::StatusOr<Literal> literal = ParseLiteral(SourceText("value", text), Shape());
  EXPECT_TRUE(literal.ok()) << Message(literal.status());
  return *std::move(literal);
}

// Returns the elements without blanks.
inline std::string Text(const Literal& value) {
  std::string text = ToString(value, {.i_comments = false});
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

}  // namespace hlo::spmd
