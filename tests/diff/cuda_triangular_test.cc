// Tests cholesky and triangular-solve on the emulated GPU against the reference, within a few ULP.

#include "cuda_kernels.h"
#include "triangular_programs.h"

namespace hlo::cuda_triangular_test {
namespace {

void ExpectAgrees(const test::Program& program, const char* name) {
  SCOPED_TRACE(program.text);
  const absl::StatusOr<CheckedModule> module = test::ReadModule("HloModule t\n" + program.text);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Literal> want = Execute(*module, program.arguments, Engine::kReference);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const int32_t schedule : {0, 2}) {
    const absl::StatusOr<test::KernelRun> run =
        test::RunKernel(*module->module().entry()->root(), program.arguments, schedule);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->name.substr(0, std::string_view(name).size()), name);
    const CompareReport report = CompareArrays(run->results[0], *want, test::UnitsOf(want->type()));
    EXPECT_TRUE(report.ok()) << ToString(report, 3);
  }
}

void ExpectFactors(const std::string& type, const std::vector<int64_t>& dims, bool lower,
                   int64_t negative_at = -1) {
  ExpectAgrees(test::Factors(type, dims, lower, negative_at), "cholesky");
}
void ExpectSolves(const std::string& type, const std::vector<int64_t>& batch, int64_t n, int64_t others,
                  const test::Sides& sides) {
  ExpectAgrees(test::Solves(type, batch, n, others, sides), "triangular-solve");
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

TEST(CudaTriangularSolve, AllForms) {
  for (const test::Sides& sides : test::AllSides()) {
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
}  // namespace hlo::cuda_triangular_test
