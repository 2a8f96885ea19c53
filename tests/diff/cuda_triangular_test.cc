// cholesky and triangular-solve on the emulated GPU, beside the reference: within a few units of the type.

#include "cuda_kernels.h"
#include "fmt/format.h"

namespace hlo {
namespace {

// Element (i, j) of each matrix becomes value(i, j, element).
template <class Value>
void Change(Literal& matrices, Value&& value) {
  const int64_t n = matrices.dim(matrices.rank() - 1), rows = matrices.dim(matrices.rank() - 2);
  DispatchType(matrices.type(), [&]<ElementType kType>() {
    using N = Native<kType>;
    auto elements = matrices.mutable_span<N>();
    for (int64_t x = 0; x < matrices.element_count(); ++x) {
      const std::complex<double> v = value(x / n % rows, x % n, test::ValueOf<kType>(elements[x]));
      if constexpr (requires(N e) { e.ToFloat(); })
        elements[x] = N::FromDouble(v.real());
      else if constexpr (std::is_floating_point_v<N>)
        elements[x] = static_cast<N>(v.real());
      else if constexpr (requires(N e) { e.imag(); })
        elements[x] =
            N(static_cast<typename N::value_type>(v.real()), static_cast<typename N::value_type>(v.imag()));
    }
  });
}

CompareRule RuleOf(ElementType type) {
  const ElementType real = IsComplex(type) ? ComponentType(type) : type;
  const double unit = real == ElementType::kF64 ? 1e-12 : real == ElementType::kF32 ? 0x1p-22 : 0x1p-7;
  return CompareRule::Close(unit, unit);
}

void ExpectAgrees(const std::string& text, const char* name, const std::vector<Literal>& arguments) {
  SCOPED_TRACE(text);
  const absl::StatusOr<CheckedModule> module = test::ReadModule("HloModule t\n" + text);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Literal> want = Execute(*module, arguments, Engine::kReference);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const int32_t schedule : {0, 2}) {
    const absl::StatusOr<test::KernelRun> run =
        test::RunKernel(*module->module().entry()->root(), arguments, schedule);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->name.substr(0, std::string_view(name).size()), name);
    const CompareReport report = CompareArrays(run->results[0], *want, RuleOf(want->type()));
    EXPECT_TRUE(report.ok()) << ToString(report, 3);
  }
}

Literal Matrices(const std::string& type, const std::vector<int64_t>& dims, uint32_t seed) {
  return test::RandomArray(*ParseElementType(type), dims, seed);
}
std::string Text(const std::string& type, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", type, fmt::join(dims, ","));
}

// Positive definite by its diagonal; what lies on the side that is not read has nothing to do with it.
void ExpectFactors(const std::string& type, const std::vector<int64_t>& dims, bool lower,
                   int64_t negative_at = -1) {
  Literal a = Matrices(type, dims, 3);
  const int64_t n = dims.back();
  bool is_first = true;
  Change(a, [&](int64_t i, int64_t j, std::complex<double> v) -> std::complex<double> {
    if (lower ? j > i : j < i) return 77;
    if (i != j) return v / 4.0;
    // Of the first matrix alone.
    if (i == negative_at && std::exchange(is_first, false)) return -1;
    return {static_cast<double>(n) + 2, 0};
  });
  const std::string shape = Text(type, dims);
  ExpectAgrees(
      fmt::format("ENTRY e {{ a = {0} parameter(0) ROOT r = {0} cholesky(a), lower={1} }}", shape, lower),
      "cholesky", {a});
}

TEST(CudaCholesky, OneBlockAndMany) {
  for (const std::string type : {"f64", "c128"}) {
    for (const int64_t n : {0, 1, 2, 31, 32, 33, 64, 65, 150}) {
      ExpectFactors(type, {n, n}, true);
      ExpectFactors(type, {n, n}, false);
    }
  }
}

TEST(CudaCholesky, TypesAndBatches) {
  for (const std::string type : {"f32", "c64", "bf16", "f16"}) {
    ExpectFactors(type, {2, 3, 7, 7}, true);
    ExpectFactors(type, {3, 70, 70}, false);
  }
  ExpectFactors("f32", {0, 5, 5}, true);
}

TEST(CudaCholesky, AMatrixThatHasNoFactor) {
  for (const std::string type : {"f32", "c128"}) {
    for (const int64_t at : {0, 40, 68}) ExpectFactors(type, {3, 70, 70}, true, at);
  }
}

struct Sides {
  bool left, lower, unit_diagonal;
  const char* op;
};
std::vector<Sides> AllSides() {
  std::vector<Sides> all;
  for (const char* op : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
    for (int bits = 0; bits < 8; ++bits)
      all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, op});
  }
  return all;
}

void ExpectSolves(const std::string& type, std::vector<int64_t> batch, int64_t n, int64_t others,
                  const Sides& sides) {
  std::vector<int64_t> a_dims = batch, b_dims = batch;
  a_dims.insert(a_dims.end(), {n, n});
  b_dims.insert(b_dims.end(), {sides.left ? n : others, sides.left ? others : n});
  Literal a = Matrices(type, a_dims, 5);
  Change(a, [&](int64_t i, int64_t j, std::complex<double> v) -> std::complex<double> {
    if (i == j) return sides.unit_diagonal ? 99 : v + (v.real() < 0 ? -1.0 : 1.0);
    return (sides.lower ? j > i : j < i) ? 77 : v / static_cast<double>(n);
  });
  ExpectAgrees(
      fmt::format("ENTRY e {{ a = {} parameter(0) b = {} parameter(1) ROOT r = {} triangular-solve(a, b), "
                  "left_side={}, lower={}, unit_diagonal={}, transpose_a={} }}",
                  Text(type, a_dims), Text(type, b_dims), Text(type, b_dims), sides.left, sides.lower,
                  sides.unit_diagonal, sides.op),
      "triangular-solve", {a, Matrices(type, b_dims, 6)});
}

TEST(CudaTriangularSolve, AllForms) {
  for (const Sides& sides : AllSides()) {
    ExpectSolves("f64", {}, 70, 5, sides);
    ExpectSolves("c128", {2}, 35, 3, sides);
  }
}

TEST(CudaTriangularSolve, SizesAndTypes) {
  for (const std::string type : {"f64", "c64", "f32", "bf16"}) {
    for (const int64_t n : {1, 7, 64, 129}) {
      for (const int64_t others : {1, 67}) {
        ExpectSolves(type, {}, n, others, {true, true, false, "NO_TRANSPOSE"});
        ExpectSolves(type, {3}, n, others, {false, true, false, "NO_TRANSPOSE"});
      }
    }
  }
  ExpectSolves("f32", {}, 5, 0, {true, true, false, "NO_TRANSPOSE"});
  ExpectSolves("f32", {2}, 0, 3, {true, true, false, "NO_TRANSPOSE"});
  ExpectSolves("f32", {0}, 4, 3, {true, true, false, "NO_TRANSPOSE"});
}

}  // namespace
}  // namespace hlo
