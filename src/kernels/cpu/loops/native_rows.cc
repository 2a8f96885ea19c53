#include "kernels/cpu/loops/native_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/algorithm/container.h"
#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/access_runs.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/row_walk.h"
#include "types/index.h"

namespace hlo::cpu {

using loops::Access;
using loops::ComputeType;
using loops::LoopProgram;

namespace {

constexpr int64_t kMaxDirectElements = 16 << 10;  // In a row, and in those that a thread runs at once.
// Several threads run fewer elements if the estimated time, about four times that of native code, is longer.
constexpr double kShortestOfThreads = 80'000;
constexpr int64_t kPieceElements = 256;  // Pieces of a single row have a multiple of these.
// Tiles take less time if rows have less bytes, of a few elements, and of many.
constexpr int64_t kShortestDirectRow = 32, kShortestOfMany = 64;
// The mean length of the pieces of rows in which one operand has edges. Tiles take longer if several have:
// about as long as a piece for each.
constexpr int64_t kShortestPiece = 96;
constexpr size_t kMaxDirectOperands = 64, kMaxDirectDims = 6;

// Returns the bytes of the narrowest elements of arrays that the program reads or writes.
int64_t NarrowestWidth(const LoopProgram& program) {
  int64_t narrowest = 16;
  program.VisitAccesses([&](const Access& access, bool) {
    if (access.IsArray() && !LoopProgram::IsInvariant(access))
      narrowest = std::min(narrowest, ByteCount(access.type));
  });
  return narrowest;
}

}  // namespace

// Runs code on rows whose operands have edges, piece by piece.
class NativeRows::InPieces {
 public:
  InPieces(const NativeRows& rows, const LoopProgram& program, void* const* arguments)
      : rows_(rows),
        program_(program),
        arguments_(arguments),
        pointers_(RoundUp(rows_.operands_.size() * (rows_.cuts_.size() - 1), kBlock), nullptr),
        distances_(pointers_.size(), 0),
        fills_(rows_.fill_bytes_),
        is_filled_(rows_.fill_count_),
        has_iotas_(absl::c_any_of(rows_.operands_, [](const Operand& each) { return each.is_iota; })) {}

  // Runs some of at most `most` rows, from the one with this index on, and returns their number. Operands
  // have the pointers, or the first numbers of iotas, of that row. The index has room for the position.
  int64_t Run(const NativeLoop& code, void* const* row, const int64_t* numbers, absl::Span<int64_t> index,
              int64_t most) {
    const size_t count = rows_.operands_.size(), pieces = rows_.cuts_.size() - 1;
    int64_t rows = most;
    for (size_t c = 0; c < pieces; ++c) {
      index.back() = rows_.cuts_[c];
      for (size_t k = 0; k < count; ++k) Locate(k, row[k], index, c * count + k, &rows);
    }
    for (int64_t r = 0; r < rows; ++r) {
      if (r > 0) MoveToNextRow();
      for (size_t c = 0; c < pieces; ++c) {
        if (has_iotas_) FillIotas(row, numbers, r, rows_.cuts_[c]);
        code.Run(pointers_.data() + c * count, rows_.cuts_[c + 1] - rows_.cuts_[c]);
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

  int64_t DistanceOf(const Operand& operand) const {
    return operand.strides.empty() ? 0 : operand.strides.back();
  }

  // Finds the elements of an operand from an index on.
  void Locate(size_t k, void* row, absl::Span<const int64_t> index, size_t to, int64_t* rows) {
    const Operand& operand = rows_.operands_[k];
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
    for (size_t k = 0; k < rows_.load_count_; ++k) {
      const Operand& operand = rows_.operands_[k];
      if (!operand.is_iota) continue;
      const bool counts = operand.form == NativeLoop::Form::kCount;
      FillIota(program_.compute_type(operand.value), 1, to[k],
               numbers[k] + row * DistanceOf(operand) + (counts ? position : 0), 0);
    }
  }

  // Returns the copies of a repeated element of an operand.
  void* Filled(size_t k, int32_t fill) {
    const Operand& operand = rows_.operands_[k];
    const int64_t count = rows_.FilledCount(operand);
    std::byte* filled = fills_.data() + operand.fills + fill * count * operand.width;
    if (!is_filled_[operand.first_fill + fill]) operand.pieces->Fill(fill, count, arguments_, filled);
    is_filled_[operand.first_fill + fill] = true;
    return filled;
  }

  const NativeRows& rows_;
  const LoopProgram& program_;
  void* const* arguments_;
  // All operands at the first piece, then at the others, and null pointers up to a multiple of kBlock.
  CachedVector<void*> pointers_;
  CachedVector<int64_t> distances_;          // Between neighbouring rows, in bytes.
  CachedVector<std::byte> fills_;            // The repeated elements of all operands.
  absl::InlinedVector<bool, 64> is_filled_;  // By the numbers of the elements.
  bool has_iotas_;
};

int64_t NativeRows::FilledCount(const Operand& operand) const {
  return operand.form == NativeLoop::Form::kScalar ? 1 : row_;
}

// Adds a load or a store. Returns false if it is not contiguous in a row.
bool NativeRows::AddOperand(const LoopProgram& program, loops::Value value, int32_t number, bool is_load,
                            bool is_one_row) {
  const Access& access = program.access(number);
  const size_t rank = program.inner_dims().size();
  std::optional<int64_t> stride;
  std::optional<RowPieces> pieces;
  if (!access.IsRegular()) {
    if (!is_one_row && is_load) pieces = RowPieces::Of(program, number);
    if (pieces.has_value()) stride = pieces->stride();
  } else if (!is_one_row || rank == 1) {
    stride = access.inner.back();
  } else if (LoopProgram::IsInvariant(access)) {
    stride = 0;
  } else if (program.IsContiguous(access)) {
    stride = 1;
  }
  if (!stride.has_value() || *stride < (is_load ? 0 : 1) || *stride > 1) return false;
  const bool is_iota = access.argument == Access::kIota;
  const ComputeType of_value = program.compute_type(value);
  const bool counts = ComputeTypeBytes(of_value) >= 4 && of_value < ComputeType::kF32;
  if (is_iota ? *stride == 1 && !counts : !NativeLoop::Supports(access.type)) return false;
  const NativeLoop::Form form = *stride == 0 ? NativeLoop::Form::kScalar
                                : is_iota    ? NativeLoop::Form::kCount
                                             : NativeLoop::Form::kArray;
  Operand operand{value, number, form, is_iota, is_iota ? 1 : ByteCount(access.type), {}};
  const int64_t unit = pieces.has_value() ? 0 : operand.width;
  for (const int64_t each : access.outer) operand.strides.push_back(each * unit);
  for (size_t d = 0; !is_one_row && d + 1 < rank; ++d) operand.strides.push_back(access.inner[d] * unit);
  operand.pieces = std::move(pieces);
  operands_.push_back(std::move(operand));
  return true;
}

NativeRows::NativeRows(const LoopProgram& program, bool is_one_row)
    : dims_(program.outer_dims().begin(), program.outer_dims().end()),
      row_(is_one_row ? program.inner_count() : program.inner_dims().back()) {
  if (!is_one_row) dims_.insert(dims_.end(), program.inner_dims().begin(), program.inner_dims().end() - 1);
}

// Makes rows of all inner positions, or of the last dimension.
std::optional<NativeRows> NativeRows::Make(const LoopProgram& program, bool is_one_row) {
  NativeRows rows(program, is_one_row);
  for (size_t s = 0; s < program.steps().size(); ++s) {
    const LoopProgram::Step& step = program.steps()[s];
    if (step.IsLoad() &&
        !rows.AddOperand(program, static_cast<loops::Value>(s), step.access, true, is_one_row))
      return std::nullopt;
  }
  rows.load_count_ = rows.operands_.size();
  for (const LoopProgram::Stored& stored : program.stores()) {
    if (!rows.AddOperand(program, stored.value, stored.access, false, is_one_row)) return std::nullopt;
  }
  if (rows.operands_.size() > kMaxDirectOperands || rows.dims_.size() > kMaxDirectDims) return std::nullopt;
  if (!rows.FindCuts()) return std::nullopt;
  rows.FindAddresses(program);
  return rows;
}

// Finds the addresses of a single row's operands, unless they depend on values.
void NativeRows::FindAddresses(const LoopProgram& program) {
  if (!dims_.empty() || !cuts_.empty()) return;
  std::vector<Address> addresses;
  for (const Operand& operand : operands_) {
    const Access& access = program.access(operand.access);
    if (!access.starts.empty()) return;
    if (!operand.is_iota) {
      addresses.push_back({.argument = access.argument, .bytes = access.offset * operand.width});
      continue;
    }
    addresses.push_back({.number = static_cast<int32_t>(numbers_.size())});
    FillIota(program.compute_type(operand.value), 1, numbers_.emplace_back().data(), access.offset, 0);
  }
  addresses_ = std::move(addresses);
}

void NativeRows::RunOneRow(const NativeLoop& code, void* const* arguments, int64_t begin, int64_t end) const {
  std::array<void*, kMaxDirectOperands> pointers;
  size_t k = 0;
  for (const Address& address : addresses_) {
    const Operand& operand = operands_[k];
    const int64_t skipped = operand.form == NativeLoop::Form::kArray ? begin * operand.width : 0;
    pointers[k++] = address.argument >= 0
                        ? static_cast<std::byte*>(arguments[address.argument]) + address.bytes + skipped
                        : const_cast<std::byte*>(numbers_[address.number].data());
  }
  code.Run(pointers.data(), end - begin);
}

// Finds the pieces of the rows. Returns false if they are too short.
bool NativeRows::FindCuts() {
  const int64_t with_pieces =
      absl::c_count_if(operands_, [](const Operand& operand) { return operand.pieces.has_value(); });
  if (with_pieces == 0) return true;
  cuts_ = {0, row_};
  for (Operand& operand : operands_) {
    if (!operand.pieces.has_value()) continue;
    operand.pieces->AddCuts(&cuts_);
    operand.fills = fill_bytes_;
    operand.first_fill = fill_count_;
    fill_count_ += operand.pieces->fill_count();
    fill_bytes_ += operand.pieces->fill_count() * FilledCount(operand) * operand.width;
  }
  std::sort(cuts_.begin(), cuts_.end());
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  return std::ssize(cuts_) - 1 <= std::max({with_pieces * row_ / kShortestPiece, with_pieces, int64_t{1}});
}

std::optional<NativeRows> NativeRows::Of(const LoopProgram& program) {
  const int64_t inner = program.inner_count();
  if (!program.yields().empty() || program.inner_dims().empty() || inner == 0) return std::nullopt;
  const bool has_few = inner * program.outer_count() <= kMaxDirectElements;
  const int64_t shortest = (has_few ? kShortestDirectRow : kShortestOfMany) / NarrowestWidth(program);
  std::optional<NativeRows> rows;
  if (has_few || (inner >= shortest && inner <= kMaxDirectElements)) rows = Make(program, true);
  const int64_t row = program.inner_dims().back();
  if (!rows.has_value() && row >= shortest && row <= kMaxDirectElements) rows = Make(program, false);
  return rows;
}

std::unique_ptr<const NativeLoop> NativeRows::Compile(const LoopProgram& program,
                                                      const Overwrites& overwrites) const {
  std::vector<NativeLoop::Input> inputs;
  std::vector<NativeLoop::Output> outputs;
  for (const Operand& load : absl::MakeConstSpan(operands_).first(load_count_)) {
    bool is_overwritten = false;
    for (int32_t a = load.access; a >= 0; a = program.access(a).next)
      is_overwritten |= absl::c_linear_search(overwrites.loads, a);
    const ElementType type = load.is_iota ? NativeLoop::TypeOf(program.compute_type(load.value))
                                          : program.access(load.access).type;
    inputs.push_back({load.value, load.form, type, !is_overwritten});
  }
  for (size_t k = 0; k < program.stores().size(); ++k) {
    const LoopProgram::Stored& stored = program.stores()[k];
    outputs.push_back({stored.value, program.access(stored.access).type, overwrites.early[k]});
  }
  return NativeLoop::Compile(program, inputs, outputs);
}

void NativeRows::Run(const LoopProgram& program, const NativeLoop& code, void* const* arguments,
                     double nanoseconds) const {
  const auto pieces =
      nanoseconds < kShortestOfThreads ? 1 : static_cast<int64_t>(2 * nanoseconds / kShortestOfThreads);
  if (!addresses_.empty()) {
    const int64_t piece = numbers_.empty() ? RoundUp(CeilDiv(row_, pieces), kPieceElements) : row_;
    if (piece >= row_) return RunOneRow(code, arguments, 0, row_);
    return ParallelFor(CeilDiv(row_, piece), nanoseconds, [&](int64_t i) {
      RunOneRow(code, arguments, i * piece, std::min(row_, (i + 1) * piece));
    });
  }
  const int64_t count = Product(dims_);
  const int64_t at_once = std::max<int64_t>(std::min(kMaxDirectElements / row_, CeilDiv(count, pieces)), 1);
  if (count <= at_once) return RunRange(program, code, arguments, 0, count);
  ParallelFor(CeilDiv(count, at_once), nanoseconds, [&](int64_t i) {
    RunRange(program, code, arguments, i * at_once, std::min(count, (i + 1) * at_once));
  });
}

void NativeRows::RunInOrder(const LoopProgram& program, const NativeLoop& code,
                            void* const* arguments) const {
  RunRange(program, code, arguments, 0, Product(dims_));
}

// Runs rows along the last dimension, from the one whose operands have these pointers, or first numbers of
// iotas, on.
void NativeRows::RunNeighbours(const LoopProgram& program, const NativeLoop& code, void* const* first,
                               const int64_t* numbers, int64_t rows) const {
  // The numbers at which the iotas of several rows begin.
  alignas(16) std::array<std::byte, 4096> starts;
  const auto iotas = absl::c_count_if(operands_, [](const Operand& each) { return each.is_iota; });
  const int64_t most = iotas == 0 ? rows : std::ssize(starts) / (16 * iotas);
  std::array<void*, kMaxDirectOperands> pointers;
  std::array<int64_t, kMaxDirectOperands> distances;
  for (int64_t row = 0; row < rows; row += most) {
    const int64_t left = std::min(most, rows - row);
    std::byte* next = starts.data();
    for (size_t k = 0; k < operands_.size(); ++k) {
      const Operand& operand = operands_[k];
      const int64_t distance = rows == 1 ? 0 : operand.strides.back();
      if (!operand.is_iota) {
        pointers[k] = static_cast<std::byte*>(first[k]) + row * distance;
        distances[k] = distance;
        continue;
      }
      const ComputeType type = program.compute_type(operand.value);
      FillIota(type, left, next, numbers[k] + row * distance, distance);
      pointers[k] = next;
      distances[k] = ComputeTypeBytes(type);
      next += 16 * left;
    }
    code.RunRows(pointers.data(), row_, left, distances.data());
  }
}

// Runs rows [begin, end).
void NativeRows::RunRange(const LoopProgram& program, const NativeLoop& code, void* const* arguments,
                          int64_t begin, int64_t end) const {
  const size_t count = operands_.size();
  std::array<void*, kMaxDirectOperands> pointers;
  std::array<int64_t, kMaxDirectOperands> numbers;  // The first numbers of iotas.
  alignas(16) std::byte first[kMaxDirectOperands][16];
  for (size_t k = 0; k < count; ++k) {
    const Operand& operand = operands_[k];
    const Access& access = program.access(operand.access);
    const int64_t start = StartOf(access, arguments);
    const bool is_elsewhere = operand.is_iota || operand.pieces.has_value();
    pointers[k] =
        is_elsewhere ? first[k] : static_cast<std::byte*>(arguments[access.argument]) + start * operand.width;
    numbers[k] = start;
  }
  // Moves all operands_ along a dimension.
  const auto move = [&](size_t d, int64_t steps) {
    for (size_t k = 0; k < count; ++k) {
      const Operand& operand = operands_[k];
      const int64_t distance = steps * operand.strides[d];
      if (operand.is_iota)
        numbers[k] += distance;
      else
        pointers[k] = static_cast<std::byte*>(pointers[k]) + distance;
    }
  };
  std::array<int64_t, kMaxDirectDims + 1> index = {};
  std::optional<InPieces> in_pieces;
  if (!cuts_.empty()) in_pieces.emplace(*this, program, arguments);
  if (begin > 0) {
    EachDigit(begin, dims_, [&](int64_t d, int64_t i) {
      index[d] = i;
      move(d, i);
    });
  }
  for (int64_t row = begin; row < end;) {
    const size_t rank = dims_.size();
    const int64_t left = rank > 0 ? std::min(end - row, dims_.back() - index[rank - 1]) : 1;
    int64_t ran = left;
    if (in_pieces.has_value()) {
      ran =
          in_pieces->Run(code, pointers.data(), numbers.data(), absl::MakeSpan(index).first(rank + 1), left);
    } else {
      RunNeighbours(program, code, pointers.data(), numbers.data(), left);
    }
    row += ran;
    for (size_t d = dims_.size(); d > 0; --d) {
      move(d - 1, ran);
      index[d - 1] += ran;
      if (index[d - 1] < dims_[d - 1]) break;
      move(d - 1, -dims_[d - 1]);
      index[d - 1] = 0;
      ran = 1;
    }
  }
}

}  // namespace hlo::cpu
