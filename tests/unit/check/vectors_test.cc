// Tests the vectors of the shape rules: modules with the verdict of XLA's parser and verifier.

#include <fstream>
#include <map>
#include <set>

#include "check_text.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace hlo::vectors_test {
namespace {

struct Vector {
  std::string id, section, rule, text, shape;
  bool accepted = false;
  int64_t replicas = 1, partitions = 1;
};

std::vector<Vector> ReadVectors() {
  std::vector<Vector> vectors;
  std::ifstream file("tests/vectors/shape-rules.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    vectors.push_back({.id = json["id"],
                       .section = json["section"],
                       .rule = json["rule"],
                       .text = json["text"],
                       .shape = json.value("shape", ""),
                       .accepted = json["verdict"] == "ok",
                       .replicas = json.value("replicas", int64_t{1}),
                       .partitions = json.value("partitions", int64_t{1})});
  }
  return vectors;
}

// Returns the vectors for which the specification deviates from XLA, with a quotation.
const std::map<std::string, std::string>& Deviations() {
  static const auto* const deviations = new std::map<std::string, std::string>{
      {"SR-0502", "text-format appendix B: a broadcast of an array without a result shape is an error"},
      {"SR-1288", "text-format 10: an output that is aliased twice is an error"},
      {"SR-1386", "shape-rules 7: the shape of scaled-dot is inferred from operands 0 and 1"},
      {"SR-1528", "text-format 4.3: numbers of a layout that are out of range are errors"},
  };
  return *deviations;
}

CheckTextOptions OptionsFor(const Vector& v, bool strict) {
  return {.check = {.strict = strict}, .replicas = v.replicas, .partitions = v.partitions};
}

std::string Place(const Vector& v, const CheckedText& checked) {
  return v.id + " [" + v.section + "] " + v.rule + "\n" + v.text + checked.Rendered();
}

TEST(ShapeVectors, HaveTheVerdictOfXla) {
  const std::vector<Vector> vectors = ReadVectors();
  ASSERT_GT(vectors.size(), 1500u);
  for (const Vector& v : vectors) {
    if (Deviations().contains(v.id)) continue;
    CheckedText checked;
    CheckText(v.text, OptionsFor(v, /*strict=*/true), &checked);
    EXPECT_EQ(checked.ok, v.accepted) << Place(v, checked);
    EXPECT_EQ(checked.ok, checked.diagnostics.ok()) << Place(v, checked);
  }
}

TEST(ShapeVectors, AreAtLeastWarningsUnlessStrict) {
  for (const Vector& v : ReadVectors()) {
    if (Deviations().contains(v.id)) continue;
    CheckedText checked;
    CheckText(v.text, OptionsFor(v, /*strict=*/false), &checked);
    if (v.accepted) {
      EXPECT_TRUE(checked.ok) << Place(v, checked);
    } else {
      EXPECT_FALSE(checked.diagnostics.all().empty()) << Place(v, checked);
    }
  }
}

TEST(ShapeVectors, HaveTheRootShapeOfXla) {
  for (const Vector& v : ReadVectors()) {
    if (!v.accepted || v.shape.empty()) continue;
    CheckedText checked;
    CheckText(v.text, OptionsFor(v, /*strict=*/false), &checked);
    if (!checked.ok) continue;
    EXPECT_EQ(ToString(checked.module->entry()->root()->shape(), {.layouts = true}), v.shape)
        << Place(v, checked);
  }
}

// True if a declared shape is compatible with the inferred one: dynamic dimensions, precision and
// accumulation type may differ.
bool Fits(const Shape& inferred, const Shape& declared, Opcode opcode) {
  static const auto* const any_type =
      new std::set<Opcode>{Opcode::kDot, Opcode::kRaggedDot, Opcode::kScaledDot, Opcode::kConvolution};
  return any_type->contains(opcode) ? CompatibleIgnoringElementType(inferred, declared)
                                    : CompatibleIgnoringFpPrecision(inferred, declared);
}

TEST(ShapeVectors, RootShapesNeedNotBeWritten) {
  int64_t inferred_count = 0;
  for (const Vector& v : ReadVectors()) {
    if (!v.accepted) continue;
    CheckedText whole;
    CheckText(v.text, OptionsFor(v, /*strict=*/false), &whole);
    if (!whole.ok) continue;
    const Instruction& root = *whole.module->entry()->root();
    // The result shape of a broadcast does not follow from its operand; the same holds for a scan without
    // inputs.
    if (!Info(root.opcode()).has(kInfer) || root.opcode() == Opcode::kBroadcast) continue;
    if (root.opcode() == Opcode::kScan && root.operand_count() == root.Get<attr::num_carries>()) continue;
    if (root.opcode() == Opcode::kMap &&
        (v.rule == "map: dimensions ignored" || v.rule == "map: no dimensions"))
      continue;
    if (!root.shape_range().known()) continue;
    std::string text = v.text;
    text.erase(root.shape_range().begin, root.shape_range().end - root.shape_range().begin);
    CheckedText cut;
    CheckText(text, OptionsFor(v, /*strict=*/false), &cut);
    ASSERT_TRUE(cut.ok) << Place(v, cut) << text;
    EXPECT_TRUE(Fits(cut.module->entry()->root()->shape(), root.shape(), root.opcode()))
        << Place(v, cut) << "inferred " << ToString(cut.module->entry()->root()->shape());
    ++inferred_count;
  }
  EXPECT_GT(inferred_count, 200);
}

}  // namespace
}  // namespace hlo::vectors_test
