#include "kernels/cpu/loops/edge_table.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/access_runs.h"
#include "kernels/cpu/memory/row_walk.h"
#include "kernels/cpu/simd/gather_elements.h"
#include "types/index.h"

namespace hlo::cpu {
namespace {

using loops::Access;
using loops::Edge;

// Longer rows are read faster as a few runs each; so are elements that are not gathered by vectors.
constexpr int64_t kLongestRowByVectors = 64, kLongestRowByElement = 12;
// A table of more positions would take longer to make than the code. Shorter ones hold several rows.
constexpr int64_t kMaxPositionsOfTable = 2048, kUsualPositions = 1024;

// Returns the offset at a position in elements, relative to that of inner position 0, or nullopt if the
// position is not inside the edges.
std::optional<int64_t> OffsetInside(const Access& access, absl::Span<const int64_t> dims, int64_t position) {
  int64_t offset = ValueAt({0, {}, access.inner}, dims, position);
  for (const Edge& edge : access.edges) {
    const int64_t at = ValueAt(edge.at, dims, position);
    if (at < 0 || at % edge.spacing != 0 || at / edge.spacing >= edge.size) return std::nullopt;
    offset += at / edge.spacing * edge.stride;
  }
  return offset;
}

}  // namespace

std::optional<EdgeTable> EdgeTable::Of(const loops::LoopProgram& program, int32_t access) {
  EdgeTable table;
  table.width_ = ByteCount(program.access(access).type);
  if (!table.FindDims(program, access)) return std::nullopt;
  std::vector<bool> is_found(table.size_);
  for (int32_t a = access; a >= 0; a = program.access(a).next) {
    if (!table.AddPiece(program, a, &is_found)) return std::nullopt;
    table.outside_ = program.access(a).outside;
  }
  table.has_outside_ = absl::c_linear_search(is_found, false);
  return table;
}

// Chooses the dimensions of the table: those on which edges depend.
bool EdgeTable::FindDims(const loops::LoopProgram& program, int32_t access) {
  const absl::Span<const int64_t> dims = program.inner_dims();
  const int64_t longest = GathersFast(width_) ? kLongestRowByVectors : kLongestRowByElement;
  if (dims.size() < 2 || dims.back() > longest || program.access(access).edges.empty()) return false;
  size_t first = dims.size();
  for (int32_t a = access; a >= 0; a = program.access(a).next) {
    const Access& piece = program.access(a);
    for (const Edge& edge : piece.edges) {
      const auto varies = [](int64_t stride) { return stride != 0; };
      if (absl::c_any_of(edge.at.outer, varies)) return false;
      const auto found = absl::c_find_if(edge.at.inner, varies);
      first = std::min<size_t>(first, found - edge.at.inner.begin());
    }
  }
  if (program.inner_count() <= kMaxPositionsOfTable) first = 0;
  dims_.assign(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(first));
  table_dims_.assign(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end());
  period_ = Product(table_dims_);
  size_ = period_;
  if (period_ == 0 || period_ > kMaxPositionsOfTable) return false;
  if (!dims_.empty()) size_ *= std::clamp<int64_t>(kUsualPositions / period_, 1, dims_.back());
  return true;
}

bool EdgeTable::AddPiece(const loops::LoopProgram& program, int32_t access, std::vector<bool>* is_found) {
  const Access& source = program.access(access);
  const bool has_own_starts =
      absl::c_any_of(source.starts, [](const loops::RuntimeStart& start) { return start.index.has_value(); });
  if (!source.IsArray() || has_own_starts || ByteCount(source.type) != width_) return false;
  Piece piece{access, source.argument, {}, std::vector<int32_t>(size_, kNone)};
  piece.strides.assign(source.inner.begin(), source.inner.begin() + std::ssize(dims_));
  for (int64_t k = 0; k < size_; ++k) {
    if ((*is_found)[k]) continue;
    // The position in the first row of the dimensions before, or in a neighbouring one.
    const std::optional<int64_t> offset = OffsetInside(source, program.inner_dims(), k);
    if (!offset.has_value()) continue;
    if (std::abs(*offset) > kLargestIndex32) return false;
    (*is_found)[k] = true;
    piece.offsets[k] = static_cast<int32_t>(*offset);
  }
  pieces_.push_back(std::move(piece));
  return true;
}

template <class T>
void EdgeTable::ReadPart(void* const* arguments, const int64_t* places, int64_t phase, int64_t n,
                         T* to) const {
  if (has_outside_) {
    static constexpr std::byte kZero[16] = {};
    CopyStrided(n, sizeof(T), to, 1, outside_ >= 0 ? arguments[outside_] : kZero, 0);
  }
  for (size_t p = 0; p < pieces_.size(); ++p)
    GatherExisting(static_cast<const T*>(arguments[pieces_[p].argument]) + places[p],
                   pieces_[p].offsets.data() + phase, kNone, n, to);
}

void EdgeTable::Read(void* const* arguments, const int64_t* bases, int64_t begin, int64_t n,
                     std::byte* to) const {
  absl::InlinedVector<int64_t, 8> places(pieces_.size());
  for (int64_t done = 0; done < n;) {
    const int64_t row = (begin + done) / period_, phase = (begin + done) % period_;
    const int64_t left = dims_.empty() ? period_ : (dims_.back() - row % dims_.back()) * period_;
    const int64_t count = std::min(n - done, std::min(size_, left) - phase);
    for (size_t p = 0; p < pieces_.size(); ++p) {
      places[p] = bases[pieces_[p].access];
      EachDigit(dims_.empty() ? 0 : row, dims_,
                [&](int64_t d, int64_t i) { places[p] += i * pieces_[p].strides[d]; });
    }
    DispatchWidth(width_, [&]<class T>() {
      ReadPart(arguments, places.data(), phase, count, reinterpret_cast<T*>(to) + done);
    });
    done += count;
  }
}

}  // namespace hlo::cpu
