// Benchmarks gather and scatter against a copy of the bytes that they transfer.

#include <random>

#include "programs.h"

namespace hlo::bench {
namespace {

// A copy of the rows that are read or written, as upper bound of the speed.
std::function<void(size_t)> CopyOf(std::vector<ArraySet>& sets, size_t operand, size_t bytes,
                                   cudaStream_t stream, DeviceArray& to) {
  return [&sets, operand, bytes, stream, &to](size_t i) {
    Require(cudaMemcpyAsync(to.data(), sets[i % sets.size()].operands[operand].data(), bytes,
                            cudaMemcpyDeviceToDevice, stream),
            "cudaMemcpy");
  };
}

struct Rows {
  int64_t count, width;  // Number of updates or results, and f32 elements of each.
  int64_t table;         // Rows of the operand.
  std::string text() const { return std::to_string(count) + " rows of " + std::to_string(4 * width) + " B"; }
};

std::vector<int32_t> RandomIndices(const Rows& rows, double duplicates) {
  std::mt19937_64 random(3);
  std::vector<int32_t> indices(static_cast<size_t>(rows.count));
  for (size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<int32_t>(i * (rows.table / rows.count));
  std::shuffle(indices.begin(), indices.end(), random);
  for (int32_t& index : indices) {
    if (static_cast<double>(random() % 1000) < 1000 * duplicates) index = indices[random() % indices.size()];
  }
  return indices;
}
std::vector<float> RandomFloats(int64_t n) { return Normals<float>(n, 4); }
std::string Array(const char* type, int64_t a, int64_t b) {
  return std::string(type) + "[" + std::to_string(a) + "," + std::to_string(b) + "]";
}

void GatherCase(const Rows& rows, const device::DeviceProperties& device, Table& table, cudaStream_t stream) {
  Report report{"gather " + rows.text(), "", "copy"};
  if (!table.IsSelected(report.name)) return;
  const CheckedModule checked = ModuleOf(
      "ENTRY e { x = " + Array("f32", rows.table, rows.width) + " parameter(0)\n i = " +
      Array("s32", rows.count, 1) + " parameter(1)\n ROOT r = " + Array("f32", rows.count, rows.width) +
      " gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
      "slice_sizes={1," +
      std::to_string(rows.width) + "} }");
  BoundKernel kernel = KernelOf(checked, device);
  const std::vector<float> values = RandomFloats(rows.table * rows.width);
  const std::vector<int32_t> indices = RandomIndices(rows, 0);
  const auto bytes = static_cast<size_t>(4 * rows.count * rows.width);
  std::vector<ArraySet> sets = MakeSets({BytesOf(values), BytesOf(indices)}, {bytes});
  report.kernel = kernel.name();
  report.bytes = 2.0 * static_cast<double>(bytes) + 4.0 * static_cast<double>(rows.count);
  report.same_bits = GivesSameBitsTwice(kernel, sets[0], stream);
  const std::vector<float> got = sets[0].results[0].Get<float>();
  for (int64_t i = 0; i < rows.count; ++i) {
    if (std::memcmp(&got[i * rows.width], &values[indices[i] * rows.width], 4 * rows.width) != 0)
      report.error_of_bound = 2;
  }
  DeviceArray to(bytes);
  table.Add(report, TimeInterleaved({[&](size_t i) { kernel.Run(sets[i % sets.size()], stream); },
                                     CopyOf(sets, 0, bytes, stream, to)},
                                    stream));
}

void ScatterCase(const Rows& rows, double duplicates, const device::DeviceProperties& device, Table& table,
                 cudaStream_t stream) {
  const bool unique = duplicates == 0;
  Report report{"scatter-add " + rows.text() +
                    (unique ? "" : ", " + std::to_string(static_cast<int>(100 * duplicates)) + "% again"),
                "", "copy"};
  if (!table.IsSelected(report.name)) return;
  const std::string operand = Array("f32", rows.table, rows.width);
  const CheckedModule checked = ModuleOf(
      "c { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\nENTRY e { x = " +
      operand + " parameter(0)\n i = " + Array("s32", rows.count, 1) +
      " parameter(1)\n u = " + Array("f32", rows.count, rows.width) + " parameter(2)\n ROOT r = " + operand +
      " scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, to_apply=c" +
      (unique ? ", unique_indices=true }" : " }"));
  BoundKernel kernel = KernelOf(checked, device);
  std::vector<float> values = RandomFloats(rows.table * rows.width);
  const std::vector<float> updates = RandomFloats(rows.count * rows.width);
  const std::vector<int32_t> indices = RandomIndices(rows, duplicates);
  std::vector<ArraySet> sets =
      MakeSets({BytesOf(values), BytesOf(indices), BytesOf(updates)}, {values.size() * sizeof(float)});
  report.kernel = kernel.name();
  report.bytes = 2.0 * 4 * static_cast<double>(values.size()) + 3.0 * 4 * static_cast<double>(updates.size());
  report.same_bits = GivesSameBitsTwice(kernel, sets[0], stream);
  for (int64_t i = 0; i < rows.count; ++i) {
    for (int64_t k = 0; k < rows.width; ++k)
      values[indices[i] * rows.width + k] += updates[i * rows.width + k];
  }
  report.error_of_bound = sets[0].results[0].Get<float>() == values ? 0 : 2;
  const size_t bytes = updates.size() * sizeof(float);
  DeviceArray to(bytes);
  table.Add(report, TimeInterleaved({[&](size_t i) { kernel.Run(sets[i % sets.size()], stream); },
                                     CopyOf(sets, 2, bytes, stream, to)},
                                    stream));
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) {
  using namespace hlo::bench;
  const Options options(argc, argv, "Measures gather and scatter against copies");
  const hlo::device::DeviceProperties device = DeviceOrSkip(options);
  cudaStream_t stream = nullptr;
  if (!options.list()) Require(cudaStreamCreate(&stream), "cudaStreamCreate");
  Table table(options, device, CopyCeiling(options, stream));
  for (const int64_t width : {1, 16, 128}) {
    const Rows rows{int64_t{1} << 22, width, int64_t{1} << 23};
    GatherCase(rows, device, table, stream);
    for (const double duplicates : {0.0, 0.01, 0.5}) ScatterCase(rows, duplicates, device, table, stream);
  }
  return table.status();
}
