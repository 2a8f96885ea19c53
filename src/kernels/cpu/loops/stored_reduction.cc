#include "kernels/cpu/loops/stored_reduction.h"

#include <algorithm>
#include <optional>

#include "kernels/cpu/loops/access_runs.h"

namespace hlo::cpu {
namespace {

constexpr int64_t kMaxStoredElements = 4096, kMaxResults = 256, kMaxWidth = 8;

// Returns the storage type if the body only yields elements of an array unchanged, which are contiguous, or
// contiguous along the second of two dimensions of columns.
std::optional<ElementType> StoredType(const loops::LoopProgram& body, bool rows) {
  if (const std::optional<ElementType> type = body.YieldedAsStored()) return type;
  const loops::Access* load = body.YieldedLoad();
  return load != nullptr && !rows && body.inner_dims().size() == 2 && load->inner.back() == 1
             ? std::optional(load->type)
             : std::nullopt;
}

}  // namespace

std::shared_ptr<const StoredReduction> StoredReduction::Make(const loops::Reduction& reduction,
                                                             const TileProgram& body, const TileCall& fold) {
  const std::optional<ElementType> type = StoredType(body.source(), reduction.rows);
  if (!type.has_value() || fold.function == nullptr || reduction.results.size() != 1 ||
      reduction.part_length != 1 || reduction.arg_min_max != loops::Reduction::ArgMinMax::kNone ||
      reduction.combiner.steps().size() != 1 || body.outer_dims().size() > 1)
    return nullptr;
  const loops::Reduction::Result& result = reduction.results[0];
  const int64_t kept = reduction.KeptCount(body), reduced = reduction.ReducedCount(body);
  const bool is_stored_as_computed = LoadTile(*type).function == nullptr &&
                                     StoreTile(*type).function == nullptr && ByteCount(*type) <= kMaxWidth;
  if (!is_stored_as_computed || result.init_type != *type || result.output_type != *type || kept == 0 ||
      kept > kMaxResults || reduced == 0 || kept * reduced > kMaxStoredElements)
    return nullptr;
  std::shared_ptr<StoredReduction> made(new StoredReduction);
  made->folds_ = FindStoredFolds(fold, *type);
  if (reduction.rows ? made->folds_.row == nullptr : made->folds_.columns == nullptr) return nullptr;
  made->rows_ = reduction.rows;
  made->access_ = body.access(0);
  made->kept_ = kept;
  made->reduced_ = reduced;
  made->width_ = ByteCount(*type);
  made->step_ = body.outer_dims().empty() ? 0 : made->access_.outer[0] * made->width_;
  const bool has_parts = !reduction.rows && body.inner_dims().size() == 2;
  made->part_ = has_parts ? body.inner_dims()[1] : kept;
  made->part_step_ = has_parts ? made->access_.inner[0] * made->width_ : 0;
  made->init_ = result.init;
  made->output_ = result.output;
  return made;
}

void StoredReduction::Run(const TileCode& combiner, void* const* arguments) const {
  alignas(64) std::byte results[kMaxResults * kMaxWidth];
  alignas(64) std::byte inits[kMaxResults * kMaxWidth];
  const std::byte* from =
      static_cast<const std::byte*>(arguments[access_.argument]) + StartOf(access_, arguments) * width_;
  CopyStrided(kept_, width_, rows_ ? inits : results, 1, arguments[init_], 0);
  void* const out[] = {arguments[output_]};
  if (rows_) {
    ReduceRows(from, results);
    const void* const in[] = {inits, results};
    combiner.Run(kept_, in, out);
  } else {
    for (int64_t i = 0; i < kept_; i += part_, from += part_step_)
      ReduceColumns(combiner, from, part_, results + i * width_);
    std::copy_n(results, kept_ * width_, static_cast<std::byte*>(out[0]));
  }
}

void StoredReduction::ReduceRows(const std::byte* from, std::byte* results) const {
  constexpr int kAtOnce = StoredFolds::kAtOnce;
  int64_t row = 0;
  for (; folds_.rows != nullptr && row + kAtOnce <= kept_; row += kAtOnce) {
    const void* rows[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) rows[k] = from + (row + k) * step_;
    folds_.rows(reduced_, rows, results + row * width_);
  }
  for (; row < kept_; ++row) folds_.row(reduced_, from + row * step_, results + row * width_);
}

void StoredReduction::ReduceColumns(const TileCode& combiner, const std::byte* from, int64_t count,
                                    std::byte* results) const {
  constexpr int kAtOnce = StoredFolds::kAtOnce;
  int64_t row = 0;
  for (; row + kAtOnce <= reduced_; row += kAtOnce) {
    const void* rows[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) rows[k] = from + (row + k) * step_;
    folds_.columns(count, rows, results);
  }
  for (; row < reduced_; ++row) {
    const void* const in[] = {results, from + row * step_};
    void* const out[] = {results};
    combiner.Run(count, in, out);
  }
}

}  // namespace hlo::cpu
