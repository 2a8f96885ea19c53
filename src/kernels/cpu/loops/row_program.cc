#include "kernels/cpu/loops/row_program.h"

#include <algorithm>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/memory/thread_memory.h"

namespace hlo::cpu {
namespace {

int64_t Aligned(int64_t bytes) { return RoundUp(bytes, 64); }

}  // namespace

RowProgram::RowProgram(loops::RowProgram source)
    : rows_(source.rows),
      block_(source.block),
      argument_count_(source.argument_count),
      kept_bytes_(std::move(source.kept_bytes)) {
  parts_.reserve(source.parts.size());
  for (loops::RowProgram::Part& part : source.parts) {
    if (auto* loop = std::get_if<loops::LoopProgram>(&part))
      parts_.emplace_back(std::in_place_type<TileProgram>, std::move(*loop));
    else
      parts_.emplace_back(std::in_place_type<ReduceProgram>, std::move(std::get<loops::ReduceProgram>(part)));
  }
}

void RowProgram::AllowNativeCode() {
  for (auto& part : parts_) {
    if (auto* loop = std::get_if<TileProgram>(&part))
      loop->AllowNativeCode();
    else
      std::get<ReduceProgram>(part).AllowNativeCode();
  }
}

double RowProgram::nanoseconds() const {
  double sum = 0;
  for (const auto& part : parts_) {
    if (const auto* loop = std::get_if<TileProgram>(&part))
      sum += loop->nanoseconds();
    else
      sum += std::get<ReduceProgram>(part).nanoseconds();
  }
  return sum;
}

void RowProgram::Run(void* const* arguments) const {
  int64_t bytes = 0;
  for (const int64_t each : kept_bytes_) bytes += Aligned(each * block_);
  ParallelFor(CeilDiv(rows_, block_), nanoseconds(), [&](int64_t number) {
    thread_local ThreadMemory memory;
    const int64_t begin = number * block_, end = std::min(rows_, begin + block_);
    absl::InlinedVector<void*, 16> all(arguments, arguments + argument_count_);
    auto at = reinterpret_cast<uintptr_t>(memory.Reserve(bytes));
    for (const int64_t each : kept_bytes_) {
      // The pointer is offset so that row `begin` is at its start.
      all.push_back(reinterpret_cast<void*>(at - static_cast<uintptr_t>(begin * each)));
      at += Aligned(each * block_);
    }
    for (const auto& part : parts_) {
      if (const auto* loop = std::get_if<TileProgram>(&part)) {
        const int64_t length = loop->inner_count() / rows_;
        if (loop->outer_count() == rows_)
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
