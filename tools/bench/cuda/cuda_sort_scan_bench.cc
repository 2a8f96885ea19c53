// Benchmarks sorts and prefix sums against CUB.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "cub_calls.h"
#include "programs.h"

namespace hlo::bench {
namespace {

// A library call with its own scratch memory: call(scratch, bytes) returns the size if scratch is null.
template <class Call>
std::function<void(size_t)> Library(const char* name, DeviceArray& scratch, Call call) {
  return [name, &scratch, call](size_t i) {
    size_t bytes = scratch.bytes();
    Require(call(scratch.data(), bytes, i), name);
  };
}
template <class Call>
DeviceArray ScratchOf(Call call) {
  size_t bytes = 0;
  Require(call(nullptr, bytes, size_t{0}), "asking for scratch");
  return DeviceArray(bytes);
}

template <class T>
std::vector<T> RandomKeys(int64_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    return Normals<T>(n, 7);
  } else {
    std::vector<T> keys(static_cast<size_t>(n));
    Fill(keys.data(), n, [](int64_t i) { return static_cast<T>(BitsAt(7, i)); });
    return keys;
  }
}

// Adds the hashes of the keys, which an order does not change.
template <class T>
uint64_t Checksum(absl::Span<const T> keys) {
  uint64_t sum = 0;
  for (const T key : keys) {
    uint64_t bits = 0;
    std::memcpy(&bits, &key, sizeof key);
    sum += BitsAt(3, static_cast<int64_t>(bits));
  }
  return sum;
}
template <class T>
bool IsSorted(absl::Span<const T> keys, absl::Span<const T> got) {
  return std::is_sorted(got.begin(), got.end()) && Checksum(keys) == Checksum(got);
}
// True if the positions are those of the sorted keys in rows of n and equal keys keep their order, so that no
// position occurs twice.
template <class T>
bool IsStablySorted(const std::vector<T>& keys, const std::vector<T>& got,
                    const std::vector<int32_t>& positions, size_t n) {
  for (size_t i = 0; i < got.size(); ++i) {
    const int32_t p = positions[i];
    if (p < 0 || static_cast<size_t>(p) >= keys.size() || keys[static_cast<size_t>(p)] != got[i] ||
        static_cast<size_t>(p) / n != i / n)
      return false;
    if (i % n > 0 && got[i] == got[i - 1] && p <= positions[i - 1]) return false;
  }
  return true;
}

template <class T>
void SortCase(const char* type, int64_t rows, int64_t n, bool pairs, const device::DeviceProperties& device,
              Table& table, cudaStream_t stream) {
  const std::string dims = std::to_string(rows) + "," + std::to_string(n), element = type;
  Report report{"sort " + element + (pairs ? " pairs " : " ") + dims, "", "cub"};
  if (!table.IsSelected(report.name)) return;
  const std::string array = element + "[" + dims + "]", places = "s32[" + dims + "]";
  const CheckedModule checked = ModuleOf(
      "c { a = " + element + "[] parameter(0)\n b = " + element + "[] parameter(1)\n" +
      (pairs ? " i = s32[] parameter(2)\n j = s32[] parameter(3)\n" : "") +
      " ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }\n" + "ENTRY e { x = " + array +
      " parameter(0)\n" + (pairs ? " y = " + places + " parameter(1)\n" : "") +
      " ROOT r = " + (pairs ? "(" + array + ", " + places + ")" : array) + " sort(x" + (pairs ? ", y" : "") +
      "), dimensions={1}, is_stable=true, to_apply=c }");
  BoundKernel kernel = KernelOf(checked, device);
  std::vector<T> keys = RandomKeys<T>(rows * n);
  std::vector<int32_t> numbers(keys.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<std::vector<std::byte>> operands = {BytesOf(keys)};
  std::vector<size_t> results = {keys.size() * sizeof(T)};
  if (pairs) operands.push_back(BytesOf(numbers)), results.push_back(numbers.size() * 4);
  std::vector<ArraySet> sets = MakeSets(operands, results);
  std::vector<int> offsets(static_cast<size_t>(rows) + 1);
  for (size_t r = 0; r < offsets.size(); ++r) offsets[r] = static_cast<int>(static_cast<int64_t>(r) * n);
  DeviceArray device_offsets(offsets.size() * 4);
  device_offsets.Set(offsets.data());
  const auto call = [&](void* scratch, size_t& bytes, size_t i) {
    ArraySet& set = sets[i % sets.size()];
    const T* in = static_cast<const T*>(set.operands[0].data());
    T* out = static_cast<T*>(set.library_results[0].data());
    const int* begin = static_cast<const int*>(device_offsets.data());
    if (!pairs) {
      return rows > 1 ? CubSortRows(scratch, bytes, in, out, rows * n, rows, begin, stream)
                      : CubSort(scratch, bytes, in, out, n, stream);
    }
    const auto* numbers_in = static_cast<const int32_t*>(set.operands[1].data());
    auto* numbers_out = static_cast<int32_t*>(set.library_results[1].data());
    return rows > 1 ? CubSortRowPairs(scratch, bytes, in, out, numbers_in, numbers_out, rows * n, rows, begin,
                                      stream)
                    : CubSortPairs(scratch, bytes, in, out, numbers_in, numbers_out, n, stream);
  };
  DeviceArray scratch = ScratchOf(call);
  report.kernel = kernel.name();
  report.bytes = 2.0 * static_cast<double>(results[0] + (pairs ? results[1] : 0));
  report.same_bits = GivesSameBitsTwice(kernel, sets[0], stream);
  const std::vector<T> got = sets[0].results[0].Get<T>();
  bool right =
      pairs ? IsStablySorted(keys, got, sets[0].results[1].Get<int32_t>(), static_cast<size_t>(n)) : true;
  for (int64_t r = 0; r < rows; ++r)
    right &=
        IsSorted(absl::MakeConstSpan(keys).subspan(r * n, n), absl::MakeConstSpan(got).subspan(r * n, n));
  report.error_of_bound = right ? 0 : 2;
  table.Add(report, TimeInterleaved({[&](size_t i) { kernel.Run(sets[i % sets.size()], stream); },
                                     Library("cub sort", scratch, call)},
                                    stream));
}

template <class T>
void ScanCase(const char* type, int64_t n, const device::DeviceProperties& device, Table& table,
              cudaStream_t stream) {
  const std::string element = type, count = std::to_string(n), array = element + "[" + count + "]";
  Report report{"cumulative sum " + array, "", "cub"};
  if (!table.IsSelected(report.name)) return;
  const CheckedModule checked = ModuleOf(
      "c { a = " + element + "[] parameter(0)\n b = " + element + "[] parameter(1)\n ROOT r = " + element +
      "[] add(a, b) }\nENTRY e { x = " + array + " parameter(0)\n z = " + element +
      "[] parameter(1)\n ROOT r = " + array + " reduce-window(x, z), window={size=" + count +
      " pad=" + std::to_string(n - 1) + "_0}, to_apply=c }");
  BoundKernel kernel = KernelOf(checked, device);
  const std::vector<T> values = RandomKeys<T>(n), zero = {T{0}};
  std::vector<ArraySet> sets = MakeSets({BytesOf(values), BytesOf(zero)}, {values.size() * sizeof(T)});
  const auto call = [&](void* scratch, size_t& bytes, size_t i) {
    ArraySet& set = sets[i % sets.size()];
    return CubSums(scratch, bytes, static_cast<const T*>(set.operands[0].data()),
                   static_cast<T*>(set.library_results[0].data()), n, stream);
  };
  DeviceArray scratch = ScratchOf(call);
  report.kernel = kernel.name();
  report.bytes = 2.0 * static_cast<double>(values.size() * sizeof(T));
  report.same_bits = GivesSameBitsTwice(kernel, sets[0], stream);
  const std::vector<T> got = sets[0].results[0].Get<T>();
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  Sum sum = 0;
  double magnitude = 0, worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    if constexpr (std::is_floating_point_v<T>) {
      magnitude += std::abs(static_cast<double>(values[i]));
      const double depth = 64 + static_cast<double>(n) / 2048 / 256;  // Depth of the folds over chunks.
      const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
      worst = std::max(worst, std::abs(static_cast<double>(got[i]) - sum) / (depth * unit * magnitude));
    } else if (got[i] != sum) {
      worst = 2;
    }
  }
  report.error_of_bound = worst;
  table.Add(report, TimeInterleaved({[&](size_t i) { kernel.Run(sets[i % sets.size()], stream); },
                                     Library("cub scan", scratch, call)},
                                    stream));
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) {
  using namespace hlo::bench;
  const Options options(argc, argv, "Measures sorts and cumulative sums against CUB");
  const hlo::device::DeviceProperties device = DeviceOrSkip(options);
  cudaStream_t stream = nullptr;
  if (!options.list()) Require(cudaStreamCreate(&stream), "cudaStreamCreate");
  Table table(options, device, CopyCeiling(options, stream));
  for (const int64_t n : {int64_t{1} << 20, int64_t{1} << 24, int64_t{1} << 28}) {
    SortCase<uint32_t>("u32", 1, n, false, device, table, stream);
    SortCase<uint32_t>("u32", 1, n, true, device, table, stream);
    SortCase<float>("f32", 1, n, false, device, table, stream);
    if (n < int64_t{1} << 28) SortCase<uint64_t>("u64", 1, n, false, device, table, stream);
    ScanCase<int32_t>("s32", n, device, table, stream);
    ScanCase<float>("f32", n, device, table, stream);
    ScanCase<double>("f64", n, device, table, stream);
  }
  SortCase<float>("f32", 16384, 1024, false, device, table, stream);
  SortCase<uint16_t>("u16", 1024, 4096, false, device, table, stream);
  SortCase<uint16_t>("u16", 1024, 4096, true, device, table, stream);
  SortCase<float>("f32", 1024, 512, true, device, table, stream);
  SortCase<float>("f32", 512, 8192, false, device, table, stream);
  return table.status();
}
