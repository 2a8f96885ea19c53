// Benchmarks dot against cuBLAS and cuBLASLt on relevant sizes: square, flat, batched, all operand layouts.
// Sampled elements are checked against sums in double.

#include <cublasLt.h>
#include <cublas_v2.h>

#include <cmath>
#include <optional>
#include <random>

#include "bench.h"
#include "types/dispatch.h"

namespace hlo::bench {
namespace {

struct DotCase {
  ElementType type, result;
  int64_t batch, m, n, k;
  bool lhs_transposed = false, rhs_transposed = false;
  std::string algorithm = "";
};

std::string Name(const DotCase& c) {
  return fmt::format("dot {}{} {}{}x{}x{} {}{}{}", Name(c.type),
                     c.result == c.type ? "" : fmt::format("->{}", Name(c.result)),
                     c.batch > 1 ? fmt::format("{}x ", c.batch) : "", c.m, c.n, c.k,
                     c.lhs_transposed ? "t" : "n", c.rhs_transposed ? "t" : "n",
                     c.algorithm.empty() ? "" : " " + c.algorithm);
}

std::string Text(const DotCase& c) {
  const auto shape = [&](ElementType type, int64_t rows, int64_t columns) {
    return fmt::format("{}[{},{},{}]", Name(type), c.batch, rows, columns);
  };
  return fmt::format(
      "ENTRY e {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT r = {} dot(a, b), "
      "lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{{}}}, "
      "rhs_contracting_dims={{{}}}{}\n}}\n",
      c.lhs_transposed ? shape(c.type, c.k, c.m) : shape(c.type, c.m, c.k),
      c.rhs_transposed ? shape(c.type, c.n, c.k) : shape(c.type, c.k, c.n), shape(c.result, c.m, c.n),
      c.lhs_transposed ? 1 : 2, c.rhs_transposed ? 2 : 1,
      c.algorithm.empty() ? "" : ", algorithm=" + c.algorithm);
}

double ValueAt(ElementType type, const std::byte* data, int64_t i) {
  return DispatchType(type, [&]<ElementType kType>() -> double {
    using N = Native<kType>;
    const N value = reinterpret_cast<const N*>(data)[i];
    if constexpr (requires { value.ToFloat(); })
      return value.ToFloat();
    else if constexpr (std::is_arithmetic_v<N>)
      return static_cast<double>(value);
    else
      return std::real(value);
  });
}

bool HasShortSums(const DotCase& c) { return c.algorithm == "dot_any_f8_any_f8_f32_fast_accum"; }

// Returns the largest error of 256 elements relative to the bound of accumulation in f32 (f64) and one
// rounding. Accumulators of fewer bits lose about 2^-11 of their magnitude per step.
double WorstError(const DotCase& c, const Arrays& arrays, const void* result) {
  const int64_t count = c.batch * c.m * c.n;
  std::vector<std::byte> host(static_cast<size_t>(count * ByteCount(c.result)));
  HLO_BENCH_CHECK(cudaMemcpy(host.data(), result, host.size(), cudaMemcpyDeviceToHost));
  const double unit = c.type == ElementType::kF64 ? 0x1p-53 : 0x1p-24;
  const double rounding = c.result == ElementType::kBF16  ? 0x1p-8
                          : c.result == ElementType::kF16 ? 0x1p-11
                                                          : 0;
  std::mt19937_64 random(5);
  double worst = 0;
  for (int s = 0; s < 256; ++s) {
    const auto place = static_cast<int64_t>(random() % static_cast<uint64_t>(count));
    const int64_t b = place / (c.m * c.n), i = place / c.n % c.m, j = place % c.n;
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < c.k; ++k) {
      const double term = ValueAt(c.type, arrays.host(0).data(),
                                  b * c.m * c.k + (c.lhs_transposed ? k * c.m + i : i * c.k + k)) *
                          ValueAt(c.type, arrays.host(1).data(),
                                  b * c.n * c.k + (c.rhs_transposed ? j * c.k + k : k * c.n + j));
      sum += term;
      magnitude += std::fabs(term);
    }
    const double lost = HasShortSums(c) ? 0x1p-10 : std::max<double>(static_cast<double>(c.k), 5) * unit;
    const double bound = lost * magnitude + rounding * std::fabs(sum);
    const double error = std::fabs(ValueAt(c.result, host.data(), place) - sum);
    worst = std::isnan(error) ? INFINITY : std::max(worst, bound > 0 ? error / bound : error);
  }
  return worst;
}

cudaDataType_t CudaType(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return CUDA_R_64F;
    case ElementType::kF32:
      return CUDA_R_32F;
    case ElementType::kF16:
      return CUDA_R_16F;
    case ElementType::kBF16:
      return CUDA_R_16BF;
    case ElementType::kF8E4M3FN:
      return CUDA_R_8F_E4M3;
    case ElementType::kS8:
      return CUDA_R_8I;
    default:
      return CUDA_R_32I;
  }
}

// cuBLAS is column-major: it computes the product of the transposes in reverse order.
class Blas {
 public:
  Blas() {
    HLO_BENCH_CHECK(cublasCreate(&handle_));
    HLO_BENCH_CHECK(cublasLtCreate(&lt_));
  }
  ~Blas() {
    cublasDestroy(handle_);
    cublasLtDestroy(lt_);
  }

  Run Plain(const DotCase& c, const Arrays& arrays) {
    const bool wide = c.type == ElementType::kF64;
    return [=, this, &arrays](size_t s) {
      const double one = 1, zero = 0;
      const float one_f = 1, zero_f = 0;
      const Arrays::Set& set = arrays[s];
      HLO_BENCH_CHECK(cublasGemmStridedBatchedEx(
          handle_, c.rhs_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, c.lhs_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
          static_cast<int>(c.n), static_cast<int>(c.m), static_cast<int>(c.k),
          wide ? static_cast<const void*>(&one) : &one_f, set.operands[1].data(), CudaType(c.type),
          static_cast<int>(c.rhs_transposed ? c.k : c.n), c.n * c.k, set.operands[0].data(), CudaType(c.type),
          static_cast<int>(c.lhs_transposed ? c.m : c.k), c.m * c.k,
          wide ? static_cast<const void*>(&zero) : &zero_f, set.theirs.data(), CudaType(c.result),
          static_cast<int>(c.n), c.m * c.n, static_cast<int>(c.batch),
          wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT));
    };
  }

  // Returns the fastest of its eight best heuristics, with 64 MB of workspace; empty if there is none.
  Run Light(const DotCase& c, const Arrays& arrays) {
    const bool integers = c.type == ElementType::kS8;
    cublasLtMatmulDesc_t operation;
    HLO_BENCH_CHECK(cublasLtMatmulDescCreate(&operation, integers ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F,
                                             integers ? CUDA_R_32I : CUDA_R_32F));
    const cublasOperation_t first = c.rhs_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                            second = c.lhs_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    HLO_BENCH_CHECK(
        cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
    HLO_BENCH_CHECK(
        cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
    const auto short_sums = static_cast<int8_t>(HasShortSums(c));
    HLO_BENCH_CHECK(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &short_sums,
                                                   sizeof short_sums));
    const auto layout = [&](ElementType type, int64_t rows, int64_t columns) {
      cublasLtMatrixLayout_t made;
      HLO_BENCH_CHECK(cublasLtMatrixLayoutCreate(&made, CudaType(type), static_cast<uint64_t>(rows),
                                                 static_cast<uint64_t>(columns), rows));
      const auto count = static_cast<int32_t>(c.batch);
      const int64_t stride = rows * columns;
      HLO_BENCH_CHECK(
          cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
      HLO_BENCH_CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                       &stride, sizeof stride));
      return made;
    };
    const cublasLtMatrixLayout_t b = c.rhs_transposed ? layout(c.type, c.k, c.n) : layout(c.type, c.n, c.k);
    const cublasLtMatrixLayout_t a = c.lhs_transposed ? layout(c.type, c.m, c.k) : layout(c.type, c.k, c.m);
    const cublasLtMatrixLayout_t d = layout(c.result, c.n, c.m);
    cublasLtMatmulPreference_t preference;
    HLO_BENCH_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const size_t workspace_bytes = kWorkspaceBytes;
    HLO_BENCH_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                         &workspace_bytes, sizeof workspace_bytes));
    cublasLtMatmulHeuristicResult_t found[8];
    int count = 0;
    if (cublasLtMatmulAlgoGetHeuristic(lt_, operation, b, a, d, d, preference, 8, found, &count) !=
        CUBLAS_STATUS_SUCCESS)
      return {};
    Run best;
    double best_ms = INFINITY;
    for (int i = 0; i < count; ++i) {
      const Run run = [=, this, &arrays, algorithm = found[i].algo](size_t s) {
        const float one = 1, zero = 0;
        const int32_t one_i = 1, zero_i = 0;
        const Arrays::Set& set = arrays[s];
        HLO_BENCH_CHECK(cublasLtMatmul(lt_, operation, integers ? static_cast<const void*>(&one_i) : &one,
                                       set.operands[1].data(), b, set.operands[0].data(), a,
                                       integers ? static_cast<const void*>(&zero_i) : &zero,
                                       set.theirs.data(), d, set.theirs.data(), d, &algorithm,
                                       workspace_.data(), kWorkspaceBytes, nullptr));
      };
      const double ms = Measure(run, {}).ours;
      if (ms >= best_ms) continue;
      best_ms = ms;
      best = run;
    }
    return best;
  }

 private:
  static constexpr int64_t kWorkspaceBytes = 64 << 20;
  cublasHandle_t handle_ = nullptr;
  cublasLtHandle_t lt_ = nullptr;
  DeviceArray workspace_{static_cast<size_t>(kWorkspaceBytes)};
};

// The type whose multiplications a dot takes, and how many for each of its own.
ElementType UnitOf(const DotCase& c) {
  return c.type == ElementType::kF32 && !c.algorithm.empty() ? ElementType::kBF16 : c.type;
}
double ProductsOf(const DotCase& c) {
  if (c.algorithm == "dot_tf32_tf32_f32") return 2;  // They take as long as two.
  if (c.algorithm.ends_with("_x3")) return 3;
  return c.algorithm.ends_with("_x6") ? 6 : c.algorithm.ends_with("_x9") ? 9 : 1;
}

// Returns true if our result is correct.
bool RunCase(const DotCase& c, const device::DeviceProperties& device, Blas& blas, bool json) {
  const CheckedModule module = ModuleOf(Text(c));
  const Instruction& dot = *module.module().entry()->root();
  const Arrays arrays(dot);
  const OurKernel ours(dot, device);
  const bool plain = c.type == ElementType::kF32 || c.type == ElementType::kF64;
  const Run theirs = plain ? blas.Plain(c, arrays) : blas.Light(c, arrays);
  Row row{.name = Name(c), .kernel = ours.name()};
  ours.Launch(arrays[0]);
  ours.Launch(arrays[1]);
  HLO_BENCH_CHECK(cudaDeviceSynchronize());
  row.error = WorstError(c, arrays, arrays[0].ours.data());
  const auto bytes = static_cast<size_t>(Arrays::DenseBytes(dot.shape()));
  std::vector<std::byte> first(bytes), second(bytes);
  HLO_BENCH_CHECK(cudaMemcpy(first.data(), arrays[0].ours.data(), bytes, cudaMemcpyDeviceToHost));
  HLO_BENCH_CHECK(cudaMemcpy(second.data(), arrays[1].ours.data(), bytes, cudaMemcpyDeviceToHost));
  row.same_bits = first == second;
  if (theirs) {
    theirs(0);
    HLO_BENCH_CHECK(cudaDeviceSynchronize());
    row.their_error = WorstError(c, arrays, arrays[0].theirs.data());
  }
  row.times = Measure([&](size_t s) { ours.Launch(arrays[s]); }, theirs);
  row.operations =
      2.0 * static_cast<double>(c.batch * c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
  row.bytes = static_cast<double>(arrays.host(0).size() + arrays.host(1).size() + bytes);
  row.limiter =
      LimiterOf(row.times.ours, row.bytes, row.operations * ProductsOf(c), PeaksOf(device, UnitOf(c)));
  return Print(row, json);
}

std::vector<DotCase> Cases() {
  using enum ElementType;
  std::vector<DotCase> cases;
  for (int64_t n : {512, 1024, 2048, 4096, 8192}) cases.push_back({kF32, kF32, 1, n, n, n});
  cases.push_back({kF32, kF32, 1, 8192, 8192, 64});
  cases.push_back({kF32, kF32, 1, 64, 8192, 8192});
  cases.push_back({kF32, kF32, 1, 4095, 4093, 4097});
  cases.push_back({kF32, kF32, 1, 4096, 4096, 4096, true, false});
  cases.push_back({kF32, kF32, 1, 4096, 4096, 4096, false, true});
  cases.push_back({kF32, kF32, 64, 512, 512, 512});
  for (int64_t m : {1, 4, 8}) cases.push_back({kF32, kF32, 1, m, 8192, 8192, false, true});
  cases.push_back({kF32, kF32, 1, 1, 8192, 8192});
  for (int64_t n : {1024, 4096, 8192}) cases.push_back({kF64, kF64, 1, n, n, n});
  for (ElementType type : {kBF16, kF16}) {
    for (int64_t n : {1024, 2048, 4096, 8192, 16384}) cases.push_back({type, type, 1, n, n, n});
    cases.push_back({type, type, 1, 8192, 8192, 8192, false, true});
    cases.push_back({type, type, 1, 8192, 8192, 8192, true, false});
    for (int64_t m : {1, 8, 16, 64}) cases.push_back({type, type, 1, m, 8192, 8192, false, true});
  }
  for (int64_t n : {4096, 8192}) {
    cases.push_back({kS8, kS32, 1, n, n, n, false, true});
    cases.push_back({kF8E4M3FN, kBF16, 1, n, n, n, false, true});
    cases.push_back({kF8E4M3FN, kBF16, 1, n, n, n, false, true, "dot_any_f8_any_f8_f32_fast_accum"});
  }
  for (const char* algorithm :
       {"dot_tf32_tf32_f32", "dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6", "dot_bf16_bf16_f32_x9"})
    cases.push_back({kF32, kF32, 1, 4096, 4096, 4096, false, false, algorithm});
  return cases;
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) {
  const hlo::bench::Options options(argc, argv, "Measures dots against cuBLAS and cuBLASLt");
  const hlo::device::DeviceProperties device = hlo::bench::DeviceOrSkip(options);
  std::optional<hlo::bench::Blas> blas;
  bool right = true;
  for (const hlo::bench::DotCase& c : hlo::bench::Cases()) {
    if (!options.IsSelected(hlo::bench::Name(c))) continue;
    if (!blas.has_value()) blas.emplace();
    right &= hlo::bench::RunCase(c, device, *blas, options.json());
  }
  return right ? 0 : 1;
}
