#include "kernels/cpu/loops/reduce_program.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/chains/chain_fold.h"
#include "kernels/cpu/elementwise/copy_apart.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "kernels/cpu/elementwise/stored_folds.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/access_runs.h"
#include "kernels/cpu/loops/accumulators.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kPiece = 32 << 10;        // Elements per piece of a long reduction.
constexpr int64_t kReduceChunk = 16 << 10;  // Minimum elements per work item.
constexpr int64_t kLargestChunk = 64 << 10;
constexpr int64_t kMaxElementBytes = Accumulators::kMaxElementBytes;

// Returns true if whole rows are reduced, one after the other.
bool RunsByRows(const loops::Reduction& reduction, int64_t kept, int64_t reduced) {
  const bool in_pieces = reduced >= 2 * kPiece && kept < 8 && !reduction.excludes_nans;
  return reduction.rows && reduction.part_length == 1 && reduced > 0 && !in_pieces;
}

// Reduces rows of a program.
class RowReducer {
 public:
  RowReducer(const ReduceProgram& program, void* const* arguments)
      : program_(program), runner_(program.body, arguments), fold_(program.fold_call) {
    const std::optional<ElementType> type = program.body.source().YieldedAsStored();
    if (type.has_value() && fold_.function != nullptr) stored_folds_ = FindStoredFolds(fold_, *type);
    if (const std::optional<int64_t> step = program.body.StoredStep(); step.has_value()) {
      runner_.SetOuter(0);
      stored_ = static_cast<const std::byte*>(runner_.stored(0));
      stored_step_ = *step;
    }
    if (program.arg_min_max != ReduceProgram::ArgMinMax::kNone) {
      const Opcode extreme =
          program.arg_min_max == ReduceProgram::ArgMinMax::kArgMax ? Opcode::kMaximum : Opcode::kMinimum;
      fold_ = FindTileFold(extreme, program.results[0].init_type);
      find_ = FindFirstEqual(ComputeTypeOf(program.results[0].init_type));
      tile_.emplace(program, 1);
      tile_->FillWithInit(arguments, 0, 1);
      initial_is_nan_ = IsNan(tile_->compute_type(0), tile_->at(0, 0));
    } else if (fold_.function == nullptr)
      tile_.emplace(program, program.body.tile());
    else if (program.body.YieldsBF16())
      fold_ = FindBF16Fold(fold_);
    if (find_ == nullptr && program.body.Folds()) {
      if (const auto kind = ChainFold::KindOf(program.fold_call, program.body.YieldsBF16()))
        chain_folds_.assign(kFolds, ChainFold(*kind));
      if (!chain_folds_.empty()) runner_.BeginRows();
    }
  }

  // Reduces rows [begin, end) to elements from 0 on. Rows that must be combined in order because of NaNs are
  // added to `with_nans`.
  void ReduceRows(int64_t begin, int64_t end, Accumulators& to, CachedVector<int64_t>* with_nans) {
    const int64_t n = program_.reduced_count();
    int64_t row = begin;
    if (stored_folds_.rows != nullptr) {
      constexpr int kAtOnce = StoredFolds::kAtOnce;
      const int64_t apart = (end - begin) / kAtOnce;
      const auto width = static_cast<int64_t>(ComputeTypeBytes(to.compute_type(0)));
      for (; row < begin + apart; ++row) {
        const void* rows[kAtOnce];
        for (int k = 0; k < kAtOnce; ++k) rows[k] = StoredRow(row + k * apart);
        alignas(16) std::byte results[kAtOnce * kMaxElementBytes];
        stored_folds_.rows(n, rows, results);
        for (int k = 0; k < kAtOnce; ++k)
          std::memcpy(to.at(0, row - begin + k * apart), results + k * width, width);
      }
      row = begin + kAtOnce * apart;
    }
    for (; stored_folds_.row != nullptr && row < end; ++row)
      stored_folds_.row(n, StoredRow(row), to.at(0, row - begin));
    while (!chain_folds_.empty() && row < end) {
      const auto folds = absl::MakeSpan(chain_folds_).subspan(0, end - row);
      runner_.RunFoldingRows(row, folds);
      for (const ChainFold& fold : folds) StoreFold(fold, to.at(0, row++ - begin));
    }
    for (; row < end; ++row) {
      SetRow(row);
      if (!Reduce(0, n, to, row - begin)) with_nans->push_back(row);
    }
  }

  void SetRow(int64_t row) { runner_.SetRow(row); }
  // Reduces inner positions [begin, end) of the row to element i. Returns false if a NaN requires the
  // combiner itself instead of argmin or argmax.
  bool Reduce(int64_t begin, int64_t end, Accumulators& to, int64_t i) {
    if (stored_folds_.long_row != nullptr) {
      stored_folds_.long_row(end - begin, runner_.stored(begin), to.at(0, i));
      return true;
    }
    if (!chain_folds_.empty()) {
      runner_.RunFolding(begin, end, chain_folds_[0]);
      StoreFold(chain_folds_[0], to.at(0, i));
      return true;
    }
    bool only_numbers = !program_.excludes_nans || !initial_is_nan_;
    const int64_t tile = program_.body.tile();
    for (int64_t t = begin; t < end; t += tile) {
      const int64_t n = std::min(tile, end - t);
      if (find_ != nullptr) {
        runner_.RunFirst(t, n);
        only_numbers &= UpdateArgMinMax(t, n, t == begin, to, i) || !program_.excludes_nans;
        continue;
      }
      runner_.RunTile(t, n);
      if (fold_.function != nullptr)
        to.FoldTile(runner_, fold_, i, n, t == begin);
      else if (t == begin)
        tile_->CopyTile(runner_, 0, n);
      else
        tile_->Combine(runner_, 0, n);
    }
    if (fold_.function != nullptr) return only_numbers;
    tile_->ReduceByTree(std::min(tile, end - begin));
    for (size_t k = 0; k < to.count(); ++k)
      std::memcpy(to.at(k, i), tile_->at(k, 0), ComputeTypeBytes(to.compute_type(k)));
    return true;
  }
  // Reduces the whole row to element i in order, starting with the initial value.
  void ReduceInOrder(void* const* arguments, Accumulators& to, int64_t i) {
    to.FillWithInit(arguments, i, 1);
    const int64_t tile = program_.body.tile(), end = program_.reduced_count();
    for (int64_t t = 0; t < end; t += tile) {
      const int64_t n = std::min(tile, end - t);
      runner_.RunTile(t, n);
      for (int64_t j = 0; j < n; ++j) to.CombineWith(i, runner_, j);
    }
  }

 private:
  const ReduceProgram& program_;
  TileRunner runner_;
  // Returns the last position of a zero of either sign if the value at `position` is zero, else `position`.
  static int64_t LastZero(ComputeType compute_type, int64_t n, const std::byte* values, int64_t position) {
    return DispatchComputeType(compute_type, [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        const T* a = reinterpret_cast<const T*>(values);
        if (a[position] != 0) return position;
        int64_t last = n - 1;
        while (a[last] != 0) --last;
        return last;
      } else {
        return position;
      }
    });
  }
  // Combines the tile's argmin or argmax pair with the previous tiles' pair. Returns false for a NaN.
  bool UpdateArgMinMax(int64_t begin, int64_t n, bool first, Accumulators& to, int64_t i) {
    Accumulators& pair = first ? to : *tile_;
    const int64_t at = first ? i : 0;
    const auto* values = static_cast<const std::byte*>(runner_.yielded(0));
    alignas(16) std::byte extreme[kMaxElementBytes];
    const void* in[] = {values};
    fold_.function(n, extreme, in, fold_.parameter);
    const int64_t width = ComputeTypeBytes(to.compute_type(0)), position = find_(n, values, extreme);
    const int64_t chosen =
        program_.keeps_last_value ? LastZero(to.compute_type(0), n, values, position) : position;
    std::memcpy(pair.at(0, at), values + chosen * width, width);
    FillIota(to.compute_type(1), 1, pair.at(1, at), begin + position, 0);
    const bool is_number = !IsNan(to.compute_type(0), pair.at(0, at));
    if (!first) to.CombineWith(i, *tile_);
    return is_number;
  }

  static bool IsNan(ComputeType compute_type, const void* value) {
    return DispatchComputeType(compute_type, [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        T number;
        std::memcpy(&number, value, sizeof number);
        return number != number;
      }
      return false;
    });
  }

  const void* StoredRow(int64_t row) {
    if (stored_ != nullptr) return stored_ + row * stored_step_;
    SetRow(row);
    return runner_.stored(0);
  }

  static void StoreFold(const ChainFold& fold, std::byte* to) {
    const float result = fold.result();
    std::memcpy(to, &result, sizeof result);
  }

  FindFn find_ = nullptr;
  bool initial_is_nan_ = false;
  TileCall fold_;
  StoredFolds stored_folds_;           // Reductions of rows directly in memory.
  const std::byte* stored_ = nullptr;  // Row 0 of those, if the row stride is constant.
  int64_t stored_step_ = 0;
  std::optional<Accumulators> tile_;
  // Folds for computed values; several rows are interleaved to hide the latency of the sums.
  static constexpr int64_t kFolds = 4;
  absl::InlinedVector<ChainFold, kFolds> chain_folds_;
};

void ReduceRows(const ReduceProgram& program, void* const* arguments) {
  const int64_t kept = program.kept_count(), reduced = program.reduced_count();
  const int64_t chunk = std::clamp(kept * reduced / 16, kReduceChunk, kLargestChunk);
  const int64_t per_chunk = std::max<int64_t>(1, chunk / reduced);
  ParallelFor(CeilDiv(kept, per_chunk), program.nanoseconds(), [&](int64_t chunk) {
    program.RunRows(arguments, chunk * per_chunk, std::min(kept, (chunk + 1) * per_chunk));
  });
}

// Reduces rows whose parts are contiguous in a tile.
void ReduceParts(const ReduceProgram& program, void* const* arguments) {
  const int64_t kept = program.kept_count(), length = program.part_length, parts = program.body.inner_count();
  ParallelFor(kept, program.nanoseconds(), [&](int64_t o) {
    TileRunner runner(program.body, arguments);
    Accumulators acc(program, parts);
    for (int64_t i = 0; i < length; ++i) {
      runner.SetOuter(o * length + i);
      runner.RunTile(0, parts);
      if (i == 0)
        acc.CopyTile(runner, 0, parts);
      else
        acc.Combine(runner, 0, parts);
    }
    acc.ReduceByTreeInOrder(parts);
    acc.CombineWithInit(arguments, 0, 1);
    acc.Store(arguments, 0, 1, o);
  });
}

// Reduces a few long rows in parallel pieces of a fixed size.
void ReduceLongRows(const ReduceProgram& program, void* const* arguments) {
  const int64_t kept = program.kept_count(), reduced = program.reduced_count();
  const int64_t pieces = CeilDiv(reduced, kPiece);
  Accumulators partial(program, kept * pieces);
  ParallelFor(kept * pieces, program.nanoseconds(), [&](int64_t i) {
    RowReducer reducer(program, arguments);
    reducer.SetRow(i / pieces);
    const int64_t begin = i % pieces * kPiece;
    reducer.Reduce(begin, std::min(reduced, begin + kPiece), partial, i);
  });
  for (int64_t o = 0; o < kept; ++o) {
    for (int64_t i = 1; i < pieces; ++i) partial.Fold(o * pieces, o * pieces + i, 1);
    partial.CombineWithInit(arguments, o * pieces, 1);
    partial.Store(arguments, o * pieces, 1, o);
  }
}

// Strips of columns that are processed row by row: long enough for sequential memory access, short enough for
// their accumulators to stay in the L1 cache. A strip is within one row of the body's innermost dimension.
struct Strips {
  explicit Strips(const ReduceProgram& program, int64_t longest) {
    const TileProgram& body = program.body;
    row = body.row();
    const bool wide = program.reassociation != Reassociation::kNone || body.inner_count() >= 8 * kLongest;
    length = std::min({row, wide ? kLongest : body.tile(), longest});
    per_row = CeilDiv(row, length);
    count = body.inner_count() / row * per_row;
  }
  int64_t begin(int64_t i) const { return i / per_row * row + i % per_row * length; }
  int64_t size(int64_t i) const { return std::min(length, row - i % per_row * length); }

  // Returns the length of strips whose cache lines and accumulators stay in the L1 cache from row to row.
  static int64_t LongestIn(const ReduceProgram& program) {
    constexpr int64_t kLine = 64, kLines = 512, kBytes = 8192;
    const std::optional<int64_t> distance = program.body.LongestDistance();
    if (!distance.has_value()) return kLongest;
    const int64_t width = ComputeTypeBytes(ComputeTypeOf(program.results[0].init_type));
    return std::min({kLongest, kBytes / width, kLines * kLine / std::min(*distance, kLine)});
  }

  static constexpr int64_t kLongest = 4096;
  int64_t row, length, per_row, count;
};

// Returns the storage type if the body only yields strips of an array unchanged.
std::optional<ElementType> YieldedStrips(const TileProgram& body) {
  if (const std::optional<ElementType> type = body.source().YieldedAsStored()) return type;
  const Access* load = body.source().YieldedLoad();
  const bool is_contiguous = load != nullptr && !body.inner_dims().empty() && load->inner.back() == 1 &&
                             body.row() == body.inner_dims().back();
  return is_contiguous ? std::optional(load->type) : std::nullopt;
}

// Returns the functions that add rows in memory to accumulators directly, if applicable.
StoredFolds ColumnFolds(const ReduceProgram& program) {
  const std::optional<ElementType> type = YieldedStrips(program.body);
  const bool is_one = program.fold_call.function != nullptr && program.combiner_code.step_count() == 1;
  return type.has_value() && is_one ? FindStoredFolds(program.fold_call, *type) : StoredFolds{};
}

// Columns that are the contiguous rows of an array, too far apart for loads of the same element of many
// columns. Blocks of them are transposed.
class TransposedColumns {
 public:
  static bool Fits(const ReduceProgram& program) {
    constexpr int64_t kFewest = 6;
    const TileProgram& body = program.body;
    const Access* load = body.source().YieldedLoad();
    if (load == nullptr || program.results.size() != 1 || body.inner_dims().size() != 1 ||
        body.outer_dims().size() != 1)
      return false;
    const int64_t width = ByteCount(load->type), stride = load->inner[0];
    return load->outer[0] == 1 && stride > 1 && !CollectsApart(stride, width) && (width == 4 || width == 8) &&
           LoadTile(load->type).function == nullptr && program.reduced_count() >= kFewest;
  }

  TransposedColumns(const ReduceProgram& program, void* const* arguments)
      : access_(program.body.access(0)),
        width_(ByteCount(access_.type)),
        from_(static_cast<const std::byte*>(arguments[access_.argument]) +
              StartOf(access_, arguments) * width_) {
    if (program.fold_call.function != nullptr && program.combiner_code.step_count() == 1)
      columns_ = FindStoredFolds(program.fold_call, access_.type).columns;
  }

  // Combines columns [begin, begin + size) with the accumulators from 0 on.
  void Reduce(int64_t begin, int64_t size, int64_t reduced, Accumulators& to) const {
    for (int64_t c = 0; c < size; c += kColumns) {
      const int64_t n = std::min(kColumns, size - c);
      for (int64_t r = 0; r < reduced; r += kRows)
        ReduceBlock(begin + c, n, r, std::min(kRows, reduced - r), to, c);
    }
  }

 private:
  static constexpr int64_t kRows = 16, kColumns = 128, kWidest = 8;

  void ReduceBlock(int64_t begin, int64_t n, int64_t first, int64_t rows, Accumulators& to,
                   int64_t at) const {
    alignas(64) std::byte block[kRows * kColumns * kWidest];
    const int64_t stride = access_.inner[0], bytes = n * width_;
    CopyArray({{rows, 1, n}, {n, stride, 1}}, width_, from_ + (begin * stride + first) * width_, block);
    constexpr int kAtOnce = StoredFolds::kAtOnce;
    int64_t r = 0;
    for (; columns_ != nullptr && r + kAtOnce <= rows; r += kAtOnce) {
      const void* each[kAtOnce];
      for (int k = 0; k < kAtOnce; ++k) each[k] = block + (r + k) * bytes;
      columns_(n, each, to.at(0, at));
    }
    for (; r < rows; ++r) to.CombineWithRow(at, n, block + r * bytes);
  }

  const Access& access_;
  int64_t width_;
  const std::byte* from_;
  void (*columns_)(int64_t, const void* const*, void*) = nullptr;
};

// Returns false if there is no native code for all columns.
bool ReduceColumnsAtOnce(const ReduceProgram& program, void* const* arguments) {
  if (program.column_loop == nullptr) return false;
  const int64_t kept = program.kept_count(), groups = program.column_loop->group_size(),
                part = program.column_loop->part_length();
  Accumulators acc(program, kept * groups);
  for (int64_t i = 0; i < kept; i += part) {
    acc.FillWithInit(arguments, i * groups, part);
    if (groups > 1) acc.FillWithNeutral(i * groups + part, part * (groups - 1));
  }
  absl::InlinedVector<void*, 4> accumulators;
  for (size_t k = 0; k < acc.count(); ++k) accumulators.push_back(acc.at(k, 0));
  if (!program.column_loop->Run(arguments, std::move(accumulators))) return false;
  for (int64_t i = 0; i < kept; i += part) {
    acc.ReduceByTree(groups, part, i * groups);
    acc.Store(arguments, i * groups, part, i);
  }
  return true;
}

void ReduceShortRowsOfColumns(const ReduceProgram& program, void* const* arguments) {
  const int64_t kept = program.kept_count();
  Accumulators acc(program, kept);
  acc.FillWithInit(arguments, 0, kept);
  program.short_rows->ReduceColumns(arguments, acc);
  acc.Store(arguments, 0, kept, 0);
}

void ReduceColumns(const ReduceProgram& program, void* const* arguments) {
  if (ReduceColumnsAtOnce(program, arguments)) return;
  if (program.short_rows != nullptr) return ReduceShortRowsOfColumns(program, arguments);
  const int64_t kept = program.kept_count(), reduced = program.reduced_count(), tile = program.body.tile();
  const Strips longest(program, Strips::kLongest);
  // Long columns are split as well if the combiner is associative.
  constexpr int64_t kMaxPieces = 16;
  const int64_t rows_per_piece =
      std::max({int64_t{64}, kPiece * 4 / longest.length, CeilDiv(reduced, kMaxPieces)});
  const int64_t pieces = program.reassociation != Reassociation::kNone && longest.count < 8
                             ? std::max<int64_t>(1, CeilDiv(reduced, rows_per_piece))
                             : 1;
  const Strips strips(program, Strips::LongestIn(program));
  const int64_t piece_rows = CeilDiv(reduced, pieces);
  Accumulators partial(program, pieces > 1 ? pieces * kept : 1);
  const StoredFolds folds = ColumnFolds(program);
  const bool transposes = pieces == 1 && TransposedColumns::Fits(program);
  ParallelFor(strips.count * pieces, program.nanoseconds(), [&](int64_t i) {
    const int64_t begin = strips.begin(i / pieces), size = strips.size(i / pieces), piece = i % pieces;
    if (transposes) {
      Accumulators acc(program, size);
      acc.FillWithInit(arguments, 0, size);
      TransposedColumns(program, arguments).Reduce(begin, size, reduced, acc);
      return acc.Store(arguments, 0, size, begin);
    }
    TileRunner runner(program.body, arguments);
    runner.ReadAhead();
    Accumulators acc(program, size);
    bool empty = piece > 0;
    if (!empty) acc.FillWithInit(arguments, 0, size);
    const int64_t end = std::min(reduced, (piece + 1) * piece_rows);
    for (int64_t r = piece * piece_rows; r < end;) {
      constexpr int kAtOnce = StoredFolds::kAtOnce;
      if (folds.columns != nullptr && !empty && r + kAtOnce <= end) {
        const void* rows[kAtOnce];
        for (int k = 0; k < kAtOnce; ++k) {
          runner.SetOuter(r++);
          rows[k] = runner.stored(begin);
        }
        folds.columns(size, rows, acc.at(0, 0));
        continue;
      }
      runner.SetOuter(r++);
      for (int64_t t = 0; t < size; t += tile) {
        const int64_t n = std::min(tile, size - t);
        runner.RunTile(begin + t, n);
        if (empty)
          acc.CopyTile(runner, t, n);
        else
          acc.Combine(runner, t, n);
      }
      empty = false;
    }
    if (pieces == 1) {
      acc.Store(arguments, 0, size, begin);
      return;
    }
    for (size_t k = 0; k < acc.count(); ++k)
      std::memcpy(partial.at(k, piece * kept + begin), acc.at(k, 0),
                  size * ComputeTypeBytes(acc.compute_type(k)));
  });
  if (pieces == 1) return;
  for (int64_t begin = 0; begin < kept; begin += tile) {
    const int64_t n = std::min(tile, kept - begin);
    for (int64_t piece = 1; piece * piece_rows < reduced; ++piece)
      partial.Fold(begin, piece * kept + begin, n);
    partial.Store(arguments, begin, n, begin);
  }
}

}  // namespace

ReduceProgram::ReduceProgram(loops::ReduceProgram source)
    : loops::Reduction(std::move(static_cast<loops::Reduction&>(source))),
      body(std::move(source.body)),
      combiner_code(combiner) {
  if (fold.has_value()) fold_call = FindTileFold(*fold, results[0].init_type);
  stored = StoredReduction::Make(*this, body, fold_call);
  if (stored == nullptr) short_rows = ShortRows::Make(*this, body.source());
}

void ReduceProgram::AllowNativeCode() {
  body.AllowNativeCode();
  combiner_code.AllowNativeCode(combiner);
  if (ColumnFolds(*this).columns == nullptr) column_loop = ColumnLoop::Make(*this, body.source());
}

double ReduceProgram::nanoseconds() const {
  return (body.nanoseconds_per_element() + combiner_code.nanoseconds_per_element()) *
         static_cast<double>(kept_count()) * static_cast<double>(reduced_count());
}

bool SupportsRowRanges(const loops::ReduceProgram& program) {
  return RunsByRows(program, program.kept_count(), program.reduced_count());
}
bool YieldsFromChain(const loops::LoopProgram& program) { return TileProgram(program).Folds(); }
bool ReducesInChain(const loops::ReduceProgram& program) {
  if (!program.fold.has_value()) return false;
  const TileProgram body(program.body);
  const TileCall fold = FindTileFold(*program.fold, program.results[0].init_type);
  return body.Folds() && ChainFold::KindOf(fold, body.YieldsBF16()).has_value();
}

void ReduceProgram::RunShortRows(void* const* arguments, int64_t begin, int64_t end) const {
  Accumulators results(*this, end - begin);
  short_rows->ReduceRows(arguments, begin, end, results);
  results.CombineWithInit(arguments, 0, end - begin);
  results.Store(arguments, 0, end - begin, begin);
}

void ReduceProgram::RunRows(void* const* arguments, int64_t begin, int64_t end) const {
  if (short_rows != nullptr) return RunShortRows(arguments, begin, end);
  body.PrepareNativeCode(body.nanoseconds_per_element() * static_cast<double>(end - begin) *
                         static_cast<double>(reduced_count()));
  RowReducer reducer(*this, arguments);
  Accumulators results(*this, end - begin);
  CachedVector<int64_t> with_nans;
  reducer.ReduceRows(begin, end, results, &with_nans);
  results.CombineWithInit(arguments, 0, end - begin);
  for (const int64_t o : with_nans) {
    reducer.SetRow(o);
    reducer.ReduceInOrder(arguments, results, o - begin);
  }
  results.Store(arguments, 0, end - begin, begin);
}

void ReduceProgram::Run(void* const* arguments) const {
  if (stored != nullptr) return stored->Run(combiner_code, arguments);
  if (kept_count() == 0) return;
  body.PrepareNativeCode(body.nanoseconds_per_element() * static_cast<double>(kept_count()) *
                         static_cast<double>(reduced_count()));
  if (reduced_count() == 0) {
    Accumulators acc(*this, 1);
    acc.FillWithInit(arguments, 0, 1);
    for (int64_t i = 0; i < kept_count(); ++i) acc.Store(arguments, 0, 1, i);
  } else if (!rows) {
    ReduceColumns(*this, arguments);
  } else if (part_length > 1) {
    ReduceParts(*this, arguments);
  } else if (RunsByRows(*this, kept_count(), reduced_count())) {
    ReduceRows(*this, arguments);
  } else {
    ReduceLongRows(*this, arguments);
  }
}

}  // namespace hlo::cpu
