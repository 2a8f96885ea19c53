// Tests epilogue fusion on the GPU: which loops are fused, and that results equal the reference's.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/compare.h"
#include "hlo_run/execute.h"
#include "hlo_run/parse.h"
#include "test_devices.h"

namespace hlo::gpu_epilogues_test {
namespace {

// Counts fused kernels.
class Names : public Observer {
 public:
  absl::Status BeforeStep(const StepView& step) override {
    joined_ += step.kernel().find("and the loop after it") != std::string_view::npos;
    return absl::OkStatus();
  }
  int joined() const { return joined_; }

 private:
  int joined_ = 0;
};

// Returns small integers, whose sums of products are exact.
Literal Numbers(const Shape& shape, int seed) {
  Literal literal = *Literal::Create(shape);
  int number = seed;
  for (float& x : literal.mutable_span<float>()) x = static_cast<float>((number = number * 37 % 101) % 9 - 4);
  return literal;
}

// `joined`: expected number of fused loops.
void Expect(const std::string& text, int joined) {
  SCOPED_TRACE(text);
  Diagnostics diagnostics;
  std::shared_ptr<Module> parsed = Parse(std::make_shared<SourceText>("t.hlo", text), diagnostics);
  ASSERT_NE(parsed, nullptr);
  const absl::StatusOr<CheckedModule> module = Check(std::move(parsed), diagnostics);
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module->module().entry()->parameters()) {
    const int seed = static_cast<int>(arguments.size()) + 1;
    arguments.push_back(Numbers(parameter->shape(), seed));
  }
  const absl::StatusOr<Literal> want = Execute(*module, arguments, Engine::kReference);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const Device& device : TestDevices()) {
    absl::StatusOr<Executable> executable = Executable::Make(*module, Engine::kFast, {}, device);
    ASSERT_TRUE(executable.ok()) << executable.status();
    Names names;
    EvaluateOptions options;
    for (int run = 0; run < 2; ++run) {
      options.observer = run == 0 ? &names : nullptr;
      const absl::StatusOr<Literal> got = executable->Run(arguments, options);
      ASSERT_TRUE(got.ok()) << got.status();
      const std::vector<LiteralLeaf> leaves = ArrayLeaves(*got), wanted = ArrayLeaves(*want);
      for (size_t k = 0; k < wanted.size(); ++k) {
        const CompareReport report = CompareArrays(*leaves[k].value, *wanted[k].value, CompareRule::Exact());
        EXPECT_TRUE(report.ok()) << ToString(report);
      }
    }
    EXPECT_EQ(names.joined(), joined);
  }
}

constexpr char kOperands[] = R"(ENTRY e {
  a = f32[24,32] parameter(0)
  b = f32[32,40] parameter(1)
  v = f32[40] parameter(2)
  r = f32[24,40] parameter(3)
)";

TEST(GpuEpilogues, BiasResidualAndRelu) {
  Expect(std::string(kOperands) + R"(
  p = f32[24,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  vs = f32[24,40] broadcast(v), dimensions={1}
  x = f32[24,40] add(p, vs)
  y = f32[24,40] subtract(r, x)
  zero = f32[] constant(0)
  zeros = f32[24,40] broadcast(zero), dimensions={}
  ROOT z = f32[24,40] maximum(y, zeros) })",
         1);
}

TEST(GpuEpilogues, ToAnotherType) {
  Expect(std::string(kOperands) + R"(
  p = f32[24,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  vs = f32[24,40] broadcast(v), dimensions={1}
  x = f32[24,40] multiply(p, vs)
  ROOT z = bf16[24,40] convert(x) })",
         1);
  Expect(std::string(kOperands) + R"(
  ah = bf16[24,32] convert(a)
  bh = bf16[32,40] convert(b)
  vh = bf16[40] convert(v)
  p = bf16[24,40] dot(ah, bh), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  vs = bf16[24,40] broadcast(vh), dimensions={1}
  x = bf16[24,40] add(p, vs)
  y = bf16[24,40] multiply(x, x)
  ROOT z = (bf16[24,40], bf16[24,40]) tuple(x, y) })",
         0);  // The result has two uses.
}

TEST(GpuEpilogues, ProductsWithOtherUses) {
  Expect(std::string(kOperands) + R"(
  p = f32[24,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  x = bf16[24,40] convert(p)
  ROOT z = (bf16[24,40], f32[24,40]) tuple(x, p) })",
         0);
  // Transposed, and with an unsupported function.
  Expect(std::string(kOperands) + R"(
  p = f32[24,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[40,24] transpose(p), dimensions={1,0}
  ROOT z = f32[40,24] add(t, t) })",
         0);
  Expect(std::string(kOperands) + R"(
  p = f32[24,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT z = f32[24,40] abs(p) })",
         0);
}

// The loop's result aliases the operand, which other thread blocks still read.
TEST(GpuEpilogues, ResidualThatIsAnOperand) {
  Expect(R"(ENTRY e {
  a = f32[24,24] parameter(0)
  b = f32[24,24] parameter(1)
  p = f32[24,24] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  x = f32[24,24] add(a, p)
  q = f32[24,24] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[24,24] add(x, q)
  ROOT z = f32[24,24] add(y, b) })",
         1);
}

// The product is in a loop that is captured.
TEST(GpuEpilogues, InALoop) {
  Expect(R"(
more { s = (s32[], f32[8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
step { s = (s32[], f32[8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8,8] get-tuple-element(s), index=1
  w = f32[8,8] get-tuple-element(s), index=2
  p = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = f32[] constant(0.125)
  hs = f32[8,8] broadcast(h), dimensions={}
  y = f32[8,8] multiply(p, hs)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[8,8], f32[8,8]) tuple(j, y, w) }
ENTRY e {
  a = f32[8,8] parameter(0)
  b = f32[8,8] parameter(1)
  zero = s32[] constant(0)
  s = (s32[], f32[8,8], f32[8,8]) tuple(zero, a, b)
  l = (s32[], f32[8,8], f32[8,8]) while(s), condition=more, body=step
  ROOT r = f32[8,8] get-tuple-element(l), index=1 })",
         3);
}

}  // namespace
}  // namespace hlo::gpu_epilogues_test
