#include "kernels/cpu/loops/block_loop.h"

#include <algorithm>

namespace hlo::cpu {

constexpr int64_t kAhead = 2;  // Prefetch distance in rows.

void BlockLoop::Run(const void* loop, const ArrayBlock& block) {
  const auto& self = *static_cast<const BlockLoop*>(loop);
  const TileProgram& program = self.program_;
  absl::InlinedVector<void*, 16> arguments(self.arguments_.begin(), self.arguments_.end());
  TileRunner runner(program, arguments.data());
  const bool by_rows = program.outer_count() > 1;
  const bool is_one_row = !by_rows && block.columns == block.row_stride && block.columns == block.data_stride;
  const int64_t rows = is_one_row ? 1 : block.rows;
  const int64_t length = is_one_row ? block.rows * block.columns : block.columns;
  const int64_t row = program.inner_count();
  for (int64_t r = 0; r < rows; ++r) {
    // The loop addresses elements relative to the start of the array.
    const int64_t first = block.first + r * block.row_stride;
    arguments[self.array_] =
        reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(block.data) +
                                static_cast<uintptr_t>((r * block.data_stride - first) * self.byte_count_));
    if (!by_rows) {
      runner.RunTiles(first, first + length);
      continue;
    }
    // Rows are too short for the hardware prefetcher, so the next ones are prefetched here.
    for (int64_t at = first; at < first + length;) {
      const int64_t begin = at % row, n = std::min(row - begin, first + length - at);
      runner.SetOuter(at / row);
      if (r + kAhead < rows) runner.Prefetch(begin, n, kAhead, self.array_, !self.stays_);
      runner.RunTiles(begin, begin + n);
      at += n;
    }
  }
}

}  // namespace hlo::cpu
