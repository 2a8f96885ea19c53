// This file derives a program whose outer index iterates over rows.

#include <utility>

#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {
namespace {

// Moves the first `outer` inner dimensions to the outer index.
void MoveOut(size_t outer, Affine& affine) {
  affine.outer.assign(affine.inner.begin(), affine.inner.begin() + static_cast<std::ptrdiff_t>(outer));
  affine.inner.erase(affine.inner.begin(), affine.inner.begin() + static_cast<std::ptrdiff_t>(outer));
}

// Splits dimension d into two, the second of which has `size`.
void SplitStride(size_t d, int64_t size, Strides& strides) {
  strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(d), strides[d] * size);
}

}  // namespace

std::optional<TileProgram> TileProgram::ByRows(int64_t length) const {
  if (!outer_dims_.empty() || !yielded_.empty() || length <= 0) return std::nullopt;
  std::vector<int64_t> dims = inner_dims_;
  size_t first = dims.size();  // First dimension of the row.
  int64_t left = length;
  while (left > 1 && first > 0 && left % dims[first - 1] == 0) left /= dims[--first];
  const bool splits = left > 1;
  if (splits) {
    if (first == 0 || dims[first - 1] % left != 0) return std::nullopt;
    dims[first - 1] /= left;
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(first), left);
  }
  const auto split = [&](Affine& affine) {
    if (splits) SplitStride(first - 1, left, affine.inner);
    MoveOut(first, affine);
  };
  const auto split_access = [&](int32_t number) {
    Access access = accesses_[number];
    Affine own{access.offset, access.outer, access.inner};
    split(own);
    access.outer = std::move(own.outer);
    access.inner = std::move(own.inner);
    VisitExtras(access, split);
    access.next = -1;
    return access;
  };
  const auto begin = dims.begin() + static_cast<std::ptrdiff_t>(first);
  TileProgram program(std::vector<int64_t>(dims.begin(), begin), std::vector<int64_t>(begin, dims.end()));
  std::vector<TileValue> values(values_.size());
  for (const Step& step : steps_) {
    if (step.access >= 0) {
      std::vector<Access> pieces;
      for (int32_t a = step.access; a >= 0; a = accesses_[a].next) pieces.push_back(split_access(a));
      values[step.out] = program.Load(std::move(pieces));
      continue;
    }
    std::vector<TileValue> operands;
    for (int k = 0; k < step.operand_count; ++k) operands.push_back(values[step.in[k]]);
    values[step.out] = program.Apply(step.call, lane(step.out), operands);
  }
  for (const Stored& stored : stored_) program.Store(values[stored.value], split_access(stored.access));
  program.Finish();
  return program;
}

}  // namespace hlo::cpu
