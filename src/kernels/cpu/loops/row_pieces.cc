#include "kernels/cpu/loops/row_pieces.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>

#include "base/arithmetic.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/loops/access_runs.h"

namespace hlo::cpu {
namespace {

using loops::Access;
using loops::Edge;
using loops::Strides;

bool IsConstant(const Strides& strides) {
  return std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; });
}

// Returns true if the edge is crossed at the same position in all rows, or at none.
bool IsCrossedAtOnePosition(const Edge& edge) {
  const int64_t change = edge.at.inner.back();
  if (change == 0) return true;
  Strides between_rows = edge.at.inner;
  between_rows.pop_back();
  return std::abs(change) == 1 && edge.spacing == 1 && IsConstant(between_rows) && IsConstant(edge.at.outer);
}

constexpr bool kTrue = true;

int64_t Dot(const Strides& strides, const int64_t* index) {
  return std::inner_product(strides.begin(), strides.end(), index, int64_t{0});
}

// Returns the stride between neighbouring rows.
template <class T>
int64_t RowStride(const T& affine) {
  const size_t rank = affine.inner.size();
  if (rank > 1) return affine.inner[rank - 2];
  return affine.outer.empty() ? 0 : affine.outer.back();
}

struct Quotient {
  int64_t quotient, remainder;
};

// Most spacings are 1; a division takes longer than the rest of the work on an edge.
Quotient Divided(int64_t value, int64_t spacing) {
  if (spacing > 1) return {value / spacing, value % spacing};
  return {value, 0};
}

// Returns the number of steps of `each` after which `at` is less than 0 or at least `size`, or, from outside
// this range, until it is at the range or beyond it. It is at most `most`.
int64_t StepsUntilCrossed(int64_t at, int64_t each, int64_t size, int64_t most) {
  if (each < 0) at = size - 1 - at, each = -each;
  if (each == 0 || at >= size) return most;
  const int64_t left = (at < 0 ? 0 : size) - at;
  return std::min(most, each == 1 ? left : CeilDiv(left, each));
}

}  // namespace

RowPieces::RowPieces(const loops::LoopProgram& program, int32_t access)
    : row_(program.inner_dims().back()), width_(ByteCount(program.access(access).type)) {}

std::optional<RowPieces> RowPieces::Of(const loops::LoopProgram& program, int32_t access) {
  RowPieces result(program, access);
  for (; access >= 0; access = program.access(access).next) {
    if (!result.AddPiece(program.access(access))) return std::nullopt;
  }
  if (!result.NumberFills()) return std::nullopt;
  return result;
}

bool RowPieces::AddPiece(const Access& access) {
  const auto is_fixed = [](const loops::RuntimeStart& start) { return !start.index.has_value(); };
  bool fits = access.argument != Access::kIota && ByteCount(access.type) == width_ &&
              std::all_of(access.starts.begin(), access.starts.end(), is_fixed);
  int64_t stride = access.inner.back();
  for (const Edge& edge : access.edges) {
    fits = fits && IsCrossedAtOnePosition(edge);
    stride += edge.at.inner.back() * edge.stride;
  }
  fits = fits && (stride == 0 || stride == 1);
  stride_ = std::max(stride_, stride);
  pieces_.push_back({access, stride});
  return fits;
}

// Numbers the pieces that repeat an element among contiguous ones. Returns false if their elements vary.
bool RowPieces::NumberFills() {
  for (Piece& piece : pieces_) {
    if (piece.stride == stride_) continue;
    const Access& access = piece.access;
    const bool is_same = IsConstant(access.inner) && IsConstant(access.outer) &&
                         std::all_of(access.edges.begin(), access.edges.end(),
                                     [](const Edge& edge) { return edge.stride == 0; });
    if (!is_same) return false;
    piece.fill = fill_count_++;
  }
  return true;
}

void RowPieces::AddCuts(std::vector<int64_t>* cuts) const {
  for (const Piece& piece : pieces_) {
    for (const auto& [at, size, spacing, stride] : piece.access.edges) {
      const int64_t change = at.inner.back();
      if (change == 0) continue;
      const int64_t first = change > 0 ? -at.offset : at.offset - size + 1;
      for (const int64_t cut : {first, first + size}) {
        if (cut > 0 && cut < row_) cuts->push_back(cut);
      }
    }
  }
}

RowPieces::Place RowPieces::At(absl::Span<const int64_t> index, int64_t rows, void* const* arguments) const {
  Place place{nullptr, 0, rows};
  for (const Piece& each_piece : pieces_) {
    const Access& piece = each_piece.access;
    const int64_t* inner = index.data() + piece.outer.size();
    int64_t offset = StartOf(piece, arguments) + Dot(piece.outer, index.data()) + Dot(piece.inner, inner);
    int64_t distance = RowStride(piece), inside = place.rows;
    bool is_inside = true;
    for (const auto& [affine, size, spacing, stride] : piece.edges) {
      const int64_t at = affine.offset + Dot(affine.outer, index.data()) + Dot(affine.inner, inner);
      const int64_t each = RowStride(affine);
      const auto [quotient, remainder] = Divided(at, spacing);
      is_inside = at >= 0 && remainder == 0 && quotient < size;
      // The next row may be between two elements.
      const int64_t left = spacing > 1 && each != 0 ? 1 : StepsUntilCrossed(at, each, size * spacing, rows);
      if (!is_inside) {
        place.rows = std::min(place.rows, left);
        break;
      }
      inside = std::min(inside, left);
      offset += quotient * stride;
      distance += Divided(each, spacing).quotient * stride;
    }
    if (!is_inside) continue;
    place.rows = inside;
    place.fill = each_piece.fill;
    if (place.fill > 0) break;
    if (piece.argument == Access::kInside) {
      place.at = const_cast<bool*>(&kTrue);
    } else {
      place.at = static_cast<std::byte*>(arguments[piece.argument]) + offset * width_;
      place.distance = distance * width_;
    }
    break;
  }
  return place;
}

void RowPieces::Fill(int32_t fill, int64_t n, void* const* arguments, void* to) const {
  static constexpr std::byte kZero[16] = {};
  const int32_t outside = pieces_.back().access.outside;
  const void* element = outside >= 0 ? arguments[outside] : kZero;
  for (const Piece& piece : pieces_) {
    if (fill == 0 || piece.fill != fill) continue;
    const Access& access = piece.access;
    element = access.argument == Access::kInside ? static_cast<const void*>(&kTrue)
                                                 : static_cast<const std::byte*>(arguments[access.argument]) +
                                                       StartOf(access, arguments) * width_;
  }
  CopyStrided(n, width_, to, 1, element, 0);
}

}  // namespace hlo::cpu
