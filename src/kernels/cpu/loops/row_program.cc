#include "kernels/cpu/loops/row_program.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/memory/thread_memory.h"

namespace hlo::cpu {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

double RowProgram::nanoseconds() const {
  double sum = 0;
  for (const auto& part : parts) {
    if (const auto* loop = std::get_if<TileProgram>(&part))
      sum += loop->nanoseconds_per_element() * static_cast<double>(loop->inner_count()) *
             static_cast<double>(loop->outer_count());
    else
      sum += std::get<ReduceProgram>(part).nanoseconds();
  }
  return sum;
}

void RowProgram::Run(void* const* arguments) const {
  int64_t bytes = 0;
  for (const int64_t each : kept_bytes) bytes += Aligned(each * block);
  ParallelFor((rows + block - 1) / block, nanoseconds(), [&](int64_t number) {
    thread_local ThreadMemory memory;
    const int64_t begin = number * block, end = std::min(rows, begin + block);
    absl::InlinedVector<void*, 16> all(arguments, arguments + argument_count);
    auto at = reinterpret_cast<uintptr_t>(memory.AtLeast(bytes));
    for (const int64_t each : kept_bytes) {
      // The pointer is offset so that row `begin` is at its start.
      all.push_back(reinterpret_cast<void*>(at - static_cast<uintptr_t>(begin * each)));
      at += Aligned(each * block);
    }
    for (const auto& part : parts) {
      if (const auto* loop = std::get_if<TileProgram>(&part)) {
        const int64_t length = loop->inner_count() / rows;
        if (loop->outer_count() == rows)
          loop->RunRows(all.data(), begin, end);
        else
          loop->RunPositions(all.data(), begin * length, end * length);
      } else {
        std::get<ReduceProgram>(part).RunRows(all.data(), begin, end);
      }
    }
  });
}

}  // namespace hlo::cpu
