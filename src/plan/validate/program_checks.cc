#include "plan/validate/program_checks.h"

#include <algorithm>
#include <limits>

#include "fmt/format.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using loops::Access;
using loops::LoopProgram;
using loops::RowProgram;

// The range of an affine function over the positions of a loop.
struct ByteRange {
  int64_t least, most;

  void Walk(absl::Span<const int64_t> dims, const loops::Strides& strides) {
    for (size_t d = 0; d < dims.size(); ++d) (strides[d] < 0 ? least : most) += (dims[d] - 1) * strides[d];
  }
};

ByteRange ByteRangeOf(const LoopProgram& program, int64_t offset, const loops::Strides& outer,
                      const loops::Strides& inner) {
  ByteRange range{offset, offset};
  range.Walk(program.outer_dims(), outer);
  range.Walk(program.inner_dims(), inner);
  return range;
}

std::optional<std::string> CheckAccess(const LoopProgram& program, const Access& access,
                                       const ProgramArguments& arguments) {
  const auto elements = [&](int32_t argument, ElementType type) {
    const std::optional<int64_t> bytes = arguments.byte_count(argument);
    return bytes.has_value() ? *bytes / ByteCount(type) : std::numeric_limits<int64_t>::max();
  };
  const auto outside = [&](int32_t argument) {
    return fmt::format("an access leaves argument {} of its loop", argument);
  };
  ByteRange range = ByteRangeOf(program, access.offset, access.outer, access.inner);
  for (const loops::RuntimeStart& start : access.starts) {
    const int64_t most = start.max * start.stride;
    (most < 0 ? range.least : range.most) += most;
    ByteRange index{start.element, start.element};
    if (start.index.has_value()) {
      if (!access.edges.empty()) continue;
      index = ByteRangeOf(program, start.index->offset, start.index->outer, start.index->inner);
    }
    if (start.max < 0 || index.least < 0 || index.most >= elements(start.argument, start.type))
      return outside(start.argument);
  }
  if (access.outside >= 0 && elements(access.outside, access.type) < 1) return outside(access.outside);
  if (access.IsArray() && access.edges.empty() &&
      (range.least < 0 || range.most >= elements(access.argument, access.type)))
    return outside(access.argument);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> CheckBounds(const LoopProgram& program, const ProgramArguments& arguments) {
  if (program.outer_count() == 0 || program.inner_count() == 0) return std::nullopt;
  for (const LoopProgram::Step& step : program.steps()) {
    if (!step.IsLoad()) continue;
    // The later accesses of a chain are read beyond the edges of the first ones, so they are not bounded.
    if (auto problem = CheckAccess(program, program.access(step.access), arguments)) return problem;
  }
  for (const LoopProgram::Stored& stored : program.stores()) {
    if (auto problem = CheckAccess(program, program.access(stored.access), arguments)) return problem;
  }
  return std::nullopt;
}

namespace {

// True if both access the same element at every position.
bool IsSameElement(const Access& load, const Access& store, const ProgramArguments& arguments) {
  const auto same_start = [&](const loops::RuntimeStart& a, const loops::RuntimeStart& b) {
    return !a.index.has_value() && !b.index.has_value() && a.element == b.element && a.max == b.max &&
           a.stride == b.stride && a.type == b.type && arguments.same(a.argument, b.argument);
  };
  return load.edges.empty() && load.offset == store.offset && load.outer == store.outer &&
         load.inner == store.inner && ByteCount(load.type) == ByteCount(store.type) &&
         std::equal(load.starts.begin(), load.starts.end(), store.starts.begin(), store.starts.end(),
                    same_start);
}

// Returns the last step that uses the value of a load; stores come after all steps.
int64_t LastUse(const LoopProgram& program, loops::Value load) {
  int64_t last = -1;
  const auto steps = program.steps();
  for (size_t s = 0; s < steps.size(); ++s) {
    const auto operands = steps[s].operands();
    if (std::find(operands.begin(), operands.end(), load) != operands.end()) last = static_cast<int64_t>(s);
  }
  for (size_t k = 0; k < program.stores().size(); ++k) {
    if (program.stores()[k].value == load) last = static_cast<int64_t>(steps.size() + k);
  }
  const auto yields = program.yields();
  return std::find(yields.begin(), yields.end(), load) != yields.end() ? std::numeric_limits<int64_t>::max()
                                                                       : last;
}

std::optional<std::string> CheckStore(const LoopProgram& program, size_t number,
                                      const ProgramArguments& arguments) {
  const Access& store = program.access(program.stores()[number].access);
  const int64_t written_at = program.StoredFrom(number);
  for (size_t s = 0; s < program.steps().size(); ++s) {
    for (int32_t a = program.steps()[s].access; a >= 0; a = program.access(a).next) {
      const Access& load = program.access(a);
      bool reads_other = false;
      VisitOthers(load,
                  [&](int32_t argument) { reads_other |= arguments.overlap(argument, store.argument); });
      if (reads_other)
        return fmt::format("it overwrites argument {}, which tells where to read", store.argument);
      if (!load.IsArray() || !arguments.overlap(load.argument, store.argument)) continue;
      if (!arguments.same(load.argument, store.argument) || !IsSameElement(load, store, arguments))
        return fmt::format("it overwrites elements of argument {} that other positions read", load.argument);
      if (LastUse(program, static_cast<loops::Value>(s)) > written_at)
        return fmt::format("it overwrites elements of argument {} before their last use", load.argument);
    }
  }
  for (const LoopProgram::Stored& other : program.stores()) {
    const Access& access = program.access(other.access);
    bool reads = false;
    VisitOthers(access, [&](int32_t argument) { reads |= arguments.overlap(argument, store.argument); });
    if (reads) return fmt::format("it overwrites argument {}, which tells where to write", store.argument);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> CheckInPlace(const LoopProgram& program, const ProgramArguments& arguments) {
  for (size_t k = 0; k < program.stores().size(); ++k) {
    if (auto problem = CheckStore(program, k, arguments)) return problem;
  }
  return std::nullopt;
}

namespace {

// Returns the bytes of a row if row r accesses only the r-th of `rows` equal parts of the array.
std::optional<int64_t> RowBytes(const LoopProgram& program, const Access& access, int64_t rows) {
  if (!access.starts.empty() || !access.edges.empty() || access.next >= 0) return std::nullopt;
  // The dimensions over rows, outermost first, and those within a row.
  std::vector<std::pair<int64_t, int64_t>> over, within;
  const bool by_outer = program.outer_count() == rows && rows > 1;
  if (by_outer) {
    for (size_t d = 0; d < access.outer.size(); ++d)
      over.emplace_back(program.outer_dims()[d], access.outer[d]);
    for (size_t d = 0; d < access.inner.size(); ++d)
      within.emplace_back(program.inner_dims()[d], access.inner[d]);
  } else {
    if (program.outer_count() != 1) return std::nullopt;
    int64_t left = rows;
    for (size_t d = 0; d < access.inner.size(); ++d) {
      const int64_t dim = program.inner_dims()[d], stride = access.inner[d];
      if (left % dim == 0) {
        over.emplace_back(dim, stride);
        left /= dim;
      } else if (dim % left == 0) {
        over.emplace_back(left, stride * (dim / left));
        within.emplace_back(dim / left, stride);
        left = 1;
      } else {
        return std::nullopt;
      }
    }
    if (left != 1) return std::nullopt;
  }
  ByteRange row{access.offset, access.offset};
  for (const auto& [dim, stride] : within) (stride < 0 ? row.least : row.most) += (dim - 1) * stride;
  if (row.least < 0) return std::nullopt;
  std::optional<int64_t> length;
  int64_t count = 1;
  for (size_t d = over.size(); d-- > 0;) {
    if (over[d].first == 1) continue;
    if (!length.has_value()) length = over[d].second;
    if (over[d].second != *length * count) return std::nullopt;
    count *= over[d].first;
  }
  if (!length.has_value() || row.most >= *length) return std::nullopt;
  return *length * ByteCount(access.type);
}

}  // namespace

std::optional<std::string> CheckInPlace(const RowProgram& program, const ProgramArguments& arguments) {
  struct Write {
    int32_t argument;
    std::optional<int64_t> row_bytes;
    size_t part;
    bool by_loop;  // It is written element by element in the part's loop.
  };
  std::vector<Write> writes;
  for (size_t p = 0; p < program.parts.size(); ++p) {
    RowProgram::BodyOf(program.parts[p]).VisitAccesses([&](const Access& access, bool is_store) {
      if (is_store)
        writes.push_back(
            {access.argument, RowBytes(RowProgram::BodyOf(program.parts[p]), access, program.rows), p, true});
    });
    if (const auto* reduce = std::get_if<loops::ReduceProgram>(&program.parts[p])) {
      for (const auto& result : reduce->results)
        writes.push_back({result.output, ByteCount(result.output_type), p, false});
    }
  }
  std::optional<std::string> problem;
  for (size_t p = 0; p < program.parts.size() && !problem.has_value(); ++p) {
    const LoopProgram& body = RowProgram::BodyOf(program.parts[p]);
    // Part p reads whole arrays (`row_bytes` is nullopt) or its own row.
    const auto read = [&](int32_t argument, std::optional<int64_t> row_bytes) {
      for (const Write& write : writes) {
        if (problem.has_value() || argument == write.argument || argument >= program.argument_count ||
            write.argument >= program.argument_count || !arguments.overlap(argument, write.argument))
          continue;
        const bool row_by_row =
            row_bytes.has_value() && row_bytes == write.row_bytes && arguments.same(argument, write.argument);
        const bool before = p < write.part || (p == write.part && write.by_loop);
        if (!row_by_row || !before)
          problem = fmt::format("argument {} overwrites argument {}, which part {} still reads",
                                write.argument, argument, p);
      }
    };
    body.VisitAccesses([&](const Access& access, bool is_store) {
      VisitOthers(access, [&](int32_t argument) { read(argument, std::nullopt); });
      if (!is_store && access.IsArray()) read(access.argument, RowBytes(body, access, program.rows));
    });
    if (const auto* reduce = std::get_if<loops::ReduceProgram>(&program.parts[p])) {
      for (const auto& result : reduce->results) read(result.init, std::nullopt);
    }
    if (!problem.has_value()) problem = CheckInPlace(body, arguments);
  }
  return problem;
}

}  // namespace hlo::plan
