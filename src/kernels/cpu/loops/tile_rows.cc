// This file runs programs as native code on rows that are contiguous in memory, without tiles, scratch memory
// and the state of a Runner.

#include <algorithm>
#include <array>
#include <utility>

#include "absl/algorithm/container.h"
#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/access_runs.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/row_walk.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kMaxDirectElements = 16 << 10;  // In a row, and in those that a thread runs at once.
// The calls take longer than tiles if rows are shorter: on a few elements, and on many.
constexpr int64_t kShortestDirectRow = 32, kShortestOfMany = 96;
// The mean length of the pieces of rows in which one operand has edges. Tiles take longer if several have:
// about as long as a piece for each.
constexpr int64_t kShortestPiece = 96;
constexpr size_t kMaxDirectOperands = 64, kMaxDirectDims = 6;

}  // namespace

// Runs code on rows whose operands have edges, piece by piece.
class TileProgram::RowsInPieces {
 public:
  RowsInPieces(const TileProgram& program, void* const* arguments)
      : program_(program),
        rows_(*program.native_->rows),
        arguments_(arguments),
        pointers_(RoundUp(rows_.operands.size() * (rows_.cuts.size() - 1), kBlock), nullptr),
        distances_(pointers_.size(), 0),
        fills_(rows_.fill_bytes),
        is_filled_(rows_.fill_count),
        has_iotas_(
            absl::c_any_of(rows_.operands, [](const DirectRows::Operand& each) { return each.is_iota; })) {}

  // Runs some of at most `most` rows, from the one with this index on, and returns their number. Operands
  // have the pointers, or the first numbers of iotas, of that row. The index has room for the position.
  int64_t Run(const NativeLoop& code, void* const* row, const int64_t* numbers, absl::Span<int64_t> index,
              int64_t most) {
    const size_t count = rows_.operands.size(), pieces = rows_.cuts.size() - 1;
    int64_t rows = most;
    for (size_t c = 0; c < pieces; ++c) {
      index.back() = rows_.cuts[c];
      for (size_t k = 0; k < count; ++k) Locate(k, row[k], index, c * count + k, &rows);
    }
    for (int64_t r = 0; r < rows; ++r) {
      if (r > 0) MoveToNextRow();
      for (size_t c = 0; c < pieces; ++c) {
        if (has_iotas_) FillIotas(row, numbers, r, rows_.cuts[c]);
        code.Run(pointers_.data() + c * count, rows_.cuts[c + 1] - rows_.cuts[c]);
      }
    }
    return rows;
  }

 private:
  static constexpr size_t kBlock = 8;

  // Blocks of a constant length are vectorised.
  void MoveToNextRow() {
    const int64_t* distances = distances_.data();
    for (void **block = pointers_.data(), **end = block + pointers_.size(); block < end; block += kBlock) {
      for (size_t k = 0; k < kBlock; ++k) block[k] = static_cast<std::byte*>(block[k]) + distances[k];
      distances += kBlock;
    }
  }

  int64_t DistanceOf(const DirectRows::Operand& operand) const {
    return operand.strides.empty() ? 0 : operand.strides.back();
  }

  // Finds the elements of an operand from an index on.
  void Locate(size_t k, void* row, absl::Span<const int64_t> index, size_t to, int64_t* rows) {
    const DirectRows::Operand& operand = rows_.operands[k];
    if (!operand.pieces.has_value()) {
      const bool moves = operand.form == NativeLoop::Form::kArray;
      pointers_[to] = static_cast<std::byte*>(row) + (moves ? index.back() * operand.width : 0);
      distances_[to] = operand.is_iota ? 0 : DistanceOf(operand);
      return;
    }
    const RowPieces::Place place = operand.pieces->At(index, *rows, arguments_);
    pointers_[to] = place.at != nullptr ? place.at : Filled(k, place.fill);
    distances_[to] = place.distance;
    *rows = place.rows;
  }

  void FillIotas(void* const* to, const int64_t* numbers, int64_t row, int64_t position) const {
    for (size_t k = 0; k < rows_.load_count; ++k) {
      const DirectRows::Operand& operand = rows_.operands[k];
      if (!operand.is_iota) continue;
      const bool counts = operand.form == NativeLoop::Form::kCount;
      FillIota(program_.compute_type(operand.value), 1, to[k],
               numbers[k] + row * DistanceOf(operand) + (counts ? position : 0), 0);
    }
  }

  // Returns the copies of a repeated element of an operand.
  void* Filled(size_t k, int32_t fill) {
    const DirectRows::Operand& operand = rows_.operands[k];
    const int64_t count = FilledCount(operand, rows_.row);
    std::byte* filled = fills_.data() + operand.fills + fill * count * operand.width;
    if (!is_filled_[operand.first_fill + fill]) operand.pieces->Fill(fill, count, arguments_, filled);
    is_filled_[operand.first_fill + fill] = true;
    return filled;
  }

  const TileProgram& program_;
  const DirectRows& rows_;
  void* const* arguments_;
  // All operands at the first piece, then at the others, and null pointers up to a multiple of kBlock.
  CachedVector<void*> pointers_;
  CachedVector<int64_t> distances_;          // Between neighbouring rows, in bytes.
  CachedVector<std::byte> fills_;            // The repeated elements of all operands.
  absl::InlinedVector<bool, 64> is_filled_;  // By the numbers of the elements.
  bool has_iotas_;
};

int64_t TileProgram::FilledCount(const DirectRows::Operand& operand, int64_t row) {
  return operand.form == NativeLoop::Form::kScalar ? 1 : row;
}

// Adds a load or a store. Returns false if it is not contiguous in a row.
bool TileProgram::AddDirectOperand(TileValue value, int32_t number, bool is_load, bool is_one_row,
                                   DirectRows& rows) const {
  const Access& access = accesses()[number];
  const size_t rank = inner_dims().size();
  std::optional<int64_t> stride;
  std::optional<RowPieces> pieces;
  if (!access.IsRegular()) {
    if (!is_one_row && is_load) pieces = RowPieces::Of(source_, number);
    if (pieces.has_value()) stride = pieces->stride();
  } else if (!is_one_row || rank == 1) {
    stride = access.inner.back();
  } else if (loops::LoopProgram::IsInvariant(access)) {
    stride = 0;
  } else if (source_.IsContiguous(access)) {
    stride = 1;
  }
  if (!stride.has_value() || *stride < (is_load ? 0 : 1) || *stride > 1) return false;
  const bool is_iota = access.argument == Access::kIota;
  const ComputeType of_value = compute_type(value);
  const bool counts = ComputeTypeBytes(of_value) >= 4 && of_value < ComputeType::kF32;
  if (is_iota ? *stride == 1 && !counts : !NativeLoop::Supports(access.type)) return false;
  const NativeLoop::Form form = *stride == 0 ? NativeLoop::Form::kScalar
                                : is_iota    ? NativeLoop::Form::kCount
                                             : NativeLoop::Form::kArray;
  DirectRows::Operand operand{value, number, form, is_iota, is_iota ? 1 : ByteCount(access.type), {}};
  const int64_t unit = pieces.has_value() ? 0 : operand.width;
  for (const int64_t each : access.outer) operand.strides.push_back(each * unit);
  for (size_t d = 0; !is_one_row && d + 1 < rank; ++d) operand.strides.push_back(access.inner[d] * unit);
  operand.pieces = std::move(pieces);
  rows.operands.push_back(std::move(operand));
  return true;
}

// Returns the rows of the program, which are all inner positions or those of the last dimension; nullopt if
// an access is not contiguous in a row.
std::optional<TileProgram::DirectRows> TileProgram::DirectRowsOf(bool is_one_row) const {
  DirectRows rows{.load_count = 0, .row = is_one_row ? inner_count() : inner_dims().back()};
  rows.dims.assign(outer_dims().begin(), outer_dims().end());
  if (!is_one_row) rows.dims.insert(rows.dims.end(), inner_dims().begin(), inner_dims().end() - 1);
  for (const Step& step : steps_) {
    if (step.access >= 0 && !AddDirectOperand(step.out, step.access, true, is_one_row, rows))
      return std::nullopt;
  }
  rows.load_count = rows.operands.size();
  for (const Stored& stored : stored_) {
    if (!AddDirectOperand(stored.value, stored.access, false, is_one_row, rows)) return std::nullopt;
  }
  if (rows.operands.size() > kMaxDirectOperands || rows.dims.size() > kMaxDirectDims) return std::nullopt;
  if (!FindCuts(rows)) return std::nullopt;
  FindAddresses(rows);
  return rows;
}

// Finds the addresses of a single row's operands, unless they depend on values.
void TileProgram::FindAddresses(DirectRows& rows) const {
  if (!rows.dims.empty() || !rows.cuts.empty()) return;
  std::vector<DirectRows::Address> addresses;
  for (const DirectRows::Operand& operand : rows.operands) {
    const Access& access = accesses()[operand.access];
    if (!access.starts.empty()) return;
    if (!operand.is_iota) {
      addresses.push_back({.argument = access.argument, .bytes = access.offset * operand.width});
      continue;
    }
    addresses.push_back({.number = static_cast<int32_t>(rows.numbers.size())});
    FillIota(compute_type(operand.value), 1, rows.numbers.emplace_back().data(), access.offset, 0);
  }
  rows.addresses = std::move(addresses);
}

void TileProgram::RunRow(const NativeLoop& code, const DirectRows& rows, void* const* arguments) {
  std::array<void*, kMaxDirectOperands> pointers;
  size_t k = 0;
  for (const DirectRows::Address& address : rows.addresses)
    pointers[k++] = address.argument >= 0
                        ? static_cast<std::byte*>(arguments[address.argument]) + address.bytes
                        : const_cast<std::byte*>(rows.numbers[address.number].data());
  code.Run(pointers.data(), rows.row);
}

// Finds the pieces of the rows. Returns false if they are too short.
bool TileProgram::FindCuts(DirectRows& rows) {
  const int64_t with_pieces = absl::c_count_if(
      rows.operands, [](const DirectRows::Operand& operand) { return operand.pieces.has_value(); });
  if (with_pieces == 0) return true;
  rows.cuts = {0, rows.row};
  for (DirectRows::Operand& operand : rows.operands) {
    if (!operand.pieces.has_value()) continue;
    operand.pieces->AddCuts(&rows.cuts);
    operand.fills = rows.fill_bytes;
    operand.first_fill = rows.fill_count;
    rows.fill_count += operand.pieces->fill_count();
    rows.fill_bytes += operand.pieces->fill_count() * FilledCount(operand, rows.row) * operand.width;
  }
  std::sort(rows.cuts.begin(), rows.cuts.end());
  rows.cuts.erase(std::unique(rows.cuts.begin(), rows.cuts.end()), rows.cuts.end());
  return std::ssize(rows.cuts) - 1 <=
         std::max({with_pieces * rows.row / kShortestPiece, with_pieces, int64_t{1}});
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
    bool is_overwritten = false;
    for (int32_t a = load.access; a >= 0; a = accesses()[a].next)
      is_overwritten |=
          std::find(native.overwritten.begin(), native.overwritten.end(), a) != native.overwritten.end();
    const ElementType type =
        load.is_iota ? NativeLoop::TypeOf(compute_type(load.value)) : accesses()[load.access].type;
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
  if (!rows.addresses.empty()) {
    RunRow(*code, rows, arguments);
    return true;
  }
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

bool TileProgram::RunDirectRowsInOrder(void* const* arguments) const {
  const NativeLoop* code = RunsOnRows() ? native_->code.get() : nullptr;
  if (code != nullptr) RunDirectRows(*code, arguments, 0, Product(native_->rows->dims));
  return code != nullptr;
}

// Runs rows along the last dimension, from the one whose operands have these pointers, or first numbers of
// iotas, on.
void TileProgram::RunNeighbours(const NativeLoop& code, void* const* first, const int64_t* numbers,
                                int64_t rows) const {
  const absl::Span<const DirectRows::Operand> operands = native_->rows->operands;
  std::array<void*, kMaxDirectOperands> pointers;
  std::array<int64_t, kMaxDirectOperands> distances;
  bool has_iotas = false;
  for (size_t k = 0; k < operands.size(); ++k) {
    pointers[k] = first[k];
    distances[k] = operands[k].is_iota || rows == 1 ? 0 : operands[k].strides.back();
    has_iotas |= operands[k].is_iota;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t k = 0; has_iotas && k < native_->rows->load_count; ++k) {
      const DirectRows::Operand& operand = operands[k];
      if (!operand.is_iota) continue;
      const int64_t distance = rows == 1 ? 0 : operand.strides.back();
      FillIota(compute_type(operand.value), 1, pointers[k], numbers[k] + r * distance, 0);
    }
    code.Run(pointers.data(), native_->rows->row);
    for (size_t k = 0; k < operands.size(); ++k)
      pointers[k] = static_cast<std::byte*>(pointers[k]) + distances[k];
  }
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
    const int64_t start = StartOf(access, arguments);
    const bool is_elsewhere = operand.is_iota || operand.pieces.has_value();
    pointers[k] =
        is_elsewhere ? first[k] : static_cast<std::byte*>(arguments[access.argument]) + start * operand.width;
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
  std::array<int64_t, kMaxDirectDims + 1> index = {};
  std::optional<RowsInPieces> in_pieces;
  if (!rows.cuts.empty()) in_pieces.emplace(*this, arguments);
  if (begin > 0) {
    EachDigit(begin, rows.dims, [&](int64_t d, int64_t i) {
      index[d] = i;
      move(d, i);
    });
  }
  for (int64_t row = begin; row < end;) {
    const size_t rank = rows.dims.size();
    const int64_t left = rank > 0 ? std::min(end - row, rows.dims.back() - index[rank - 1]) : 1;
    int64_t ran = left;
    if (in_pieces.has_value()) {
      ran =
          in_pieces->Run(code, pointers.data(), numbers.data(), absl::MakeSpan(index).first(rank + 1), left);
    } else {
      RunNeighbours(code, pointers.data(), numbers.data(), left);
    }
    row += ran;
    for (size_t d = rows.dims.size(); d > 0; --d) {
      move(d - 1, ran);
      index[d - 1] += ran;
      if (index[d - 1] < rows.dims[d - 1]) break;
      move(d - 1, -rows.dims[d - 1]);
      index[d - 1] = 0;
      ran = 1;
    }
  }
}

}  // namespace hlo::cpu
