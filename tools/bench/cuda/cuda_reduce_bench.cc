// Benchmarks sums of arrays and of rows against CUB. Columns, and bf16, which CUB accumulates differently,
// are compared with a copy only.

#include <cmath>
#include <variant>

#include "cub_calls.h"
#include "kernels/cuda/reduce/lower_reduce.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "programs.h"
#include "types/dispatch.h"

namespace hlo::bench {
namespace {

// The single reduction of a plan, with memory by slot.
class BoundReduce {
 public:
  BoundReduce(const CheckedModule& checked, const device::DeviceProperties& device) {
    absl::StatusOr<plan::Plan> made = plan::MakePlan(checked);
    Require(made.status());
    plan_ = *std::move(made);
    const auto* step =
        plan_.steps.empty() ? nullptr : std::get_if<plan::ReduceStep>(&plan_.steps.back().what);
    if (step == nullptr) Require(absl::UnimplementedError("the plan has no reduction"));
    absl::StatusOr<cuda::LoweredProgram> lowered = cuda::LowerReduce(step->program, device);
    Require(lowered.status());
    lowered_ = *std::move(lowered);
    workspace_.emplace_back(static_cast<size_t>(lowered_.workspace_bytes));
    for (const plan::Buffer& buffer : plan_.buffers)
      arena_.emplace_back(static_cast<size_t>(std::max<int64_t>(buffer.byte_count, 16)));
  }
  const std::string& name() const { return lowered_.name; }
  void Run(ArraySet& set, cudaStream_t stream) {
    std::vector<void*> pointers;
    for (size_t slot = 0; slot < plan_.buffers.size(); ++slot) {
      const int32_t parameter = plan_.buffers[slot].parameter;
      const bool is_result = plan_.results[0] == static_cast<plan::Slot>(slot);
      pointers.push_back(is_result        ? set.results[0].data()
                         : parameter >= 0 ? set.operands[static_cast<size_t>(parameter)].data()
                                          : arena_[slot].data());
    }
    Require(lowered_.run(pointers.data(), workspace_[0].data(), {stream}));
  }

 private:
  plan::Plan plan_;
  cuda::LoweredProgram lowered_;
  std::vector<DeviceArray> arena_, workspace_;
};

template <class T>
long double ValueOf(T x) {
  if constexpr (requires { x.ToFloat(); })
    return x.ToFloat();
  else
    return static_cast<long double>(x);
}

// `rows` sums of n elements each, which are contiguous or, as columns, have stride `rows`.
struct Sums {
  const char* type;
  int64_t rows, n;
  bool columns = false;

  std::string Dims() const {
    return std::to_string(columns ? n : rows) + "," + std::to_string(columns ? rows : n);
  }
  std::string Text() const {
    const std::string t = type;
    return "c { a = " + t + "[] parameter(0)\n b = " + t + "[] parameter(1)\n ROOT r = " + t +
           "[] add(a, b) }\nENTRY e { x = " + t + "[" + Dims() + "] parameter(0)\n z = " + t +
           "[] parameter(1)\n ROOT r = " + t + "[" + std::to_string(rows) + "] reduce(x, z), dimensions={" +
           (columns ? "0" : "1") + "}, to_apply=c }";
  }
};

// Returns the largest error of some sums relative to the bound.
template <class T>
double ErrorOf(const Sums& sums, const std::vector<T>& values, const std::vector<T>& got) {
  constexpr bool kExact = std::is_integral_v<T>;
  const long double unit = sizeof(T) == 8 ? 0x1p-53L : 0x1p-24L, rounding = sizeof(T) == 2 ? 0x1p-8L : 0;
  const long double depth = 64 + std::log2(static_cast<double>(sums.n));
  double worst = 0;
  const int64_t step = sums.rows > 65536 ? 61 : 1;
  for (int64_t r = 0; r < sums.rows; r += step) {
    long double sum = 0, magnitude = 0;
    for (int64_t i = 0; i < sums.n; ++i) {
      const long double x = ValueOf(values[sums.columns ? i * sums.rows + r : r * sums.n + i]);
      sum += x;
      magnitude += std::abs(x);
    }
    const long double bound = kExact ? 0.5L : depth * unit * magnitude + rounding * std::abs(sum);
    worst = std::max(worst, static_cast<double>(std::abs(ValueOf(got[r]) - sum) / bound));
  }
  return worst;
}

using LibraryRun = std::function<cudaError_t(void* scratch, size_t& bytes, size_t i)>;

// Empty if CUB is not measured.
template <class T>
LibraryRun CubRun(const Sums& sums, std::vector<ArraySet>& sets, const DeviceArray& begins,
                  cudaStream_t stream) {
  if constexpr (sizeof(T) == 2) {
    return {};
  } else {
    if (sums.columns) return {};
    return [&sums, &sets, &begins, stream](void* scratch, size_t& bytes, size_t i) {
      ArraySet& set = sets[i % sets.size()];
      const T* in = static_cast<const T*>(set.operands[0].data());
      T* out = static_cast<T*>(set.library_results[0].data());
      if (sums.rows == 1) return CubReduce(scratch, bytes, in, out, sums.n, stream);
      return CubReduceRows(scratch, bytes, in, out, sums.rows, static_cast<const int*>(begins.data()),
                           stream);
    };
  }
}

template <class T>
void ReduceCase(const Sums& sums, const device::DeviceProperties& device, Table& table, cudaStream_t stream) {
  Report report{std::string("sum ") + sums.type + " " + sums.Dims() + (sums.columns ? " columns" : ""), "",
                ""};
  if (!table.IsSelected(report.name)) return;
  const CheckedModule checked = ModuleOf(sums.Text());
  BoundReduce kernel(checked, device);
  std::vector<T> values;
  if constexpr (std::is_integral_v<T>) {
    values.resize(static_cast<size_t>(sums.rows * sums.n));
    Fill(values.data(), sums.rows * sums.n, [](int64_t i) { return static_cast<T>(BitsAt(9, i) % 7); });
  } else {
    values = Normals<T>(sums.rows * sums.n, 9);
  }
  const std::vector<T> zero(1);
  std::vector<ArraySet> sets =
      MakeSets({BytesOf(values), BytesOf(zero)}, {static_cast<size_t>(sums.rows) * sizeof(T)});
  std::vector<int> begins(static_cast<size_t>(sums.rows) + 1);
  for (size_t r = 0; r < begins.size(); ++r) begins[r] = static_cast<int>(static_cast<int64_t>(r) * sums.n);
  DeviceArray device_begins(begins.size() * 4);
  device_begins.Set(begins.data());
  const LibraryRun library = CubRun<T>(sums, sets, device_begins, stream);
  size_t scratch_bytes = 0;
  if (library) Require(library(nullptr, scratch_bytes, 0), "asking for scratch");
  DeviceArray scratch(scratch_bytes);
  report.kernel = kernel.name();
  report.library = library ? "cub" : "copy";
  report.bytes = static_cast<double>(values.size() * sizeof(T));
  report.same_bits = GivesSameBitsTwice(kernel, sets[0], stream);
  report.error_of_bound = ErrorOf(sums, values, sets[0].results[0].Get<T>());
  std::vector<std::function<void(size_t)>> contenders = {
      [&](size_t i) { kernel.Run(sets[i % sets.size()], stream); }};
  if (library) {
    contenders.push_back([&](size_t i) {
      size_t bytes = scratch.bytes();
      Require(library(scratch.data(), bytes, i), "cub reduce");
    });
  }
  table.Add(report, TimeInterleaved(contenders, stream));
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) {
  using namespace hlo::bench;
  const Options options(argc, argv, "Measures reductions against CUB");
  const hlo::device::DeviceProperties device = DeviceOrSkip(options);
  cudaStream_t stream = nullptr;
  if (!options.list()) Require(cudaStreamCreate(&stream), "cudaStreamCreate");
  Table table(options, device, CopyCeiling(options, stream));
  using BF16 = hlo::Native<hlo::ElementType::kBF16>;
  for (const auto& [rows, n] :
       {std::pair<int64_t, int64_t>(1, 1 << 28), {1 << 20, 256}, {4096, 65536}, {64, 1 << 22}}) {
    ReduceCase<float>({"f32", rows, n}, device, table, stream);
    ReduceCase<int32_t>({"s32", rows, n}, device, table, stream);
    ReduceCase<BF16>({"bf16", rows, n}, device, table, stream);
    if (rows == 1) continue;
    ReduceCase<float>({"f32", rows, n, true}, device, table, stream);
    ReduceCase<BF16>({"bf16", rows, n, true}, device, table, stream);
  }
  ReduceCase<double>({"f64", 1, 1 << 27}, device, table, stream);
  return table.status();
}
