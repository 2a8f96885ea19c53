// Tests row fusion on the GPU: which steps become one launch, and that results are close to the reference's.

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "as_reference.h"
#include "fmt/format.h"
#include "hlo_run/observer.h"
#include "plan/gpu/gpu_plan.h"
#include "plan/make_plan.h"
#include "types/small_float.h"

namespace hlo::gpu_rows_test {
namespace {

// Counts launches of rows, and the steps that they replace.
class Launches : public Observer {
 public:
  absl::Status BeforeStep(const StepView& step) override {
    rows_ += step.kernel().starts_with("rows ");
    replaced_ += step.kernel() == "fused into later rows";
    return absl::OkStatus();
  }
  int rows() const { return rows_; }
  int replaced() const { return replaced_; }

 private:
  int rows_ = 0, replaced_ = 0;
};

constexpr char kCombiners[] = R"(
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) }
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
)";

// x, widened to f32, is followed by `body`, which computes f32 `y`; the root is y in the type of x.
std::string Program(const char* type, int rows, int columns, std::string_view body) {
  return kCombiners +
         fmt::format(R"(
ENTRY e {{
  xt = {0}[{1},{2}] parameter(0)
  x = f32[{1},{2}] convert(xt)
  zero = f32[] constant(0)
  ninf = f32[] constant(-inf)
)",
                     type, rows, columns) +
         fmt::format(fmt::runtime(body), fmt::arg("r", rows), fmt::arg("c", columns)) +
         fmt::format("  ROOT yt = {}[{},{}] convert(y)\n}}\n", type, rows, columns);
}

constexpr char kLayerNorm[] = R"(
  scale = f32[{c}] parameter(1)
  bias = f32[{c}] parameter(2)
  s = f32[{r}] reduce(x, zero), dimensions={{1}}, to_apply=add
  n = f32[] constant({c})
  ns = f32[{r}] broadcast(n), dimensions={{}}
  mean = f32[{r}] divide(s, ns)
  means = f32[{r},{c}] broadcast(mean), dimensions={{0}}
  d = f32[{r},{c}] subtract(x, means)
  q = f32[{r},{c}] multiply(d, d)
  v = f32[{r}] reduce(q, zero), dimensions={{1}}, to_apply=add
  variance = f32[{r}] divide(v, ns)
  epsilon = f32[] constant(1e-5)
  epsilons = f32[{r}] broadcast(epsilon), dimensions={{}}
  ve = f32[{r}] add(variance, epsilons)
  rs = f32[{r}] rsqrt(ve)
  rb = f32[{r},{c}] broadcast(rs), dimensions={{0}}
  o = f32[{r},{c}] multiply(d, rb)
  scales = f32[{r},{c}] broadcast(scale), dimensions={{1}}
  o2 = f32[{r},{c}] multiply(o, scales)
  biases = f32[{r},{c}] broadcast(bias), dimensions={{1}}
  y = f32[{r},{c}] add(o2, biases)
)";

constexpr char kRmsNorm[] = R"(
  scale = f32[{c}] parameter(1)
  q = f32[{r},{c}] multiply(x, x)
  v = f32[{r}] reduce(q, zero), dimensions={{1}}, to_apply=add
  n = f32[] constant({c})
  ns = f32[{r}] broadcast(n), dimensions={{}}
  m = f32[{r}] divide(v, ns)
  rs = f32[{r}] rsqrt(m)
  rb = f32[{r},{c}] broadcast(rs), dimensions={{0}}
  o = f32[{r},{c}] multiply(x, rb)
  scales = f32[{r},{c}] broadcast(scale), dimensions={{1}}
  y = f32[{r},{c}] multiply(o, scales)
)";

constexpr char kSoftmax[] = R"(
  m = f32[{r}] reduce(x, ninf), dimensions={{1}}, to_apply=max
  mb = f32[{r},{c}] broadcast(m), dimensions={{0}}
  d = f32[{r},{c}] subtract(x, mb)
  e = f32[{r},{c}] exponential(d)
  s = f32[{r}] reduce(e, zero), dimensions={{1}}, to_apply=add
  sb = f32[{r},{c}] broadcast(s), dimensions={{0}}
  y = f32[{r},{c}] divide(e, sb)
)";

constexpr char kLogSoftmax[] = R"(
  m = f32[{r}] reduce(x, ninf), dimensions={{1}}, to_apply=max
  mb = f32[{r},{c}] broadcast(m), dimensions={{0}}
  d = f32[{r},{c}] subtract(x, mb)
  e = f32[{r},{c}] exponential(d)
  s = f32[{r}] reduce(e, zero), dimensions={{1}}, to_apply=add
  l = f32[{r}] log(s)
  lb = f32[{r},{c}] broadcast(l), dimensions={{0}}
  y = f32[{r},{c}] subtract(d, lb)
)";

// Returns moderate values; with `specials`, row 1 begins with NaN, row 2 with an infinity, and row 3 has only
// negative infinities.
Literal Numbers(const Shape& shape, bool specials) {
  Literal literal = *Literal::Create(shape);
  const int64_t columns = shape.dims().back();
  std::mt19937 random(static_cast<uint32_t>(shape.rank()));
  const float infinity = std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const int64_t row = i / columns, column = i % columns;
    float x = static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 512;
    if (specials && shape.rank() == 2)
      x = row == 3 ? -infinity : column != 0 ? x : row == 1 ? std::nanf("") : row == 2 ? infinity : x;
    if (shape.type() == ElementType::kBF16)
      literal.mutable_span<bfloat16>()[i] = bfloat16::FromDouble(x);
    else
      literal.mutable_span<float>()[i] = x;
  }
  return literal;
}

// Expects that the planned memory allows every launch of rows.
void ExpectValidOverlaps(const CheckedModule& module) {
  const absl::StatusOr<plan::Plan> plan = plan::MakePlan(module, nullptr, plan::Target::kGpu, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const plan::GpuPlan gpu = plan::MakeGpuPlan(*plan, OpenTestGpu(TestDevices()[0])->properties());
  for (const auto& [step, lowered] : gpu.steps) {
    if (lowered.fused_rows == nullptr) continue;
    for (const auto& [other, written, may_coincide] : lowered.fused_rows->overlaps) {
      const int64_t a = gpu.offsets[other], b = gpu.offsets[written];
      if (a < 0 || b < 0) continue;  // Memory of their own.
      EXPECT_TRUE(a + plan->buffers[other].byte_count <= b || b + plan->buffers[written].byte_count <= a ||
                  (may_coincide && a == b));
    }
  }
}

// `rows`, `replaced`: expected numbers of launches of rows, and of steps that they replace.
void ExpectFused(const std::string& text, int rows, int replaced, CompareRule rule, bool specials = false) {
  SCOPED_TRACE(text);
  const CheckedModule module = Load(text);
  ExpectValidOverlaps(module);
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module.module().entry()->parameters())
    arguments.push_back(Numbers(parameter->shape(), specials));
  const absl::StatusOr<Literal> want = Execute(module, arguments, Engine::kReference);
  ASSERT_TRUE(want.ok()) << want.status();
  std::optional<Literal> first;
  for (const Device& device : TestDevices()) {
    absl::StatusOr<Executable> executable = Executable::Make(module, Engine::kFast, {}, device);
    ASSERT_TRUE(executable.ok()) << executable.status();
    Launches launches;
    EvaluateOptions options;
    options.observer = &launches;
    const absl::StatusOr<Literal> got = executable->Run(arguments, options);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(executable->fallbacks().empty());
    const std::vector<LiteralLeaf> leaves = ArrayLeaves(*got), wanted = ArrayLeaves(*want);
    for (size_t k = 0; k < wanted.size(); ++k) {
      const CompareReport report = CompareArrays(*leaves[k].value, *wanted[k].value, rule);
      EXPECT_TRUE(report.ok()) << ToString(report);
    }
    EXPECT_EQ(launches.rows(), rows);
    EXPECT_EQ(launches.replaced(), replaced);
    // Arguments that may be overwritten change no bits.
    std::vector<Literal> copies = arguments;
    for (Literal& copy : copies) ASSERT_TRUE(copy.MakeUnique().ok());
    const absl::StatusOr<Literal> again = executable->Run(std::move(copies));
    ASSERT_TRUE(again.ok()) << again.status();
    const std::vector<LiteralLeaf> second = ArrayLeaves(*again);
    for (size_t k = 0; k < second.size(); ++k)
      EXPECT_TRUE(CompareArrays(*second[k].value, *leaves[k].value, CompareRule::Exact()).ok());
  }
}

struct Norm {
  const char* name;
  const char* body;
  int replaced;  // Steps of f32 that a launch replaces.
};
constexpr Norm kNorms[] = {{"layer norm", kLayerNorm, 5},
                           {"rms norm", kRmsNorm, 2},
                           {"softmax", kSoftmax, 3},
                           {"log-softmax", kLogSoftmax, 4}};

CompareRule RuleOf(std::string_view type) {
  return type == "f32" ? CompareRule::Close(1e-5, 1e-5) : CompareRule::Close(0x1p-7, 0x1p-7);
}

TEST(GpuRows, LongRowsAreOneLaunch) {
  for (const auto& [name, body, replaced] : kNorms) {
    SCOPED_TRACE(name);
    for (const char* type : {"f32", "bf16"}) {
      for (const auto& [rows, columns] : {std::pair(1, 64), {3, 768}, {17, 1000}, {5, 4096}, {2, 8192}}) {
        const std::string text = Program(type, rows, columns, body);
        ExpectFused(text, 1, replaced + (type[0] == 'b'), RuleOf(type));
      }
    }
  }
}

TEST(GpuRows, UnsupportedRowsAreNotFused) {
  for (const auto& [name, body, replaced] : kNorms) {
    SCOPED_TRACE(name);
    for (const auto& [rows, columns] :
         {std::pair(4, 1), {4, 2}, {5, 31}, {64, 32}, {3, 33}, {2, 1001}, {1, 40000}})
      ExpectFused(Program("f32", rows, columns, body), 0, 0, RuleOf("f32"));
  }
}

TEST(GpuRows, SpecialValues) {
  for (const auto& [name, body, replaced] : kNorms) {
    SCOPED_TRACE(name);
    for (const char* type : {"f32", "bf16"})
      ExpectFused(Program(type, 9, 260, body), 1, replaced + (type[0] == 'b'), RuleOf(type), true);
  }
}

// Dots are computed before and after; the mask is converted between the steps that are fused, and is the same
// for all heads. The buffers of the result and of the first product would overlap.
TEST(GpuRows, AttentionIsFused) {
  ExpectFused(std::string(kCombiners) + R"(
ENTRY e {
  q = bf16[2,3,64,16] parameter(0)
  k = bf16[2,3,64,16] parameter(1)
  v = bf16[2,3,64,16] parameter(2)
  mask = bf16[2,64,64] parameter(3)
  p = bf16[2,3,64,64] dot(q, k), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={3}
  pw = f32[2,3,64,64] convert(p)
  mw = f32[2,64,64] convert(mask)
  mb = f32[2,3,64,64] broadcast(mw), dimensions={0,2,3}
  pm = f32[2,3,64,64] add(pw, mb)
  ninf = f32[] constant(-inf)
  m = f32[2,3,64] reduce(pm, ninf), dimensions={3}, to_apply=max
  ms = f32[2,3,64,64] broadcast(m), dimensions={0,1,2}
  d = f32[2,3,64,64] subtract(pm, ms)
  e = f32[2,3,64,64] exponential(d)
  zero = f32[] constant(0)
  s = f32[2,3,64] reduce(e, zero), dimensions={3}, to_apply=add
  ss = f32[2,3,64,64] broadcast(s), dimensions={0,1,2}
  r = f32[2,3,64,64] divide(e, ss)
  rt = bf16[2,3,64,64] convert(r)
  ROOT o = bf16[2,3,64,16] dot(rt, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}
})",
              1, 4, CompareRule::Close(0x1p-5, 0x1p-5));
}

// Intermediate values that others read are stored.
TEST(GpuRows, StoresValuesWithOtherReaders) {
  ExpectFused(std::string(kCombiners) + R"(
ENTRY e {
  x = f32[20,96] parameter(0)
  y = f32[96,20] parameter(1)
  zero = f32[] constant(0)
  s = f32[20] reduce(x, zero), dimensions={1}, to_apply=add
  sb = f32[20,96] broadcast(s), dimensions={0}
  d = f32[20,96] subtract(x, sb)
  q = f32[20,96] multiply(d, d)
  v = f32[20] reduce(q, zero), dimensions={1}, to_apply=add
  vb = f32[20,96] broadcast(v), dimensions={0}
  o = f32[20,96] divide(d, vb)
  p = f32[20,20] dot(d, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT all = (f32[20,96], f32[20], f32[20,20]) tuple(o, s, p)
})",
              1, 3, CompareRule::Close(1e-4, 1e-4));
}

TEST(GpuRows, InLoops) {
  ExpectFused(std::string(kCombiners) + R"(
condition {
  s = (s32[], f32[10,128]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[10,128]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[10,128] get-tuple-element(s), index=1
  zero = f32[] constant(0)
  ninf = f32[] constant(-inf)
  m = f32[10] reduce(x, ninf), dimensions={1}, to_apply=max
  mb = f32[10,128] broadcast(m), dimensions={0}
  d = f32[10,128] subtract(x, mb)
  e = f32[10,128] exponential(d)
  t = f32[10] reduce(e, zero), dimensions={1}, to_apply=add
  tb = f32[10,128] broadcast(t), dimensions={0}
  y = f32[10,128] divide(e, tb)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[10,128]) tuple(j, y)
}
ENTRY e {
  x = f32[10,128] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[10,128]) tuple(z, x)
  w = (s32[], f32[10,128]) while(s), condition=condition, body=body
  ROOT r = f32[10,128] get-tuple-element(w), index=1
})",
              4, 12, CompareRule::Close(1e-5, 1e-5));
}

}  // namespace
}  // namespace hlo::gpu_rows_test
