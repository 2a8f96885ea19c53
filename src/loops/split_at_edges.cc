#include "loops/split_at_edges.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"

namespace hlo::loops {
namespace {

// The most programs (the elements of a 3x3 matrix), and the fewest positions for which they take less time.
constexpr size_t kMostPrograms = 9;
constexpr int64_t kFewestPositions = 64;
// The most positions of rows whose pieces get programs of their own.
constexpr int64_t kShortRow = 16;

// The dimensions of a program, outer ones first, and their strides in an affine function.
std::vector<int64_t> DimsOf(const LoopProgram& program) {
  std::vector<int64_t> dims(program.outer_dims().begin(), program.outer_dims().end());
  dims.insert(dims.end(), program.inner_dims().begin(), program.inner_dims().end());
  return dims;
}
template <class Function>
auto& StrideOf(Function& affine, size_t d) {
  return d < affine.outer.size() ? affine.outer[d] : affine.inner[d - affine.outer.size()];
}

// Every step-th index of a dimension.
struct Section {
  int64_t first, step, size;
};
// A dimension, and the sections into which its indices are split.
struct Split {
  size_t dim;
  std::vector<Section> sections;
};

// Returns the phases that an edge needs: only one dimension, which is not the last one, moves it by other
// distances than multiples of the spacing.
std::optional<Split> PhasesOf(const Edge& edge, absl::Span<const int64_t> dims) {
  std::optional<Split> split;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t phases = edge.spacing / std::gcd(edge.spacing, StrideOf(edge.at, d));
    if (phases == 1) continue;
    if (split.has_value() || d + 1 == dims.size() || phases > dims[d]) return std::nullopt;
    split = {d, {}};
    for (int64_t number = 0; number < phases; ++number)
      split->sections.push_back({number, phases, (dims[d] - number + phases - 1) / phases});
  }
  return split;
}

// Returns the one dimension that moves the edge, if a row from it on is short.
std::optional<size_t> ShortDimOf(const Edge& edge, absl::Span<const int64_t> dims) {
  std::optional<size_t> dim;
  int64_t row = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    row *= dims[d];
    if (StrideOf(edge.at, d) == 0) continue;
    if (dim.has_value() || row > kShortRow) return std::nullopt;
    dim = d;
  }
  return dim;
}

// Returns the ranges of a dimension in which all positions are on the same side of every edge that only this
// dimension moves.
Split PiecesAlong(size_t dim, const LoopProgram& program, absl::Span<const int64_t> dims) {
  std::vector<bool> begins(dims[dim]);
  begins[0] = true;
  program.VisitAccesses([&](const Access& access, bool) {
    for (const Edge& edge : access.edges) {
      if (edge.spacing != 1 || ShortDimOf(edge, dims) != dim) continue;
      const auto is_inside = [&](int64_t index) {
        const int64_t at = edge.at.offset + index * StrideOf(edge.at, dim);
        return at >= 0 && at < edge.size;
      };
      for (int64_t index = 1; index < dims[dim]; ++index) {
        if (is_inside(index) != is_inside(index - 1)) begins[index] = true;
      }
    }
  });
  Split split{dim, {}};
  for (int64_t index = 0; index < dims[dim]; ++index) {
    if (begins[index]) split.sections.push_back({index, 1, 0});
    ++split.sections.back().size;
  }
  return split;
}

std::optional<Split> FindSplit(const LoopProgram& program) {
  const std::vector<int64_t> dims = DimsOf(program);
  std::optional<Split> phases;
  std::optional<size_t> short_dim;
  program.VisitAccesses([&](const Access& access, bool) {
    for (const Edge& edge : access.edges) {
      if (edge.spacing > 1 && !phases.has_value()) phases = PhasesOf(edge, dims);
      if (edge.spacing == 1 && !short_dim.has_value()) short_dim = ShortDimOf(edge, dims);
    }
  });
  if (phases.has_value() || !short_dim.has_value()) return phases;
  Split pieces = PiecesAlong(*short_dim, program, dims);
  return pieces.sections.size() > 1 ? std::optional(std::move(pieces)) : std::nullopt;
}

// Builds the program of one section of a dimension.
class SectionBuilder {
 public:
  SectionBuilder(const LoopProgram& program, size_t dim, const Section& section)
      : source_(program), dim_(dim), section_(section), dims_(DimsOf(program)) {
    dims_[dim] = section.size;
  }

  LoopProgram Build() const {
    const absl::Span<const int64_t> dims = dims_;
    const size_t outer = source_.outer_dims().size();
    LoopProgram part(dims.first(outer), dims.subspan(outer));
    for (const LoopProgram::Step& step : source_.steps()) {
      if (step.IsLoad())
        part.Load(PiecesOf(step.access));
      else
        part.Apply(step.operation, step.compute_type, step.operands());
    }
    for (const LoopProgram::Stored& stored : source_.stores())
      part.Store(stored.value, Moved(source_.access(stored.access)));
    for (const Value value : source_.yields()) part.Yield(value);
    part.Finish();
    return part;
  }

 private:
  // Replaces the index of the dimension by first + step * index.
  template <class Function>
  void Move(Function& affine) const {
    int64_t& stride = StrideOf(affine, dim_);
    affine.offset += section_.first * stride;
    stride *= section_.step;
  }

  // Returns the access at the positions of the section.
  Access Moved(Access access) const {
    Move(access);
    VisitExtras(access, [&](Affine& extra) { Move(extra); });
    return access;
  }

  // Makes the multiples of the spacing that the edge meets adjacent, and adds its stride to the access's own.
  // Returns false if it meets none.
  bool RemoveSpacing(Edge& edge, Access& access) const {
    const auto is_multiple = [&](int64_t value) { return value % edge.spacing == 0; };
    if (!absl::c_all_of(edge.at.outer, is_multiple) || !absl::c_all_of(edge.at.inner, is_multiple))
      return true;
    if (!is_multiple(edge.at.offset)) return false;
    const auto divide = [&](int64_t& of_edge, int64_t& of_access) {
      of_edge /= edge.spacing;
      of_access += of_edge * edge.stride;
    };
    divide(edge.at.offset, access.offset);
    for (size_t d = 0; d < dims_.size(); ++d) divide(StrideOf(edge.at, d), StrideOf(access, d));
    edge.spacing = 1;
    edge.stride = 0;
    return true;
  }

  // Returns the least and the greatest value.
  std::pair<int64_t, int64_t> RangeOf(const Affine& affine) const {
    int64_t least = affine.offset, greatest = affine.offset;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const int64_t distance = StrideOf(affine, d) * (dims_[d] - 1);
      (distance < 0 ? least : greatest) += distance;
    }
    return {least, greatest};
  }

  // Simplifies the edges. Returns false if no position is inside all of them.
  bool SimplifyEdges(Access& access) const {
    for (Edge& edge : access.edges) {
      if (!RemoveSpacing(edge, access)) return false;
      const auto [least, greatest] = RangeOf(edge.at);
      if (greatest < 0 || least >= edge.size * edge.spacing) return false;
    }
    if (!access.IsArray()) return true;
    std::erase_if(access.edges, [&](const Edge& edge) {
      const auto [least, greatest] = RangeOf(edge.at);
      return edge.spacing == 1 && least >= 0 && greatest < edge.size;
    });
    return true;
  }

  // Returns an access that is outside its edges at all positions.
  static Access Outside(Access access) {
    absl::c_fill(access.outer, 0);
    absl::c_fill(access.inner, 0);
    access.starts.clear();
    if (access.outside >= 0) {
      access.argument = std::exchange(access.outside, Access::kZeros);
      access.offset = 0;
      access.edges.clear();
    } else {
      access.edges = {{.at = {.offset = -1, .outer = access.outer, .inner = access.inner}, .size = 1}};
    }
    return access;
  }

  // Returns the accesses of a load that exist at some position.
  std::vector<Access> PiecesOf(int32_t number) const {
    std::vector<Access> pieces;
    while (number >= 0) {
      Access access = Moved(source_.access(number));
      number = std::exchange(access.next, -1);
      const bool exists = SimplifyEdges(access);
      if (!exists && number >= 0) continue;
      pieces.push_back(exists ? std::move(access) : Outside(std::move(access)));
      if (pieces.back().edges.empty()) break;
    }
    return pieces;
  }

  const LoopProgram& source_;
  const size_t dim_;
  const Section section_;
  std::vector<int64_t> dims_;
};

}  // namespace

std::vector<LoopProgram> SplitAtEdges(const LoopProgram& program) {
  std::vector<LoopProgram> programs = {program};
  if (program.outer_count() * program.inner_count() < kFewestPositions) return programs;
  for (size_t p = 0; p < programs.size();) {
    const std::optional<Split> split = FindSplit(programs[p]);
    if (!split.has_value() || programs.size() - 1 + split->sections.size() > kMostPrograms) {
      ++p;
      continue;
    }
    const LoopProgram whole = std::move(programs[p]);
    programs.erase(programs.begin() + static_cast<std::ptrdiff_t>(p));
    for (size_t k = split->sections.size(); k-- > 0;)
      programs.insert(programs.begin() + static_cast<std::ptrdiff_t>(p),
                      SectionBuilder(whole, split->dim, split->sections[k]).Build());
  }
  return programs;
}

}  // namespace hlo::loops
