// This file runs programs as native code on rows that are contiguous in memory, without tiles, scratch memory
// and the state of a Runner.

#include <algorithm>
#include <array>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/memory/row_walk.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kMaxDirectElements = 16 << 10;  // Of a row, and of those that a thread runs at once.
// The calls take longer than tiles if rows are shorter: on a few elements, and on many.
constexpr int64_t kShortestDirectRow = 32, kShortestOfMany = 96;
constexpr size_t kMaxDirectOperands = 32, kMaxDirectDims = 6;

}  // namespace

// Returns the rows of the program, which are all inner positions or those of the last dimension; nullopt if
// an access is not contiguous in a row.
std::optional<TileProgram::DirectRows> TileProgram::DirectRowsOf(bool is_one_row) const {
  const size_t rank = inner_dims().size();
  DirectRows rows{.load_count = 0, .row = is_one_row ? inner_count() : inner_dims().back()};
  rows.dims.assign(outer_dims().begin(), outer_dims().end());
  if (!is_one_row) rows.dims.insert(rows.dims.end(), inner_dims().begin(), inner_dims().end() - 1);
  // Returns the stride of the positions of a row.
  const auto stride_of = [&](int32_t number) -> std::optional<int64_t> {
    const Access& access = accesses()[number];
    if (!access.IsRegular()) return std::nullopt;
    if (!is_one_row || rank == 1) return access.inner.back();
    if (loops::LoopProgram::IsInvariant(access)) return 0;
    return source_.IsContiguous(access) ? std::optional<int64_t>(1) : std::nullopt;
  };
  const auto add = [&](TileValue value, int32_t number, bool is_load) {
    const Access& access = accesses()[number];
    const std::optional<int64_t> stride = stride_of(number);
    if (!stride.has_value() || *stride < (is_load ? 0 : 1) || *stride > 1) return false;
    const bool is_array = access.IsArray();
    const Lane of_value = lane(value);
    const bool counts = LaneBytes(of_value) >= 4 && of_value < Lane::kF32;
    if (is_array ? !NativeLoop::Supports(access.type)
                 : access.argument != Access::kIota || (*stride == 1 && !counts))
      return false;
    const NativeLoop::Form form = *stride == 0 ? NativeLoop::Form::kScalar
                                  : is_array   ? NativeLoop::Form::kArray
                                               : NativeLoop::Form::kCount;
    DirectRows::Operand operand{value, number, form, !is_array, is_array ? ByteCount(access.type) : 1, {}};
    for (const int64_t each : access.outer) operand.strides.push_back(each * operand.width);
    for (size_t d = 0; !is_one_row && d + 1 < rank; ++d)
      operand.strides.push_back(access.inner[d] * operand.width);
    rows.operands.push_back(std::move(operand));
    return true;
  };
  for (const Step& step : steps_) {
    if (step.access >= 0 && !add(step.out, step.access, true)) return std::nullopt;
  }
  rows.load_count = rows.operands.size();
  for (const Stored& stored : stored_) {
    if (!add(stored.value, stored.access, false)) return std::nullopt;
  }
  if (rows.operands.size() > kMaxDirectOperands || rows.dims.size() > kMaxDirectDims) return std::nullopt;
  return rows;
}

std::optional<TileProgram::DirectRows> TileProgram::FindDirectRows() const {
  if (!yields().empty() || inner_dims().empty() || inner_count() == 0) return std::nullopt;
  const bool has_few = inner_count() * outer_count() <= kMaxDirectElements;
  std::optional<DirectRows> rows;
  if (has_few || (inner_count() >= kShortestOfMany && inner_count() <= kMaxDirectElements))
    rows = DirectRowsOf(true);
  const int64_t row = inner_dims().back();
  if (!rows.has_value() && row >= (has_few ? kShortestDirectRow : kShortestOfMany) &&
      row <= kMaxDirectElements)
    rows = DirectRowsOf(false);
  return rows;
}

std::unique_ptr<const NativeLoop> TileProgram::CompileRows(const Native& native) const {
  std::vector<NativeLoop::Input> inputs;
  std::vector<NativeLoop::Output> outputs;
  const absl::Span<const DirectRows::Operand> operands = native.rows->operands;
  for (const DirectRows::Operand& load : operands.first(native.rows->load_count)) {
    const bool is_overwritten = std::find(native.overwritten.begin(), native.overwritten.end(),
                                          load.access) != native.overwritten.end();
    const ElementType type =
        load.is_iota ? NativeLoop::TypeOf(lane(load.value)) : accesses()[load.access].type;
    inputs.push_back({load.value, load.form, type, !is_overwritten});
  }
  for (size_t k = 0; k < stored_.size(); ++k)
    outputs.push_back({stored_[k].value, accesses()[stored_[k].access].type, native.early[k]});
  return NativeLoop::Compile(source_, inputs, outputs);
}

// Returns false if there is no native code that only needs pointers to rows, or none yet.
bool TileProgram::RunDirectRows(void* const* arguments) const {
  const NativeLoop* code = native_ != nullptr && native_->rows.has_value() ? native_->code.get() : nullptr;
  if (code == nullptr) return false;
  const DirectRows& rows = *native_->rows;
  const int64_t count = Product(rows.dims);
  const int64_t at_once = std::max<int64_t>(kMaxDirectElements / rows.row, 1);
  if (count <= at_once) {
    RunDirectRows(*code, arguments, 0, count);
  } else {
    ParallelFor(CeilDiv(count, at_once), nanoseconds(), [&](int64_t i) {
      RunDirectRows(*code, arguments, i * at_once, std::min(count, (i + 1) * at_once));
    });
  }
  return true;
}

// Runs rows [begin, end).
void TileProgram::RunDirectRows(const NativeLoop& code, void* const* arguments, int64_t begin,
                                int64_t end) const {
  const DirectRows& rows = *native_->rows;
  const size_t count = rows.operands.size();
  std::array<void*, kMaxDirectOperands> pointers;
  std::array<int64_t, kMaxDirectOperands> numbers;  // The first numbers of iotas.
  alignas(16) std::byte first[kMaxDirectOperands][16];
  for (size_t k = 0; k < count; ++k) {
    const DirectRows::Operand& operand = rows.operands[k];
    const Access& access = accesses()[operand.access];
    const int64_t start = access.starts.empty() ? access.offset : StartOf(access, arguments);
    pointers[k] = operand.is_iota
                      ? first[k]
                      : static_cast<std::byte*>(arguments[access.argument]) + start * operand.width;
    numbers[k] = start;
  }
  // Moves all operands along a dimension.
  const auto move = [&](size_t d, int64_t steps) {
    for (size_t k = 0; k < count; ++k) {
      const DirectRows::Operand& operand = rows.operands[k];
      const int64_t distance = steps * operand.strides[d];
      if (operand.is_iota)
        numbers[k] += distance;
      else
        pointers[k] = static_cast<std::byte*>(pointers[k]) + distance;
    }
  };
  std::array<int64_t, kMaxDirectDims> index = {};
  if (begin > 0) {
    EachDigit(begin, rows.dims, [&](int64_t d, int64_t i) {
      index[d] = i;
      move(d, i);
    });
  }
  for (int64_t row = begin; row < end; ++row) {
    for (size_t k = 0; k < rows.load_count; ++k) {
      if (rows.operands[k].is_iota) FillIota(lane(rows.operands[k].value), 1, first[k], numbers[k], 0);
    }
    code.Run(pointers.data(), rows.row);
    for (size_t d = rows.dims.size(); d > 0; --d) {
      move(d - 1, 1);
      if (++index[d - 1] < rows.dims[d - 1]) break;
      move(d - 1, -rows.dims[d - 1]);
      index[d - 1] = 0;
    }
  }
}

}  // namespace hlo::cpu
