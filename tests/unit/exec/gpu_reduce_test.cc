// Tests reductions by one operation against the reference: rows, columns and inner dimensions, with sizes
// around vectors, thread groups and chunks.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "as_reference.h"
#include "hlo_run/observer.h"
#include "types/dispatch.h"

namespace hlo::gpu_reduce_test {
namespace {

// Returns floats with duplicates whose sums are exact in f64, or integers with random bits.
Literal Numbers(ElementType type, const std::vector<int64_t>& dims) {
  Literal literal = *Literal::Create(Shape::Array(type, dims));
  std::mt19937_64 random(static_cast<uint64_t>(dims.back()));
  const auto next = [&] { return static_cast<double>(static_cast<int>(random() % 41) - 20) / 4; };
  DispatchType(type, [&]<ElementType kType>() {
    using N = Native<kType>;
    for (N& x : literal.mutable_span<N>()) {
      if constexpr (requires(N n) { n.ToFloat(); })
        x = N::FromDouble(next());
      else if constexpr (kType == ElementType::kC64 || kType == ElementType::kC128)
        x = N(static_cast<typename N::value_type>(next()), static_cast<typename N::value_type>(next()));
      else if constexpr (kType == ElementType::kF32 || kType == ElementType::kF64)
        x = static_cast<N>(next());
      else if constexpr (kType == ElementType::kPred)
        x = random() % 3 == 0;
      else
        x = static_cast<N>(random());
    }
  });
  return literal;
}

struct Reduction {
  std::string type, operation, init;
  std::vector<int64_t> dims, reduced;
};

std::string Text(const Reduction& r) {
  std::vector<int64_t> kept;
  for (size_t d = 0; d < r.dims.size(); ++d) {
    if (std::count(r.reduced.begin(), r.reduced.end(), static_cast<int64_t>(d)) == 0)
      kept.push_back(r.dims[d]);
  }
  return "c { a = " + r.type + "[] parameter(0)\n  b = " + r.type + "[] parameter(1)\n  ROOT r = " + r.type +
         "[] " + r.operation + "(a, b) }\nENTRY e { x = " + r.type + "[" + absl::StrJoin(r.dims, ",") +
         "] parameter(0)\n  z = " + r.type + "[] constant(" + r.init + ")\n  ROOT r = " + r.type + "[" +
         absl::StrJoin(kept, ",") + "] reduce(x, z), dimensions={" + absl::StrJoin(r.reduced, ",") +
         "}, to_apply=c }\n";
}

void ExpectReduced(const Reduction& r) {
  ExpectAsReference(Text(r), {Numbers(*ParseElementType(r.type), r.dims)});
}

TEST(GpuReduce, RowsAndColumnsOfEveryLength) {
  for (const int64_t kept : {1, 3, 32, 70}) {
    for (const int64_t reduced : {1, 4, 15, 64, 100, 257, 516, 4096, 4101}) {
      ExpectReduced({"f32", "add", "1", {kept, reduced}, {1}});
      ExpectReduced({"f32", "add", "1", {reduced, kept}, {0}});
    }
  }
}

TEST(GpuReduce, EveryOperationAndType) {
  std::map<std::string, std::vector<std::string>> cases;
  for (const char* type : {"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"})
    cases[type] = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  for (const char* type : {"f16", "bf16", "f32", "f64"}) cases[type] = {"add", "maximum", "minimum"};
  cases["pred"] = {"and", "or", "xor", "maximum"};
  cases["c64"] = cases["c128"] = {"add"};
  for (const auto& [type, operations] : cases) {
    const std::string one = type == "pred" ? "true" : type[0] == 'c' ? "(1, 2)" : "1";
    for (const std::string& operation : operations) {
      ExpectReduced({type, operation, one, {5, 80}, {1}});
      ExpectReduced({type, operation, one, {5, 83}, {1}});
      ExpectReduced({type, operation, one, {83, 48}, {0}});
      ExpectReduced({type, operation, one, {83, 5}, {0}});
    }
  }
}

TEST(GpuReduce, SeveralDimensions) {
  for (const std::vector<int64_t>& reduced : {std::vector<int64_t>{0, 2},
                                              {1},
                                              {1, 3},
                                              {0, 3},
                                              {0, 1, 2},
                                              {1, 2, 3},
                                              {0, 2, 3},
                                              {2},
                                              {0, 1, 2, 3}}) {
    ExpectReduced({"f32", "add", "0", {6, 5, 12, 8}, reduced});
    ExpectReduced({"bf16", "maximum", "-inf", {3, 4, 7, 9}, reduced});
  }
}

// Long enough for several launches.
TEST(GpuReduce, SplitsIntoChunks) {
  ExpectReduced({"f32", "add", "0", {65536 + 7}, {0}});
  ExpectReduced({"s8", "add", "3", {2, 98304}, {1}});
  ExpectReduced({"s16", "minimum", "3", {4000, 24}, {0}});
  ExpectReduced({"f16", "add", "0.5", {3000, 3}, {0}});
  ExpectReduced({"c64", "add", "(0, 0)", {9000, 3}, {0}});
}

TEST(GpuReduce, InfinitiesNaNAndZerosOfBothSigns) {
  for (const char* operation : {"add", "maximum", "minimum", "multiply"}) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{9, 40}, {40, 9}}) {
      const Reduction r{"f32", operation, "-0", dims, {dims[0] == 9 ? 1 : 0}};
      Literal numbers = Values(ElementType::kF32, dims, 1, false);
      const auto span = numbers.mutable_span<float>();
      const int64_t step = dims[0] == 9 ? 1 : 9, row = dims[0] == 9 ? 40 : 1;
      for (int64_t i = 0; i < 40; ++i) {
        span[0 * row + i * step] = -0.0f;
        span[1 * row + i * step] = i == 20 ? 0.0f : -0.0f;
        span[2 * row + i * step] = i == 3 ? NAN : 1;
        span[3 * row + i * step] = i == 3 ? INFINITY : 1;
        span[4 * row + i * step] = i == 3 ? INFINITY : i == 30 ? -INFINITY : 1;
        span[5 * row + i * step] = -INFINITY;
        for (int64_t k = 6; k < 9; ++k) span[k * row + i * step] = i % 2 == 0 ? 2.0f : 0.5f;
      }
      ExpectAsReference(Text(r), {numbers});
    }
  }
}

// Records the names of the kernels.
class Names : public Observer {
 public:
  absl::Status BeforeStep(const StepView& step) override {
    names.push_back(std::string(step.kernel()));
    return absl::OkStatus();
  }
  std::vector<std::string> names;
};

TEST(GpuReduce, SelectsTheKernelByShape) {
  const std::pair<Reduction, std::string> cases[] = {
      {{"f32", "add", "0", {64, 1000}, {1}}, "reduce rows by 32, sums in f64"},
      {{"f32", "add", "0", {64, 5000}, {1}}, "reduce rows by 256, sums in f64"},
      {{"s32", "add", "0", {2, 98304}, {1}}, "reduce rows by 256, 3 chunks"},
      {{"f64", "maximum", "0", {700, 64}, {0}}, "reduce columns by 32, 8 chunks"},
      {{"f32", "multiply", "1", {9, 64}, {0}}, "reduce columns by 16"}};
  for (const auto& [reduction, name] : cases) {
    const CheckedModule module = Load(Text(reduction));
    absl::StatusOr<Executable> executable = Executable::Make(module, Engine::kFast, {}, TestDevices()[0]);
    ASSERT_TRUE(executable.ok()) << executable.status();
    Names observer;
    EvaluateOptions options;
    options.observer = &observer;
    ASSERT_TRUE(executable->Run({Numbers(*ParseElementType(reduction.type), reduction.dims)}, options).ok());
    EXPECT_EQ(observer.names, std::vector<std::string>{name});
  }
}

}  // namespace
}  // namespace hlo::gpu_reduce_test
