// Tests small steps on the GPU: which of them become one launch, and that results are the reference's.

#include <array>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "as_reference.h"
#include "fmt/format.h"
#include "plan/gpu/gpu_plan.h"
#include "plan/make_plan.h"
#include "plan/visit.h"

namespace hlo::gpu_steps_test {
namespace {

// The launches of one thread block for several steps, and the steps that have launches of their own.
struct Launches {
  int together = 0, alone = 0;
};

void CountAlone(const plan::GpuPlan& gpu, const std::vector<plan::Step>& steps, Launches* launches) {
  for (const plan::Step& step : steps) {
    if (gpu.steps.at(&step).fused_steps != nullptr) continue;
    if (const auto* loop = std::get_if<plan::LoopStep>(&step.what)) {
      CountAlone(gpu, loop->condition, launches);
      CountAlone(gpu, loop->body, launches);
    } else if (const auto* branch = std::get_if<plan::BranchStep>(&step.what)) {
      for (const auto& each : branch->branches) CountAlone(gpu, each.steps, launches);
    } else {
      ++launches->alone;
    }
  }
}

Launches CountLaunches(const CheckedModule& module, bool limits_kernel_time = false) {
  const absl::StatusOr<plan::Plan> plan = plan::MakePlan(module, nullptr, plan::Target::kGpu, {});
  EXPECT_TRUE(plan.ok()) << plan.status();
  device::DeviceProperties device = OpenTestGpu(TestDevices()[0])->properties();
  device.limits_kernel_time = limits_kernel_time;
  const plan::GpuPlan gpu = plan::MakeGpuPlan(*plan, device);
  std::set<const plan::FusedSteps*> together;
  for (const auto& [step, lowered] : gpu.steps) together.insert(lowered.fused_steps.get());
  together.erase(nullptr);
  Launches launches{.together = static_cast<int>(together.size())};
  CountAlone(gpu, plan->steps, &launches);
  return launches;
}

// Returns the launches of loops that run concurrently.
int CountConcurrent(const CheckedModule& module) {
  const absl::StatusOr<plan::Plan> plan = plan::MakePlan(module, nullptr, plan::Target::kGpu, {});
  EXPECT_TRUE(plan.ok()) << plan.status();
  const plan::GpuPlan gpu = plan::MakeGpuPlan(*plan, OpenTestGpu(TestDevices()[0])->properties());
  int count = 0;
  for (const auto& [step, lowered] : gpu.steps) {
    for (const cuda::LoweredProgram& program : lowered.programs)
      count += lowered.fused_steps == nullptr && program.name.ends_with("concurrent loops");
  }
  return count;
}

// Expects the reference's values, and these launches.
void Expect(const std::string& text, int together, int alone, const std::vector<Literal>& arguments) {
  SCOPED_TRACE(text);
  const Launches launches = CountLaunches(Load(text));
  EXPECT_EQ(launches.together, together);
  EXPECT_EQ(launches.alone, alone);
  ExpectAsReference(text, arguments);
}

Literal Floats(std::vector<int64_t> dims, uint32_t seed = 1) {
  return Values(ElementType::kF32, std::move(dims), seed, false);
}
Literal Number(int32_t value) {
  Literal literal = *Literal::Create(Shape::Array(ElementType::kS32, {}));
  literal.mutable_span<int32_t>()[0] = value;
  return literal;
}

// A loop over rows of xs: sums of columns so far, with a counter.
std::string Scan(int rows, int columns) {
  return fmt::format(R"(
condition {{
  s = (s32[], f32[{1}], f32[{0},{1}], f32[{0},{1}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({0})
  ROOT c = pred[] compare(i, n), direction=LT
}}
body {{
  s = (s32[], f32[{1}], f32[{0},{1}], f32[{0},{1}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  sum = f32[{1}] get-tuple-element(s), index=1
  xs = f32[{0},{1}] get-tuple-element(s), index=2
  ys = f32[{0},{1}] get-tuple-element(s), index=3
  zero = s32[] constant(0)
  row = f32[1,{1}] dynamic-slice(xs, i, zero), dynamic_slice_sizes={{1,{1}}}
  x = f32[{1}] reshape(row)
  next = f32[{1}] add(sum, x)
  y = f32[1,{1}] reshape(next)
  written = f32[{0},{1}] dynamic-update-slice(ys, y, i, zero)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[{1}], f32[{0},{1}], f32[{0},{1}]) tuple(j, next, xs, written)
}}
ENTRY e {{
  xs = f32[{0},{1}] parameter(0)
  z = s32[] constant(0)
  f = f32[] constant(0)
  sum = f32[{1}] broadcast(f), dimensions={{}}
  ys = f32[{0},{1}] broadcast(f), dimensions={{}}
  s = (s32[], f32[{1}], f32[{0},{1}], f32[{0},{1}]) tuple(z, sum, xs, ys)
  w = (s32[], f32[{1}], f32[{0},{1}], f32[{0},{1}]) while(s), condition=condition, body=body
  a = f32[{1}] get-tuple-element(w), index=1
  b = f32[{0},{1}] get-tuple-element(w), index=3
  ROOT r = (f32[{1}], f32[{0},{1}]) tuple(a, b)
}})",
                     rows, columns);
}

TEST(GpuSteps, LoopsAreOneLaunch) {
  for (const auto& [rows, columns] : {std::pair(1, 1), {5, 3}, {7, 129}, {3, 2047}, {2, 2049}})
    Expect(Scan(rows, columns), 1, 0, {Floats({rows, columns})});
}

// A GPU that limits the time of a launch runs the steps of an iteration in one.
TEST(GpuSteps, LimitedKernelTime) {
  const Launches launches = CountLaunches(Load(Scan(5, 3)), true);
  EXPECT_EQ(launches.together, 2);
  EXPECT_EQ(launches.alone, 1);
}

// Steps that keep many multiprocessors busy have launches of their own.
TEST(GpuSteps, LargeStepsRunAsBefore) {
  const Launches launches = CountLaunches(Load(Scan(3, 100'000)));
  EXPECT_EQ(launches.together, 0);
  EXPECT_GT(launches.alone, 2);
  ExpectAsReference(Scan(3, 100'000), {Floats({3, 100'000})});
}

// The number of iterations depends on values; states of odd sizes change places.
constexpr char kCollatz[] = R"(
even { n = s32[] parameter(0) one = s32[] constant(1) ROOT h = s32[] shift-right-logical(n, one) }
odd {
  n = s32[] parameter(0)
  three = s32[] constant(3)
  one = s32[] constant(1)
  m = s32[] multiply(n, three)
  ROOT r = s32[] add(m, one)
}
condition {
  s = (s32[], s8[3], s8[3], bf16[5]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  ROOT c = pred[] compare(n, one), direction=NE
}
body {
  s = (s32[], s8[3], s8[3], bf16[5]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  a = s8[3] get-tuple-element(s), index=1
  b = s8[3] get-tuple-element(s), index=2
  h = bf16[5] get-tuple-element(s), index=3
  one = s32[] constant(1)
  bit = s32[] and(n, one)
  is_odd = pred[] convert(bit)
  next = s32[] conditional(is_odd, n, n), true_computation=odd, false_computation=even
  ab = s8[3] add(a, b)
  g = bf16[5] negate(h)
  ROOT r = (s32[], s8[3], s8[3], bf16[5]) tuple(next, b, ab, g)
}
ENTRY e {
  n = s32[] parameter(0)
  a = s8[3] constant({1, -2, 3})
  b = s8[3] constant({1, 1, 100})
  h = bf16[5] constant({1, 2, 3, 4, 5})
  s = (s32[], s8[3], s8[3], bf16[5]) tuple(n, a, b, h)
  ROOT w = (s32[], s8[3], s8[3], bf16[5]) while(s), condition=condition, body=body
})";

TEST(GpuSteps, LoopsWithBranches) {
  for (const int32_t n : {1, 2, 3, 27}) Expect(kCollatz, 1, 0, {Number(n)});
}

std::string Choice(int branches) {
  std::string text, names, operands;
  for (int b = 0; b < branches; ++b) {
    text += fmt::format(
        "b{0} {{ x = f32[70] parameter(0) c = f32[] constant({0}) d = f32[70] broadcast(c), dimensions={{}} "
        "ROOT y = f32[70] multiply(x, d) }}\n",
        b + 2);
    names += fmt::format("{}b{}", b == 0 ? "" : ", ", b + 2);
    operands += ", x";
  }
  return text + fmt::format(R"(
ENTRY e {{
  i = s32[] parameter(0)
  x = f32[70] parameter(1)
  ROOT y = f32[70] conditional(i{}), branch_computations={{{}}}
}})",
                            operands, names);
}

// Numbers out of range select the last branch.
TEST(GpuSteps, NumbersOfBranches) {
  for (const int branches : {1, 2, 5}) {
    for (const int32_t choice : {-7, 0, 1, branches - 1, branches, 1 << 30})
      Expect(Choice(branches), 1, 0, {Number(choice), Floats({70})});
  }
}

constexpr char kNested[] = R"(
inner_condition {
  s = (s32[], s32[], s32[40]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT c = pred[] compare(i, n), direction=LT
}
inner_body {
  s = (s32[], s32[], s32[40]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  x = s32[40] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  is = s32[40] broadcast(i), dimensions={}
  y = s32[40] add(x, is)
  ROOT r = (s32[], s32[], s32[40]) tuple(j, n, y)
}
condition {
  s = (s32[], s32[40]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  four = s32[] constant(4)
  ROOT c = pred[] compare(i, four), direction=LT
}
body {
  s = (s32[], s32[40]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[40] get-tuple-element(s), index=1
  zero = s32[] constant(0)
  t = (s32[], s32[], s32[40]) tuple(zero, i, x)
  w = (s32[], s32[], s32[40]) while(t), condition=inner_condition, body=inner_body
  y = s32[40] get-tuple-element(w), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], s32[40]) tuple(j, y)
}
ENTRY e {
  x = s32[40] parameter(0)
  z = s32[] constant(0)
  s = (s32[], s32[40]) tuple(z, x)
  w = (s32[], s32[40]) while(s), condition=condition, body=body
  ROOT r = s32[40] get-tuple-element(w), index=1
})";

TEST(GpuSteps, LoopsInLoops) { Expect(kNested, 1, 0, {Values(ElementType::kS32, {40}, 3, false)}); }

// Scatters of one element, at and beyond the corners; those outside are dropped.
TEST(GpuSteps, ScattersOfOneWindow) {
  std::string text = R"(
second { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[7,9] parameter(0)
  v = f32[9] parameter(1)
  y0 = f32[7,9] negate(x)
)";
  const std::pair<int, int> places[] = {{0, 0}, {6, 8}, {6, 9},  {-1, 0}, {3, 4},
                                        {7, 0}, {3, 4}, {0, -1}, {5, 0}};
  int k = 0;
  for (const auto& [row, column] : places) {
    text += fmt::format(R"(
  i{0} = s32[2] constant({{{1}, {2}}})
  v{0} = f32[1] slice(v), slice={{[{0}:{3}]}}
  update{0} = f32[] reshape(v{0})
  y{3} = f32[7,9] scatter(y{0}, i{0}, update{0}), update_window_dims={{}}, inserted_window_dims={{0,1}}, scatter_dims_to_operand_dims={{0,1}}, index_vector_dim=0, to_apply={4}
)",
                        k, row, column, k + 1, k % 2 == 0 ? "second" : "sum");
    ++k;
  }
  Expect(text + fmt::format("  ROOT r = f32[7,9] copy(y{})\n}}", k), 1, 0, {Floats({7, 9}), Floats({9}, 2)});
}

// Sums, extremes and bits of rows that the step before computes.
std::string Reductions(int rows, int columns) {
  return fmt::format(R"(
sum {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }}
max {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }}
isum {{ a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }}
imin {{ a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] minimum(a, b) }}
all {{ a = pred[] parameter(0) b = pred[] parameter(1) ROOT s = pred[] and(a, b) }}
ENTRY e {{
  x = f32[{0},{1}] parameter(0)
  n = s32[{0},{1}] parameter(1)
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  izero = s32[] constant(3)
  large = s32[] constant(2000000000)
  yes = pred[] constant(true)
  turned = f32[{1},{0}] transpose(x), dimensions={{1,0}}
  two = f32[] constant(2)
  twos = f32[{1},{0}] broadcast(two), dimensions={{}}
  y = f32[{1},{0}] multiply(turned, twos)
  back = f32[{0},{1}] transpose(y), dimensions={{1,0}}
  firsts = f32[{0},1] slice(x), slice={{[0:{0}],[0:1]}}
  first = f32[{0}] reshape(firsts)
  spread = f32[{0},{1}] broadcast(first), dimensions={{0}}
  d = f32[{0},{1}] subtract(back, spread)
  r0 = f32[{0}] reduce(d, zero), dimensions={{1}}, to_apply=sum
  r1 = f32[{0}] reduce(x, low), dimensions={{1}}, to_apply=max
  r2 = s32[{0}] reduce(n, izero), dimensions={{1}}, to_apply=isum
  r3 = s32[{0}] reduce(n, large), dimensions={{1}}, to_apply=imin
  nonzero = pred[{0},{1}] convert(n)
  r4 = pred[{0}] reduce(nonzero, yes), dimensions={{1}}, to_apply=all
  t = f32[{0}] negate(r0)
  u = f32[{0}] subtract(t, r1)
  ROOT r = (f32[{0}], f32[{0}], f32[{0}], s32[{0}], s32[{0}], pred[{0}]) tuple(r0, r1, u, r2, r3, r4)
}})",
                     rows, columns);
}

TEST(GpuSteps, ReductionsOfRows) {
  const auto arguments = [](int rows, int columns) {
    return std::vector<Literal>{Floats({rows, columns}),
                                Values(ElementType::kS32, {rows, columns}, 2, false)};
  };
  for (const auto& [rows, columns] : {std::pair(16, 31), {17, 32}, {2, 35}, {33, 127}, {3, 129}, {40, 50}})
    Expect(Reductions(rows, columns), 1, 0, arguments(rows, columns));
  // Short rows are elementwise, and row programs take long ones.
  for (const auto& [rows, columns] :
       {std::pair(1, 1), {2, 3}, {3, 4}, {5, 5}, {64, 7}, {2, 128}, {1, 700}, {1, 516}})
    ExpectAsReference(Reductions(rows, columns), arguments(rows, columns));
}

// A product of small integers in f32, whose sums are exact, between two loops. `dims` are the attributes.
std::string Product(const std::string& lhs, const std::string& rhs, const std::string& result,
                    const std::string& dims, const char* type = "f32") {
  return fmt::format(R"(
ENTRY e {{
  a = f32{0} parameter(0)
  b = f32{1} parameter(1)
  four = f32[] constant(4)
  fours = f32{0} broadcast(four), dimensions={{}}
  scaled = f32{0} multiply(a, fours)
  x = {4}{0} convert(scaled)
  y = {4}{1} convert(b)
  p = {4}{2} dot(x, y), {3}
  wide = f32{2} convert(p)
  ROOT r = f32{2} negate(wide)
}})",
                     lhs, rhs, result, dims, type);
}

TEST(GpuSteps, SmallProducts) {
  const std::string plain = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  for (const auto& [m, k, n] :
       {std::tuple(1, 1, 1), {3, 3, 3}, {1, 64, 64}, {7, 5, 11}, {17, 1, 31}, {1, 513, 1}, {23, 31, 29}}) {
    const bool is_loop = m * k * n == 1;  // The product of two elements is part of one loop.
    for (const char* type : {"f32", "bf16", "f16"}) {
      Expect(Product(fmt::format("[{},{}]", m, k), fmt::format("[{},{}]", k, n), fmt::format("[{},{}]", m, n),
                     plain, type),
             is_loop ? 0 : 1, is_loop ? 1 : 0, {Floats({m, k}), Floats({k, n}, 2)});
    }
  }
  Expect(Product("[2,5,3,4]", "[3,6,5,4]", "[5,3,2,6]",
                 "lhs_batch_dims={1,2}, rhs_batch_dims={2,0}, lhs_contracting_dims={3}, "
                 "rhs_contracting_dims={3}"),
         1, 0, {Floats({2, 5, 3, 4}), Floats({3, 6, 5, 4}, 2)});
  // Terms with more than two strides have the kernel for all products.
  Expect(Product("[9,2,7]", "[7,5,9]", "[2,5]", "lhs_contracting_dims={0,2}, rhs_contracting_dims={2,0}"), 1,
         0, {Floats({9, 2, 7}), Floats({7, 5, 9}, 2)});
  Expect(Product("[3,2,5,4]", "[4,5,6,3]", "[2,6]",
                 "lhs_contracting_dims={0,2,3}, rhs_contracting_dims={3,1,0}"),
         0, 3, {Floats({3, 2, 5, 4}), Floats({4, 5, 6, 3}, 2)});
  Expect(Product("[6]", "[6]", "[]", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"), 1, 0,
         {Floats({6}), Floats({6}, 2)});
  Expect(Product("[5]", "[3]", "[5,3]", "lhs_contracting_dims={}, rhs_contracting_dims={}"), 1, 0,
         {Floats({5}), Floats({3}, 2)});
}

// Products of integers, which wrap around, and of two types.
TEST(GpuSteps, SmallProductsOfOtherTypes) {
  const auto text = [](ElementType lhs, ElementType rhs, ElementType result) {
    return fmt::format(R"(
ENTRY e {{
  a = f32[7,2,33] parameter(0)
  b = f32[33,7,5] parameter(1)
  scale = f32[] constant({3})
  scales = f32[7,2,33] broadcast(scale), dimensions={{}}
  c = f32[7,2,33] multiply(a, scales)
  x = {0}[7,2,33] convert(c)
  y = {1}[33,7,5] convert(b)
  ROOT p = {2}[2,5] dot(x, y), lhs_contracting_dims={{0,2}}, rhs_contracting_dims={{1,0}}
}})",
                       Name(lhs), Name(rhs), Name(result), IsFloat(result) ? 123 : 1234567);
  };
  const std::vector<Literal> arguments = {Floats({7, 2, 33}), Floats({33, 7, 5}, 2)};
  using enum ElementType;
  constexpr std::array<ElementType, 3> kNarrow[] = {
      {kS32, kS32, kS32}, {kU32, kU32, kU32}, {kS8, kS8, kS32},    {kS8, kU8, kS32},   {kU8, kU8, kU8},
      {kS16, kS16, kS16}, {kU16, kS8, kS32},  {kBF16, kF32, kF32}, {kF32, kF16, kF32}, {kF16, kBF16, kF32}};
  for (const auto& types : kNarrow) Expect(text(types[0], types[1], types[2]), 1, 0, arguments);
  // Loops over wide values are steps of their own.
  for (const ElementType type : {kS64, kU64, kF64}) ExpectAsReference(text(type, type, type), arguments);
}

// Two products in f64, the second of which reads the first.
TEST(GpuSteps, SmallProductsInDoublePrecision) {
  const std::string text = R"(
ENTRY e {
  x = f32[9,13] parameter(0)
  y = f64[9,13] convert(x)
  p = f64[13,13] dot(y, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  ROOT q = f64[9,13] dot(y, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  Expect(text, 1, 1, {Floats({9, 13})});
}

// The loop after a product runs in its epilogue unless both belong to the launch of small steps.
TEST(GpuSteps, ProductsWithEpilogues) {
  const std::string head = R"(
less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT l = pred[] compare(x, y), direction=LT }
ENTRY e {
  a = f32[4,9] parameter(0)
  b = f32[9,9] parameter(1)
  c = f32[4,9] parameter(2)
  p = f32[4,9] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  q = f32[4,9] add(p, c)
)";
  Expect(head + "  ROOT r = f32[4,9] copy(q)\n}", 1, 0,
         {Floats({4, 9}), Floats({9, 9}, 2), Floats({4, 9}, 3)});
  // A sort between two such pairs is a step of its own.
  Expect(head + R"(
  s = f32[4,9] sort(q), dimensions={1}, to_apply=less
  t = f32[4,9] dot(s, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT u = f32[4,9] multiply(t, c)
}
)",
         2, 1, {Floats({4, 9}), Floats({9, 9}, 2), Floats({4, 9}, 3)});
}

// A recurrent network.
TEST(GpuSteps, ProductsInLoops) {
  const std::string text = R"(
condition {
  s = (s32[], f32[2,19], f32[19,19]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(7)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[2,19], f32[19,19]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[2,19] get-tuple-element(s), index=1
  w = f32[19,19] get-tuple-element(s), index=2
  p = f32[2,19] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  high = f32[] constant(3)
  low = f32[] constant(-3)
  next = f32[2,19] clamp(low, p, high)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[2,19], f32[19,19]) tuple(j, next, w)
}
ENTRY e {
  h = f32[2,19] parameter(0)
  w = f32[19,19] parameter(1)
  z = s32[] constant(0)
  s = (s32[], f32[2,19], f32[19,19]) tuple(z, h, w)
  l = (s32[], f32[2,19], f32[19,19]) while(s), condition=condition, body=body
  ROOT r = f32[2,19] get-tuple-element(l), index=1
})";
  Expect(text, 1, 0, {Floats({2, 19}), Floats({19, 19}, 2)});
}

TEST(GpuSteps, RandomProducts) {
  std::mt19937 random(20);
  const auto size = [&](uint32_t limit) { return static_cast<int64_t>(1 + random() % limit); };
  for (int k = 0; k < 60; ++k) {
    const int64_t batch = size(4), m = size(20), terms = size(k % 3 == 0 ? 300 : 20), n = size(20);
    const bool turns_a = random() % 2 == 0, turns_b = random() % 2 == 0;
    const std::vector<int64_t> a = turns_a ? std::vector{batch, terms, m} : std::vector{batch, m, terms};
    const std::vector<int64_t> b = turns_b ? std::vector{batch, n, terms} : std::vector{batch, terms, n};
    const auto list = [](const std::vector<int64_t>& dims) {
      return fmt::format("[{}]", fmt::join(dims, ","));
    };
    ExpectAsReference(
        Product(list(a), list(b), list({batch, m, n}),
                fmt::format("lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{{}}}, "
                            "rhs_contracting_dims={{{}}}",
                            turns_a ? 1 : 2, turns_b ? 2 : 1)),
        {Floats(a), Floats(b, 2)});
  }
}

// A concatenation of one to three rows of x at a time, which begin at `starts`.
std::string Stack(int rows, int columns, const char* type) {
  std::string text =
      fmt::format("ENTRY e {{\n  x = {}[{},{}] parameter(0)\n  starts = s32[{}] parameter(1)\n", type,
                  rows + 5, columns, rows);
  std::string operands;
  for (int k = 0; k < rows; ++k) {
    text += fmt::format(R"(
  s{0}_ = s32[1] slice(starts), slice={{[{0}:{1}]}}
  at{0} = s32[] reshape(s{0}_)
  zero{0} = s32[] constant(0)
  row{0} = {2}[{3},{4}] dynamic-slice(x, at{0}, zero{0}), dynamic_slice_sizes={{{3},{4}}}
)",
                        k, k + 1, type, k % 3 + 1, columns);
    operands += fmt::format("{}row{}", k == 0 ? "" : ", ", k);
  }
  const int total = rows / 3 * 6 + (rows % 3 == 0 ? 0 : rows % 3 == 1 ? 1 : 3);
  return text + fmt::format("  ROOT r = {}[{},{}] concatenate({}), dimensions={{0}}\n}}", type, total,
                            columns, operands);
}

// Starts are clamped. More loops than a launch takes are several launches.
TEST(GpuSteps, ConcatenatedLoopsShareLaunches) {
  for (const auto& [rows, columns] :
       {std::pair(3, 1), {4, 1000}, {7, 5000}, {63, 70}, {64, 33}, {65, 64}, {130, 12}}) {
    for (const char* type : {"f32", "s32"}) {
      const std::string text = Stack(rows, columns, type);
      EXPECT_EQ(CountConcurrent(Load(text)), rows <= 8 && columns <= 1000 ? 0 : (rows + 63) / 64);
      const ElementType element = type[0] == 'f' ? ElementType::kF32 : ElementType::kS32;
      ExpectAsReference(
          text, {Values(element, {rows + 5, columns}, 4, true), Values(ElementType::kS32, {rows}, 5, false)});
    }
  }
}

// Many steps are several launches, because the tasks of one are limited.
TEST(GpuSteps, LongChains) {
  std::string text = "ENTRY e {\n  x0 = f32[50,2] parameter(0)\n";
  for (int k = 0; k < 300; ++k) {
    text += fmt::format(
        "  sign{0} = f32[50,2] {2}(x{0})\n  t{0} = f32[2,50] transpose(sign{0}), dimensions={{1,0}}\n  x{1} "
        "= "
        "f32[50,2] "
        "reshape(t{0})\n",
        k, k + 1, k % 3 == 0 ? "negate" : "abs");
  }
  text += "  ROOT r = f32[50,2] copy(x300)\n}";
  const Launches launches = CountLaunches(Load(text));
  EXPECT_GT(launches.together, 1);
  EXPECT_LT(launches.together, 12);
  ExpectAsReference(text, {Floats({50, 2})});
}

// A run with an observer or a limit takes the steps one by one, with the same results.
TEST(GpuSteps, WatchedRuns) {
  const CheckedModule module = Load(Scan(6, 5));
  const std::vector<Literal> arguments = {Floats({6, 5})};
  const absl::StatusOr<Literal> want = Execute(module, arguments, Engine::kReference);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const Device& device : TestDevices()) {
    absl::StatusOr<Executable> executable = Executable::Make(module, Engine::kFast, {}, device);
    ASSERT_TRUE(executable.ok()) << executable.status();
    for (const int64_t max_steps : {0, 1000, 0, 0}) {
      EvaluateOptions options;
      options.max_steps = max_steps;
      const absl::StatusOr<Literal> got = executable->Run(arguments, options);
      ASSERT_TRUE(got.ok()) << got.status();
      const std::vector<LiteralLeaf> got_leaves = ArrayLeaves(*got), wanted = ArrayLeaves(*want);
      for (size_t k = 0; k < wanted.size(); ++k) {
        const CompareReport report =
            CompareArrays(*got_leaves[k].value, *wanted[k].value, CompareRule::Exact());
        EXPECT_TRUE(report.ok()) << ToString(report);
      }
    }
    EvaluateOptions few;
    few.max_steps = 5;
    EXPECT_TRUE(absl::IsResourceExhausted(executable->Run(arguments, few).status()));
  }
}

TEST(GpuSteps, WatchedConcatenationWithoutElements) {
  const CheckedModule module = Load(
      "ENTRY e {\n  a = s8[0,2] parameter(0)\n  ROOT r = s8[0,6] concatenate(a, a, a), dimensions={1}\n}");
  const absl::StatusOr<Literal> empty = Literal::Create(Shape::Array(ElementType::kS8, {0, 2}));
  ASSERT_TRUE(empty.ok()) << empty.status();
  for (const Device& device : TestDevices()) {
    absl::StatusOr<Executable> executable = Executable::Make(module, Engine::kFast, {}, device);
    ASSERT_TRUE(executable.ok()) << executable.status();
    EvaluateOptions options;
    options.max_steps = 1000;
    const absl::StatusOr<Literal> got = executable->Run({*empty}, options);
    EXPECT_TRUE(got.ok()) << got.status();
  }
}

}  // namespace
}  // namespace hlo::gpu_steps_test
