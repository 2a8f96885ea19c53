#include "kernels/cpu/reduce_program.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/parallel.h"
#include "kernels/cpu/tile_loops.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kPiece = 32 << 10;  // Elements of a long reduction that are reduced by themselves.
constexpr int64_t kChunk = 16 << 10;  // Elements that a thread takes at a time.
constexpr int64_t kWidest = 16;

// Accumulators: for each result a run of elements in its lane.
class Accumulators {
 public:
  Accumulators(const ReduceProgram& program, int64_t length) : program_(program) {
    bytes_.reset(new std::byte[program.results.size() * length * kWidest]);
    for (size_t k = 0; k < program.results.size(); ++k) {
      at_.push_back(bytes_.get() + k * length * kWidest);
      width_.push_back(LaneBytes(lane(k)));
    }
  }
  Lane lane(size_t k) const { return LaneOf(program_.results[k].init_type); }
  std::byte* at(size_t k, int64_t i) { return at_[k] + i * width_[k]; }
  size_t count() const { return at_.size(); }

  // The elements from `i` on become those of the body's tile.
  void Take(const TileProgram::Runner& runner, int64_t i, int64_t n) {
    for (size_t k = 0; k < count(); ++k)
      std::memcpy(at(k, i), runner.yielded(static_cast<int64_t>(k)), n * width_[k]);
  }
  void FillWithInit(void* const* arguments, int64_t i, int64_t n) {
    alignas(16) std::byte element[kWidest];
    for (size_t k = 0; k < count(); ++k) {
      LoadInit(arguments, k, element);
      CopyStrided(n, width_[k], at(k, i), 1, element, 0);
    }
  }
  void Combine(const TileProgram::Runner& runner, int64_t i, int64_t n) {
    absl::InlinedVector<const void*, 8> in;
    for (size_t k = 0; k < count(); ++k) in.push_back(at(k, i));
    for (size_t k = 0; k < count(); ++k) in.push_back(runner.yielded(static_cast<int64_t>(k)));
    CombineInto(i, n, in.data());
  }
  // Element i becomes the body's tile folded, or is combined with it.
  void FoldTile(const TileProgram::Runner& runner, const TileCall& fold, int64_t i, int64_t n, bool first) {
    alignas(16) std::byte element[kWidest];
    const void* in[] = {runner.yielded(0)};
    fold.function(n, first ? at(0, i) : element, in, fold.parameter);
    if (first) return;
    const void* both[] = {at(0, i), element};
    CombineInto(i, 1, both);
  }
  // acc[i] = combiner(acc[i], other[0])
  void CombineWith(int64_t i, Accumulators& other) {
    absl::InlinedVector<const void*, 8> in;
    for (size_t k = 0; k < count(); ++k) in.push_back(at(k, i));
    for (size_t k = 0; k < count(); ++k) in.push_back(other.at(k, 0));
    CombineInto(i, 1, in.data());
  }
  // The same with element j of the body's tile.
  void CombineWith(int64_t i, const TileProgram::Runner& runner, int64_t j) {
    absl::InlinedVector<const void*, 8> in;
    for (size_t k = 0; k < count(); ++k) in.push_back(at(k, i));
    for (size_t k = 0; k < count(); ++k)
      in.push_back(static_cast<const std::byte*>(runner.yielded(static_cast<int64_t>(k))) + j * width_[k]);
    CombineInto(i, 1, in.data());
  }
  // acc[i + j] = combiner(acc[i + j], acc[other + j])
  void Fold(int64_t i, int64_t other, int64_t n) {
    absl::InlinedVector<const void*, 8> in;
    for (size_t k = 0; k < count(); ++k) in.push_back(at(k, i));
    for (size_t k = 0; k < count(); ++k) in.push_back(at(k, other));
    CombineInto(i, n, in.data());
  }
  // The first n elements to their first.
  void Halve(int64_t n) {
    while (n > 1) {
      const int64_t half = (n + 1) / 2;
      Fold(0, half, n - half);
      n = half;
    }
  }
  // As Halve, but neighbours with neighbours.
  void HalveInOrder(int64_t n) {
    std::vector<std::byte> sides(2 * count() * n * kWidest);
    absl::InlinedVector<const void*, 8> in(2 * count());
    for (; n > 1; n = (n + 1) / 2) {
      const int64_t pairs = n / 2;
      for (size_t k = 0; k < 2 * count(); ++k) {
        std::byte* side = sides.data() + static_cast<int64_t>(k) * n * kWidest;
        const size_t value = k % count();
        CopyStrided(pairs, width_[value], side, 1, at(value, k < count() ? 0 : 1), 2);
        in[k] = side;
      }
      if (n % 2 != 0) {
        for (size_t k = 0; k < count(); ++k) std::memcpy(at(k, pairs), at(k, n - 1), width_[k]);
      }
      CombineInto(0, pairs, in.data());
    }
  }
  // combiner(init, acc[j]) for j of [i, i + n)
  void AddInit(void* const* arguments, int64_t i, int64_t n) {
    Accumulators inits(program_, n);
    inits.FillWithInit(arguments, 0, n);
    absl::InlinedVector<const void*, 8> in;
    for (size_t k = 0; k < count(); ++k) in.push_back(inits.at(k, 0));
    for (size_t k = 0; k < count(); ++k) in.push_back(at(k, i));
    CombineInto(i, n, in.data());
  }
  // acc[i, i + n) become results from `to` on.
  void Store(void* const* arguments, int64_t i, int64_t n, int64_t to) {
    for (size_t k = 0; k < count(); ++k) {
      const ReduceProgram::Result& result = program_.results[k];
      auto* out = static_cast<std::byte*>(arguments[result.output]) + to * ByteCount(result.output_type);
      const TileCall narrow = StoreTile(result.output_type);
      const void* in[] = {at(k, i)};
      if (narrow.function != nullptr)
        narrow.function(n, out, in, narrow.parameter);
      else
        std::memcpy(out, in[0], n * width_[k]);
    }
  }

 private:
  void LoadInit(void* const* arguments, size_t k, std::byte* element) {
    const ReduceProgram::Result& result = program_.results[k];
    const TileCall widen = LoadTile(result.init_type);
    const void* in[] = {arguments[result.init]};
    if (widen.function != nullptr)
      widen.function(1, element, in, widen.parameter);
    else
      std::memcpy(element, in[0], width_[k]);
  }
  void CombineInto(int64_t i, int64_t n, const void* const* in) {
    absl::InlinedVector<void*, 8> out;
    for (size_t k = 0; k < count(); ++k) out.push_back(at(k, i));
    program_.combiner.Run(n, in, out.data());
  }

  const ReduceProgram& program_;
  std::unique_ptr<std::byte[]> bytes_;
  absl::InlinedVector<std::byte*, 4> at_;
  absl::InlinedVector<int64_t, 4> width_;
};

// Rows of a program, one after the other.
class RowReducer {
 public:
  RowReducer(const ReduceProgram& program, void* const* arguments)
      : program_(program), runner_(program.body, arguments), fold_(program.fold) {
    const std::optional<ElementType> type = program.body.YieldedAsStored();
    if (type.has_value()) stored_fold_ = FindStoredFold(fold_, *type);
    if (program.pick != ReduceProgram::Pick::kNone) {
      const Opcode extreme =
          program.pick == ReduceProgram::Pick::kLargest ? Opcode::kMaximum : Opcode::kMinimum;
      fold_ = FindTileFold(extreme, program.results[0].init_type);
      find_ = FindFirstEqual(LaneOf(program.results[0].init_type));
      tile_.emplace(program, 1);
      tile_->FillWithInit(arguments, 0, 1);
      initial_is_nan_ = IsNan(tile_->lane(0), tile_->at(0, 0));
    } else if (fold_.function == nullptr)
      tile_.emplace(program, program.body.tile());
    else if (program.body.YieldsBF16())
      fold_ = FindBF16Fold(fold_);
  }

  void SetRow(int64_t row) { runner_.SetOuter(row); }
  // Inner positions [begin, end) of the row, to element i. False where a NaN forbids to combine them by
  // picking.
  bool Reduce(int64_t begin, int64_t end, Accumulators& to, int64_t i) {
    if (stored_fold_.function != nullptr) {
      const void* in[] = {runner_.stored(begin)};
      stored_fold_.function(end - begin, to.at(0, i), in, stored_fold_.parameter);
      return true;
    }
    bool only_numbers = !program_.picks_among_numbers || !initial_is_nan_;
    const int64_t tile = program_.body.tile();
    for (int64_t t = begin; t < end; t += tile) {
      const int64_t n = std::min(tile, end - t);
      if (find_ != nullptr) {
        runner_.RunFirst(t, n);
        only_numbers &= PickFromTile(t, n, t == begin, to, i) || !program_.picks_among_numbers;
        continue;
      }
      runner_.RunTile(t, n);
      if (fold_.function != nullptr)
        to.FoldTile(runner_, fold_, i, n, t == begin);
      else if (t == begin)
        tile_->Take(runner_, 0, n);
      else
        tile_->Combine(runner_, 0, n);
    }
    if (fold_.function != nullptr) return only_numbers;
    tile_->Halve(std::min(tile, end - begin));
    for (size_t k = 0; k < to.count(); ++k) std::memcpy(to.at(k, i), tile_->at(k, 0), LaneBytes(to.lane(k)));
    return true;
  }
  // The whole row to element i, one after the other from the initial value on.
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
  TileProgram::Runner runner_;
  // Of values that are zeros like that of a position, the last one's position; that one for other values.
  static int64_t LastZero(Lane lane, int64_t n, const std::byte* values, int64_t position) {
    return DispatchLane(lane, [&]<class T>() {
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
  // The tile's pair goes after those before it.
  // False where its value is a NaN.
  bool PickFromTile(int64_t begin, int64_t n, bool first, Accumulators& to, int64_t i) {
    Accumulators& pair = first ? to : *tile_;
    const int64_t at = first ? i : 0;
    const auto* values = static_cast<const std::byte*>(runner_.yielded(0));
    alignas(16) std::byte extreme[kWidest];
    const void* in[] = {values};
    fold_.function(n, extreme, in, fold_.parameter);
    const int64_t width = LaneBytes(to.lane(0)), position = find_(n, values, extreme);
    const int64_t chosen = program_.picks_last_value ? LastZero(to.lane(0), n, values, position) : position;
    std::memcpy(pair.at(0, at), values + chosen * width, width);
    FillIota(to.lane(1), 1, pair.at(1, at), begin + position, 0);
    const bool is_number = !IsNan(to.lane(0), pair.at(0, at));
    if (!first) to.CombineWith(i, *tile_);
    return is_number;
  }

  static bool IsNan(Lane lane, const void* value) {
    return DispatchLane(lane, [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        T number;
        std::memcpy(&number, value, sizeof number);
        return number != number;
      }
      return false;
    });
  }

  FindFn find_ = nullptr;
  bool initial_is_nan_ = false;
  TileCall fold_, stored_fold_;  // The latter reads rows as they are stored.
  std::optional<Accumulators> tile_;
};

void ReduceRows(const ReduceProgram& program, void* const* arguments) {
  const int64_t kept = program.kept_count();
  const int64_t per_chunk = std::max<int64_t>(1, kChunk / program.reduced_count());
  ParallelFor((kept + per_chunk - 1) / per_chunk, program.nanoseconds(), [&](int64_t chunk) {
    program.RunRows(arguments, chunk * per_chunk, std::min(kept, (chunk + 1) * per_chunk));
  });
}

// Rows as parts that stand side by side.
void ReduceParts(const ReduceProgram& program, void* const* arguments) {
  const int64_t kept = program.kept_count(), length = program.part_length, parts = program.body.inner_count();
  ParallelFor(kept, program.nanoseconds(), [&](int64_t o) {
    TileProgram::Runner runner(program.body, arguments);
    Accumulators acc(program, parts);
    for (int64_t i = 0; i < length; ++i) {
      runner.SetOuter(o * length + i);
      runner.RunTile(0, parts);
      if (i == 0)
        acc.Take(runner, 0, parts);
      else
        acc.Combine(runner, 0, parts);
    }
    acc.HalveInOrder(parts);
    acc.AddInit(arguments, 0, 1);
    acc.Store(arguments, 0, 1, o);
  });
}

// Few long rows: cut into pieces of a fixed size.
void ReduceLongRows(const ReduceProgram& program, void* const* arguments) {
  const int64_t kept = program.kept_count(), reduced = program.reduced_count();
  const int64_t pieces = (reduced + kPiece - 1) / kPiece;
  Accumulators partial(program, kept * pieces);
  ParallelFor(kept * pieces, program.nanoseconds(), [&](int64_t i) {
    RowReducer reducer(program, arguments);
    reducer.SetRow(i / pieces);
    const int64_t begin = i % pieces * kPiece;
    reducer.Reduce(begin, std::min(reduced, begin + kPiece), partial, i);
  });
  for (int64_t o = 0; o < kept; ++o) {
    for (int64_t i = 1; i < pieces; ++i) partial.Fold(o * pieces, o * pieces + i, 1);
    partial.AddInit(arguments, o * pieces, 1);
    partial.Store(arguments, o * pieces, 1, o);
  }
}

// Strips of columns, walked row by row: long enough that memory is read in order, short enough that their
// accumulators stay in the L1 cache. A strip lies within one row of the body's innermost dimension.
struct Strips {
  explicit Strips(const ReduceProgram& program) {
    const TileProgram& body = program.body;
    row = body.row();
    const bool wide = program.grouping != Grouping::kNone || body.inner_count() >= 8 * kLongest;
    length = std::min(row, wide ? kLongest : body.tile());
    per_row = (row + length - 1) / length;
    count = body.inner_count() / row * per_row;
  }
  int64_t begin(int64_t i) const { return i / per_row * row + i % per_row * length; }
  int64_t size(int64_t i) const { return std::min(length, row - i % per_row * length); }

  static constexpr int64_t kLongest = 4096;
  int64_t row, length, per_row, count;
};

void ReduceColumns(const ReduceProgram& program, void* const* arguments) {
  const int64_t kept = program.kept_count(), reduced = program.reduced_count(), tile = program.body.tile();
  const Strips strips(program);
  // Long columns are cut too, where the combiner allows it.
  constexpr int64_t kMostPieces = 16;
  const int64_t rows_per_piece =
      std::max({int64_t{64}, kPiece * 4 / strips.length, (reduced + kMostPieces - 1) / kMostPieces});
  const int64_t pieces = program.grouping != Grouping::kNone && strips.count < 8
                             ? std::max<int64_t>(1, (reduced + rows_per_piece - 1) / rows_per_piece)
                             : 1;
  const int64_t piece_rows = (reduced + pieces - 1) / pieces;
  Accumulators partial(program, pieces > 1 ? pieces * kept : 1);
  ParallelFor(strips.count * pieces, program.nanoseconds(), [&](int64_t i) {
    const int64_t begin = strips.begin(i / pieces), size = strips.size(i / pieces), piece = i % pieces;
    TileProgram::Runner runner(program.body, arguments);
    Accumulators acc(program, size);
    bool empty = piece > 0;
    if (!empty) acc.FillWithInit(arguments, 0, size);
    for (int64_t r = piece * piece_rows; r < std::min(reduced, (piece + 1) * piece_rows); ++r) {
      runner.SetOuter(r);
      for (int64_t t = 0; t < size; t += tile) {
        const int64_t n = std::min(tile, size - t);
        runner.RunTile(begin + t, n);
        if (empty)
          acc.Take(runner, t, n);
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
      std::memcpy(partial.at(k, piece * kept + begin), acc.at(k, 0), size * LaneBytes(acc.lane(k)));
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

TileValue TileCode::Apply(TileCall call, Lane result, absl::Span<const TileValue> operands) {
  HLO_CHECK(call.function != nullptr && operands.size() <= 3);
  lanes_.push_back(result);
  Step step{call, static_cast<TileValue>(lanes_.size() - 1)};
  step.in.fill(operands.empty() ? 0 : operands[0]);
  std::copy(operands.begin(), operands.end(), step.in.begin());
  steps_.push_back(step);
  return step.out;
}

TileValue TileCode::Constant(Lane lane, const void* element) {
  lanes_.push_back(lane);
  Step step{{}, static_cast<TileValue>(lanes_.size() - 1)};
  std::memcpy(step.constant.data(), element, LaneBytes(lane));
  steps_.push_back(step);
  return step.out;
}

void TileCode::Run(int64_t n, const void* const* in, void* const* out) const {
  // The usual combiner is one operation.
  if (steps_.size() == 1 && results_.size() == 1 && steps_[0].call.function != nullptr &&
      results_[0] == steps_[0].out) {
    const Step& step = steps_[0];
    const void* operands[] = {in[step.in[0]], in[step.in[1]], in[step.in[2]]};
    step.call.function(n, out[0], operands, step.call.parameter);
    return;
  }
  constexpr int64_t kPart = 128;
  constexpr size_t kMost = 64;
  HLO_CHECK(lanes_.size() <= kMost);
  alignas(64) std::byte scratch[kMost][kPart * 16];
  const void* at[kMost];
  for (int64_t begin = 0; begin < n; begin += kPart) {
    const int64_t length = std::min(kPart, n - begin);
    for (size_t i = 0; i < inputs_; ++i)
      at[i] = static_cast<const std::byte*>(in[i]) + begin * LaneBytes(lanes_[i]);
    for (const Step& step : steps_) {
      std::byte* to = scratch[step.out];
      if (step.call.function == nullptr) {
        CopyStrided(length, LaneBytes(lanes_[step.out]), to, 1, step.constant.data(), 0);
      } else {
        const void* operands[] = {at[step.in[0]], at[step.in[1]], at[step.in[2]]};
        step.call.function(length, to, operands, step.call.parameter);
      }
      at[step.out] = to;
    }
    // All results are known before the first is written: it may be an input of another.
    for (size_t k = 0; k < results_.size(); ++k) {
      const TileValue value = results_[k];
      const int64_t width = LaneBytes(lanes_[value]);
      if (static_cast<size_t>(value) < inputs_) std::memcpy(scratch[value], at[value], length * width);
    }
    for (size_t k = 0; k < results_.size(); ++k) {
      const TileValue value = results_[k];
      const int64_t width = LaneBytes(lanes_[value]);
      std::memcpy(static_cast<std::byte*>(out[k]) + begin * width, scratch[value], length * width);
    }
  }
}

double ReduceProgram::nanoseconds() const {
  return (body.nanoseconds_per_element() + 0.3 * static_cast<double>(combiner.step_count())) *
         static_cast<double>(kept_count()) * static_cast<double>(reduced_count());
}

bool ReduceProgram::TakesRows() const {
  const bool in_pieces = reduced_count() >= 2 * kPiece && kept_count() < 8 && !picks_among_numbers;
  return rows && part_length == 1 && reduced_count() > 0 && !in_pieces;
}

void ReduceProgram::RunRows(void* const* arguments, int64_t begin, int64_t end) const {
  RowReducer reducer(*this, arguments);
  Accumulators results(*this, end - begin);
  std::vector<int64_t> with_nans;
  for (int64_t o = begin; o < end; ++o) {
    reducer.SetRow(o);
    if (!reducer.Reduce(0, reduced_count(), results, o - begin)) with_nans.push_back(o);
  }
  results.AddInit(arguments, 0, end - begin);
  for (const int64_t o : with_nans) {
    reducer.SetRow(o);
    reducer.ReduceInOrder(arguments, results, o - begin);
  }
  results.Store(arguments, 0, end - begin, begin);
}

void ReduceProgram::Run(void* const* arguments) const {
  if (kept_count() == 0) return;
  if (reduced_count() == 0) {
    Accumulators acc(*this, 1);
    acc.FillWithInit(arguments, 0, 1);
    for (int64_t i = 0; i < kept_count(); ++i) acc.Store(arguments, 0, 1, i);
  } else if (!rows) {
    ReduceColumns(*this, arguments);
  } else if (part_length > 1) {
    ReduceParts(*this, arguments);
  } else if (TakesRows()) {
    ReduceRows(*this, arguments);
  } else {
    ReduceLongRows(*this, arguments);
  }
}

}  // namespace hlo::cpu
