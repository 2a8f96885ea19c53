#include "loops/loop_program.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "types/index.h"

namespace hlo::loops {

Value LoopProgram::Load(Access access) {
  steps_.push_back({ComputeTypeOf(access.type), static_cast<int32_t>(accesses_.size())});
  accesses_.push_back(std::move(access));
  return static_cast<Value>(steps_.size() - 1);
}

Value LoopProgram::Load(std::vector<Access> pieces) {
  const Value value = Load(std::move(pieces[0]));
  for (size_t k = 1; k < pieces.size(); ++k) {
    accesses_.back().next = static_cast<int32_t>(accesses_.size());
    accesses_.push_back(std::move(pieces[k]));
  }
  return value;
}

Value LoopProgram::Apply(const Operation& operation, ComputeType result, absl::Span<const Value> operands) {
  HLO_CHECK(operation.kind != Operation::Kind::kNone && operands.size() <= 3);
  Step step{result, -1, operation, static_cast<int8_t>(operands.size())};
  std::copy(operands.begin(), operands.end(), step.in.begin());
  steps_.push_back(step);
  return static_cast<Value>(steps_.size() - 1);
}

void LoopProgram::Store(Value value, Access access) {
  stores_.push_back({value, static_cast<int32_t>(accesses_.size())});
  accesses_.push_back(std::move(access));
}

// Merges adjacent dimensions that are contiguous in every access, and drops dimensions of size 1.
void LoopProgram::Collapse(std::vector<int64_t>& dims, bool outer) {
  std::vector<Strides*> all;
  for (Access& access : accesses_) {
    all.push_back(outer ? &access.outer : &access.inner);
    VisitExtras(access, [&](Affine& extra) { all.push_back(outer ? &extra.outer : &extra.inner); });
  }
  std::vector<int64_t> collapsed;
  std::vector<Strides> walked(all.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    bool joins = !collapsed.empty();
    for (size_t a = 0; a < all.size(); ++a) joins = joins && walked[a].back() == (*all[a])[d] * dims[d];
    if (joins)
      collapsed.back() *= dims[d];
    else
      collapsed.push_back(dims[d]);
    for (size_t a = 0; a < all.size(); ++a) {
      if (joins)
        walked[a].back() = (*all[a])[d];
      else
        walked[a].push_back((*all[a])[d]);
    }
  }
  dims = std::move(collapsed);
  for (size_t a = 0; a < all.size(); ++a) *all[a] = std::move(walked[a]);
}

// Expresses edges that whole rows are inside or outside of by the positions in all rows, if the last two
// inner dimensions can then be merged. Returns false if they cannot.
bool LoopProgram::ScaleEdges() {
  if (inner_dims_.size() < 2) return false;
  const size_t last = inner_dims_.size() - 1;
  const int64_t row = inner_dims_[last];
  const auto joins = [&](const Strides& inner) { return inner[last - 1] == inner[last] * row; };
  bool fits = true;
  std::vector<Edge*> scaled;
  for (Access& access : accesses_) {
    fits = fits && joins(access.inner);
    for (const RuntimeStart& start : access.starts)
      fits = fits && (!start.index.has_value() || joins(start.index->inner));
    for (Edge& edge : access.edges) {
      if (joins(edge.at.inner)) continue;
      fits = fits && edge.spacing == 1 && edge.stride == 0 && edge.at.inner[last] == 0 &&
             std::abs(edge.at.inner[last - 1]) == 1;
      scaled.push_back(&edge);
    }
  }
  if (!fits || scaled.empty()) return false;
  for (Edge* edge : scaled) {
    const int64_t step = edge->at.inner[last - 1];
    edge->size *= row;
    edge->at.offset = edge->at.offset * row + (step < 0 ? row - 1 : 0);
    for (int64_t& stride : edge->at.outer) stride *= row;
    for (int64_t& stride : edge->at.inner) stride *= row;
    edge->at.inner[last] = step;
  }
  return true;
}

// Turns a program that only copies into one on untyped elements of the same width.
void LoopProgram::MoveBits() {
  const bool only_moves =
      yields_.empty() &&
      std::all_of(steps_.begin(), steps_.end(),
                  [&](const Step& step) { return step.IsLoad() && accesses_[step.access].IsArray(); }) &&
      std::all_of(stores_.begin(), stores_.end(), [&](const Stored& stored) {
        return accesses_[stored.access].type == accesses_[steps_[stored.value].access].type;
      });
  if (!only_moves) return;
  for (Access& access : accesses_) access.type = BytesOf(access.type);
  for (Step& step : steps_) step.compute_type = ComputeTypeOf(accesses_[step.access].type);
}

namespace {

// Removes the last inner dimension from an edge that whole rows are inside or outside of: its other terms are
// multiples of a distance that the positions of a row do not reach.
void RoundToRows(int64_t row, Edge& edge) {
  const int64_t change = edge.at.inner.back();
  if (edge.spacing != 1 || edge.stride != 0 || change <= 0) return;
  Strides others = edge.at.outer;
  others.insert(others.end(), edge.at.inner.begin(), edge.at.inner.end() - 1);
  int64_t distance = std::gcd(edge.size, edge.at.offset);
  for (const int64_t stride : others) distance = std::gcd(distance, stride);
  if (change * (row - 1) >= distance) return;
  edge.size /= distance;
  edge.at.offset /= distance;
  edge.at.inner.back() = 0;
  for (int64_t& stride : edge.at.outer) stride /= distance;
  for (int64_t& stride : edge.at.inner) stride /= distance;
}

}  // namespace

void LoopProgram::Finish() {
  outer_count_ = Product(outer_dims_);
  inner_count_ = Product(inner_dims_);
  MoveBits();
  Collapse(outer_dims_, /*outer=*/true);
  Collapse(inner_dims_, /*outer=*/false);
  while (ScaleEdges()) Collapse(inner_dims_, /*outer=*/false);
  if (inner_dims_.empty() || inner_count_ == 0) return;
  for (Access& access : accesses_) {
    for (Edge& edge : access.edges) RoundToRows(inner_dims_.back(), edge);
  }
}

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

std::optional<LoopProgram> LoopProgram::ByRows(int64_t length) const {
  if (!outer_dims_.empty() || !yields_.empty() || length <= 0) return std::nullopt;
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
  LoopProgram program = *this;
  program.outer_dims_.assign(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(first));
  program.inner_dims_.assign(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end());
  for (Access& access : program.accesses_) {
    Affine own{access.offset, std::move(access.outer), std::move(access.inner)};
    split(own);
    access.outer = std::move(own.outer);
    access.inner = std::move(own.inner);
    VisitExtras(access, split);
  }
  program.Finish();
  return program;
}

LoopProgram LoopProgram::JoinRows() const {
  LoopProgram program = *this;
  program.inner_dims_.insert(program.inner_dims_.begin(), outer_dims_.begin(), outer_dims_.end());
  program.outer_dims_.clear();
  const auto join = [](Strides& outer, Strides& inner) {
    inner.insert(inner.begin(), outer.begin(), outer.end());
    outer.clear();
  };
  for (Access& access : program.accesses_) {
    join(access.outer, access.inner);
    VisitExtras(access, [&](Affine& extra) { join(extra.outer, extra.inner); });
  }
  program.Finish();
  return program;
}

bool LoopProgram::IsInvariant(const Access& access) {
  return access.IsRegular() &&
         std::all_of(access.inner.begin(), access.inner.end(), [](int64_t stride) { return stride == 0; });
}

bool LoopProgram::IsContiguous(const Strides& inner) const {
  int64_t expected = 1;
  for (size_t d = inner_dims_.size(); d-- > 0;) {
    if (inner_dims_[d] != 1 && inner[d] != expected) return false;
    expected *= inner_dims_[d];
  }
  return true;
}

bool LoopProgram::IsCopy() const {
  return yields_.empty() && steps_.size() == 1 && stores_.size() == 1 &&
         accesses_[steps_[0].access].IsArray() && accesses_[steps_[0].access].IsRegular() &&
         accesses_[steps_[0].access].type == accesses_[stores_[0].access].type;
}

const Access* LoopProgram::YieldedLoad() const {
  const bool is_load = steps_.size() == 1 && yields_.size() == 1 && stores_.empty() && steps_[0].IsLoad() &&
                       accesses_[0].IsArray() && accesses_[0].IsRegular();
  return is_load ? &accesses_[0] : nullptr;
}

std::optional<ElementType> LoopProgram::YieldedAsStored() const {
  const Access* load = YieldedLoad();
  return load != nullptr && IsContiguous(load->inner) ? std::optional(load->type) : std::nullopt;
}

int64_t LoopProgram::LastUse(absl::FunctionRef<bool(const Access&)> loads) const {
  const auto is_one = [&](Value value) {
    for (int32_t a = steps_[value].access; a >= 0; a = accesses_[a].next) {
      if (loads(accesses_[a])) return true;
    }
    return false;
  };
  int64_t last = -1;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const absl::Span<const Value> operands = steps_[s].operands();
    if (std::any_of(operands.begin(), operands.end(), is_one)) last = static_cast<int64_t>(s);
  }
  for (size_t k = 0; k < stores_.size(); ++k) {
    if (is_one(stores_[k].value)) last = static_cast<int64_t>(steps_.size() + k);
  }
  if (std::any_of(yields_.begin(), yields_.end(), is_one)) last = std::numeric_limits<int64_t>::max();
  return last;
}

int64_t LoopProgram::StoredFrom(size_t store) const {
  const Value value = stores_[store].value;
  return steps_[value].IsLoad() ? static_cast<int64_t>(steps_.size() + store) : int64_t{value};
}

void LoopProgram::VisitAccesses(absl::FunctionRef<void(Access&, bool)> visit) {
  for (const Step& step : steps_) {
    for (int32_t a = step.access; a >= 0; a = accesses_[a].next) visit(accesses_[a], false);
  }
  for (const Stored& stored : stores_) visit(accesses_[stored.access], true);
}

void LoopProgram::VisitAccesses(absl::FunctionRef<void(const Access&, bool)> visit) const {
  for (const Step& step : steps_) {
    for (int32_t a = step.access; a >= 0; a = accesses_[a].next) visit(accesses_[a], false);
  }
  for (const Stored& stored : stores_) visit(accesses_[stored.access], true);
}

}  // namespace hlo::loops
