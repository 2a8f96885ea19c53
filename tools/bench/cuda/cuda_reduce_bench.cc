// Sums beside CUB's: all of an array, and rows of it.

#include <cmath>
#include <random>
#include <variant>

#include "cub_calls.h"
#include "kernels/cuda/lower_reduce.h"
#include "plan/plan.h"
#include "programs.h"

namespace hlo::bench {
namespace {

// The one reduction of a plan, with its memory by slot.
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
void ReduceCase(const char* type, int64_t rows, int64_t n, const device::DeviceProperties& device,
                Table& table, cudaStream_t stream) {
  const std::string element = type, dims = std::to_string(rows) + "," + std::to_string(n);
  const CheckedModule checked =
      ModuleOf("c { a = " + element + "[] parameter(0)\n b = " + element +
               "[] parameter(1)\n ROOT r = " + element + "[] add(a, b) }\nENTRY e { x = " + element + "[" +
               dims + "] parameter(0)\n z = " + element + "[] parameter(1)\n ROOT r = " + element + "[" +
               std::to_string(rows) + "] reduce(x, z), dimensions={1}, to_apply=c }");
  BoundReduce kernel(checked, device);
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  std::vector<T> values(static_cast<size_t>(rows * n));
  for (T& x : values)
    x = static_cast<T>(std::is_integral_v<T> ? static_cast<float>(random() % 100) : normal(random));
  std::vector<ArraySet> sets =
      MakeSets({BytesOf(values), BytesOf(std::vector<T>{T{0}})}, {static_cast<size_t>(rows) * sizeof(T)});
  std::vector<int> begins(static_cast<size_t>(rows) + 1);
  for (size_t r = 0; r < begins.size(); ++r) begins[r] = static_cast<int>(static_cast<int64_t>(r) * n);
  DeviceArray device_begins(begins.size() * 4);
  device_begins.Set(begins.data());
  const auto call = [&](void* scratch, size_t& bytes, size_t i) {
    ArraySet& set = sets[i % sets.size()];
    const T* in = static_cast<const T*>(set.operands[0].data());
    T* out = static_cast<T*>(set.library_results[0].data());
    if (rows == 1) return CubReduce(scratch, bytes, in, out, n, stream);
    return CubReduceRows(scratch, bytes, in, out, rows, static_cast<const int*>(device_begins.data()),
                         stream);
  };
  size_t scratch_bytes = 0;
  Require(call(nullptr, scratch_bytes, 0), "asking for scratch");
  DeviceArray scratch(scratch_bytes);
  Report report{"sum " + element + " " + dims, kernel.name(), "cub"};
  report.bytes = static_cast<double>(values.size() * sizeof(T));
  report.same_bits = RepeatsItself(kernel, sets[0], stream);
  const std::vector<T> got = sets[0].results[0].Get<T>();
  for (int64_t r = 0; r < rows; ++r) {
    long double sum = 0, magnitude = 0;
    for (int64_t i = r * n; i < (r + 1) * n; ++i) {
      sum += static_cast<long double>(values[i]);
      magnitude += std::abs(static_cast<long double>(values[i]));
    }
    if constexpr (std::is_integral_v<T>) {
      if (static_cast<long double>(got[r]) != sum) report.error_of_bound = 2;
    } else {
      const long double unit = sizeof(T) == 4 ? 0x1p-24L : 0x1p-53L;
      const long double depth = 64 + std::log2(static_cast<double>(n));
      report.error_of_bound = std::max(
          report.error_of_bound, static_cast<double>(std::abs(got[r] - sum) / (depth * unit * magnitude)));
    }
  }
  table.Add(report, TimeInTurns({[&](size_t i) { kernel.Run(sets[i % sets.size()], stream); },
                                 [&](size_t i) {
                                   size_t bytes = scratch.bytes();
                                   Require(call(scratch.data(), bytes, i), "cub reduce");
                                 }},
                                stream));
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) {
  using namespace hlo::bench;
  const hlo::device::DeviceProperties device = DeviceOrSkip();
  cudaStream_t stream;
  Require(cudaStreamCreate(&stream), "cudaStreamCreate");
  Table table(argc, argv, CopyCeiling(stream));
  for (const auto& [rows, n] :
       {std::pair<int64_t, int64_t>(1, 1 << 28), {1 << 20, 256}, {4096, 65536}, {64, 1 << 22}}) {
    ReduceCase<float>("f32", rows, n, device, table, stream);
    ReduceCase<int32_t>("s32", rows, n, device, table, stream);
  }
  ReduceCase<double>("f64", 1, 1 << 27, device, table, stream);
  return table.status();
}
