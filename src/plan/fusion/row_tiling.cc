#include "plan/fusion/row_tiling.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "plan/analysis/elementwise_loop.h"
#include "plan/fusion/row_tiling_cse.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

constexpr int64_t kMinRows = 16;
constexpr int64_t kMinElements = 32 << 10;  // Smaller arrays stay in the cache anyway.
// The bytes of a block; it may be larger if many blocks remain.
constexpr int64_t kBlockBytes = 64 << 10, kMaxBlockBytes = 256 << 10, kManyBlocks = 32;
constexpr int64_t kMaxRowBytes = 256 << 10;  // Several blocks must fit the L2 cache.
constexpr size_t kMaxParts = 24, kMaxDistance = 32;

using Part = loops::RowProgram::Part;

// Calls visit(argument, is_write) for everything that the part reads and writes.
template <class Visit>
void VisitPart(Part& part, Visit&& visit) {
  const auto program = [&](loops::LoopProgram& p) {
    p.VisitAccesses([&](loops::Access& access, bool is_store) {
      VisitOthers(access, [&](int32_t& argument) { visit(argument, false); });
      if (access.IsArray()) visit(access.argument, is_store);
    });
  };
  if (auto* loop = std::get_if<loops::LoopProgram>(&part)) return program(*loop);
  auto& reduce = std::get<loops::ReduceProgram>(part);
  program(reduce.body);
  for (loops::Reduction::Result& result : reduce.results) {
    visit(result.init, false);
    visit(result.output, true);
  }
}

struct StridedDims {
  std::vector<int64_t> dims, strides;
  void Add(int64_t dim, int64_t stride) {
    if (dim == 1) return;
    dims.push_back(dim);
    strides.push_back(stride);
  }
};

// Splits an access into its strides over rows and within a row; nullopt if a dimension crosses the end of a
// row.
std::optional<std::pair<StridedDims, StridedDims>> SplitRows(const loops::LoopProgram& program,
                                                             bool rows_are_outer, const loops::Access& access,
                                                             int64_t rows) {
  StridedDims along, within;
  if (rows_are_outer) {
    for (size_t d = 0; d < access.outer.size(); ++d) along.Add(program.outer_dims()[d], access.outer[d]);
    for (size_t d = 0; d < access.inner.size(); ++d) within.Add(program.inner_dims()[d], access.inner[d]);
    return std::pair(std::move(along), std::move(within));
  }
  int64_t left = rows;
  for (size_t d = 0; d < access.inner.size(); ++d) {
    const int64_t dim = program.inner_dims()[d], stride = access.inner[d];
    const int64_t outer = std::gcd(left, dim), inner = dim / outer;
    if (left > 1 && inner > 1 && outer != left) return std::nullopt;
    along.Add(outer, stride * inner);
    within.Add(inner, stride);
    left /= outer;
  }
  if (left != 1) return std::nullopt;
  return std::pair(std::move(along), std::move(within));
}

// True if row r accesses only the elements [r * length, (r + 1) * length).
bool IsWithinRow(const loops::LoopProgram& program, bool rows_are_outer, const loops::Access& access,
                 int64_t rows, int64_t length) {
  const auto split = SplitRows(program, rows_are_outer, access, rows);
  if (!split.has_value() || !access.starts.empty() || !access.edges.empty()) return false;
  const auto& [along, within] = *split;
  int64_t expected = length;
  for (size_t d = along.dims.size(); d-- > 0;) {
    if (along.strides[d] != expected) return false;
    expected *= along.dims[d];
  }
  int64_t least = access.offset, most = access.offset;
  for (size_t d = 0; d < within.dims.size(); ++d)
    (within.strides[d] < 0 ? least : most) += (within.dims[d] - 1) * within.strides[d];
  return least >= 0 && most < length;
}

class RowTiler {
 public:
  RowTiler(Plan& plan, bool cse, ChangeCounter& changes)
      : plan_(plan), cse_(cse), changes_(changes), read_count_(CountReads(plan)) {}

  void Run(std::vector<Step>& steps) {
    for (Step& step : steps) VisitNestedSteps(step, [&](std::vector<Step>& nested) { Run(nested); });
    std::vector<Step> joined;
    for (size_t i = 0; i < steps.size();) {
      const Group group = FindGroup(steps, i);
      if (group.members.size() < 2 || !changes_.Allow("row_tiling", steps[i].instruction->name())) {
        joined.push_back(std::move(steps[i++]));
        continue;
      }
      const size_t last = group.members.back();
      for (size_t k = i; k < last; ++k) {
        if (!std::binary_search(group.members.begin(), group.members.end(), k))
          joined.push_back(std::move(steps[k]));
      }
      joined.push_back(FuseGroup(steps, group));
      i = last + 1;
    }
    steps = std::move(joined);
  }

 private:
  struct Group {
    int64_t rows = 0;
    std::vector<size_t> members;
    // The bytes of a row of each value that is accessed by rows.
    absl::flat_hash_map<ValueId, int64_t> row_bytes;
    absl::flat_hash_set<ValueId> read, written;
    int64_t bytes() const {
      return std::accumulate(row_bytes.begin(), row_bytes.end(), int64_t{0},
                             [](int64_t sum, const auto& each) { return sum + each.second; });
    }
  };

  ValueId Resolve(ValueId v) const { return plan_.graph.Resolve(v); }

  // Returns the number of rows of a row reduction; 0 for other steps.
  static int64_t RowsOf(const Step& step) {
    const auto* reduce = std::get_if<ReduceStep>(&step.what);
    return reduce != nullptr && cpu::SupportsRowRanges(reduce->program) ? reduce->program.kept_count() : 0;
  }
  static bool HasRows(const Step& step, int64_t rows) {
    if (!std::holds_alternative<TileStep>(step.what)) return RowsOf(step) == rows;
    const loops::LoopProgram* loop = SingleLoop(step);
    return loop != nullptr && loop->outer_count() == 1 && loop->inner_count() > 0 &&
           loop->inner_count() % rows == 0;
  }

  int64_t ElementsOf(ValueId v) const { return *plan_.graph.values[v].shape.ElementCount(); }

  // Returns the steps from `first` on that can be fused; steps that do not fit may be moved before all of
  // them.
  Group FindGroup(std::vector<Step>& steps, size_t first) {
    Group group;
    const size_t end = std::min(steps.size(), first + kMaxDistance);
    for (size_t i = first; i < end && group.rows == 0; ++i) group.rows = RowsOf(steps[i]);
    if (group.rows < kMinRows || !HasRows(steps[first], group.rows)) return {};
    bool reduces = false;
    int64_t elements = 0;
    for (size_t i = first; i < end && group.members.size() < kMaxParts; ++i) {
      if (HasRows(steps[i], group.rows) && Add(steps[i], i, &group)) {
        reduces |= std::holds_alternative<ReduceStep>(steps[i].what);
        const auto* loop = std::get_if<TileStep>(&steps[i].what);
        elements = std::max(elements,
                            loop != nullptr
                                ? loop->programs[0].inner_count()
                                : group.rows * std::get<ReduceStep>(steps[i].what).program.reduced_count());
      } else if (i == first || !CanMoveBefore(steps[i], group)) {
        break;
      }
    }
    return reduces && elements >= kMinElements ? group : Group{};
  }

  // True if the step reads nothing that the group writes, and updates nothing in place that the group may
  // read.
  bool CanMoveBefore(Step& step, const Group& group) const {
    const auto* loop = std::get_if<TileStep>(&step.what);
    const auto* kernel = std::get_if<KernelStep>(&step.what);
    const bool computes = (loop != nullptr && loop->updated == kNoValue) ||
                          (kernel != nullptr && kernel->kernel.in_place_results == 0) ||
                          std::holds_alternative<ReduceStep>(step.what);
    if (!computes) return false;
    bool reads = false;
    VisitSlots(step,
               [&](int32_t& v, bool is_write) { reads |= !is_write && group.written.contains(Resolve(v)); });
    return !reads;
  }

  // Adds the step if it reads values of the group only within its own row, and shares enough bytes with the
  // group.
  bool Add(Step& step, size_t number, Group* group) const {
    absl::flat_hash_map<ValueId, int64_t> row_bytes = group->row_bytes;
    absl::flat_hash_set<ValueId> read, written;
    bool fits = true;
    int64_t shared_bytes = 0;
    const auto* reduce = std::get_if<ReduceStep>(&step.what);
    const loops::LoopProgram& program =
        reduce != nullptr ? reduce->program.body : std::get<TileStep>(step.what).programs[0];
    program.VisitAccesses([&](const loops::Access& access, bool is_store) {
      VisitOthers(access, [&](int32_t argument) { fits &= !group->written.contains(Resolve(argument)); });
      if (!access.IsArray()) return;
      const ValueId v = Resolve(access.argument);
      const int64_t length = ElementsOf(v) / group->rows;
      const bool stays = ElementsOf(v) % group->rows == 0 &&
                         IsWithinRow(program, reduce != nullptr, access, group->rows, length);
      (is_store ? written : read).insert(v);
      fits &= stays || !(is_store || group->written.contains(v));
      if (!stays) return;
      row_bytes[v] = length * ByteCount(access.type);
      if (!is_store && group->row_bytes.contains(v)) shared_bytes += row_bytes[v];
    });
    if (reduce != nullptr) {
      for (const loops::Reduction::Result& result : reduce->program.results) {
        fits &= !group->written.contains(Resolve(result.init));
        written.insert(Resolve(result.output));
        row_bytes[Resolve(result.output)] = ByteCount(result.output_type);
      }
    }
    // A step that is delayed extends live ranges, so it must share more.
    const bool is_next = group->members.empty() || group->members.back() + 1 == number;
    const int64_t least = group->members.empty() ? 0 : is_next ? 1 : group->bytes() / 2;
    if (!fits || shared_bytes < least) return false;
    Group grown = *group;
    grown.row_bytes = std::move(row_bytes);
    if (grown.bytes() > kMaxRowBytes) return false;
    grown.read.insert(read.begin(), read.end());
    grown.written.insert(written.begin(), written.end());
    grown.members.push_back(number);
    *group = std::move(grown);
    return true;
  }

  Step FuseGroup(std::vector<Step>& steps, const Group& group) {
    RowsStep rows;
    Step step{steps[group.members.back()].instruction, {}};
    absl::flat_hash_map<ValueId, int64_t> reads_inside;
    for (const size_t i : group.members) {
      Step& member = steps[i];
      rows.instructions.push_back(&member.shown());
      step.fused.insert(step.fused.end(), member.fused.begin(), member.fused.end());
      if (member.instruction != step.instruction) step.fused.push_back(member.instruction);
      if (auto* reduce = std::get_if<ReduceStep>(&member.what))
        rows.program.parts.emplace_back(std::move(reduce->program));
      else
        rows.program.parts.emplace_back(std::move(std::get<TileStep>(member.what).programs[0]));
      VisitPart(rows.program.parts.back(), [&](int32_t& v, bool is_write) {
        if (!is_write) ++reads_inside[Resolve(v)];
      });
    }
    rows.program.rows = group.rows;
    const auto rows_of = [&](int64_t bytes) { return bytes / std::max<int64_t>(group.bytes(), 1); };
    const int64_t block =
        std::max(rows_of(kBlockBytes), std::min(rows_of(kMaxBlockBytes), group.rows / kManyBlocks));
    rows.program.block = std::clamp<int64_t>(block, 1, group.rows);
    NumberArguments(group, reads_inside, &rows);
    OptimizeRowProgram(rows, cse_, changes_);
    step.what = std::move(rows);
    return step;
  }

  // Replaces values by argument numbers: operands and results, then the values that only this step reads.
  void NumberArguments(const Group& group, const absl::flat_hash_map<ValueId, int64_t>& reads_inside,
                       RowsStep* rows) {
    absl::flat_hash_map<ValueId, int32_t> number;
    std::vector<ValueId> kept;
    const auto each = [&](auto&& visit) {
      for (Part& part : rows->program.parts) VisitPart(part, visit);
    };
    each([&](int32_t& v, bool) {
      if (!group.written.contains(Resolve(v)) && number.emplace(Resolve(v), rows->operands.size()).second)
        rows->operands.push_back(Resolve(v));
    });
    each([&](int32_t& v, bool is_write) {
      if (!is_write) return;
      const auto found = reads_inside.find(Resolve(v));
      if ((found == reads_inside.end() ? 0 : found->second) == read_count_[Resolve(v)]) {
        kept.push_back(Resolve(v));
      } else {
        number[Resolve(v)] = static_cast<int32_t>(rows->operands.size() + rows->results.size());
        rows->results.push_back(Resolve(v));
      }
    });
    rows->program.argument_count = static_cast<int32_t>(rows->operands.size() + rows->results.size());
    for (const ValueId v : kept) {
      number[v] = rows->program.argument_count + static_cast<int32_t>(rows->program.kept_bytes.size());
      rows->program.kept_bytes.push_back(group.row_bytes.at(v));
    }
    each([&](int32_t& v, bool) { v = number.at(Resolve(v)); });
    FindAliases(rows);
  }

  // A loop's result may alias an operand that it reads at the same elements and that no later part reads.
  static void FindAliases(RowsStep* rows) {
    const auto operand_count = static_cast<int32_t>(rows->operands.size());
    std::vector<size_t> last_read(operand_count, 0);
    std::vector<bool> stays(operand_count, true);
    for (size_t p = 0; p < rows->program.parts.size(); ++p) {
      VisitPart(rows->program.parts[p], [&](int32_t& v, bool) {
        if (v < operand_count) last_read[v] = p;
      });
    }
    for (size_t p = 0; p < rows->program.parts.size(); ++p) {
      const auto* loop = std::get_if<loops::LoopProgram>(&rows->program.parts[p]);
      if (loop == nullptr) continue;
      const loops::Access* store = nullptr;
      int64_t store_count = 0;
      loop->VisitAccesses([&](const loops::Access& access, bool is_store) {
        if (is_store) store = &access, ++store_count;
      });
      if (store_count != 1 || store->argument >= rows->program.argument_count) continue;
      for (int32_t v = 0; v < operand_count; ++v) {
        if (last_read[v] == p && ReadsWhereItStores(*rows, v, *loop, *store))
          rows->aliases.push_back({store->argument - operand_count, v});
      }
    }
  }

  // True if all reads of the operand are within their row, and those of the loop are of the element that it
  // stores.
  static bool ReadsWhereItStores(const RowsStep& rows, int32_t operand, const loops::LoopProgram& loop,
                                 const loops::Access& store) {
    const int64_t length = loop.inner_count() / rows.program.rows;
    bool fits = true, reads = false;
    for (const Part& part : rows.program.parts) {
      const loops::LoopProgram& body = loops::RowProgram::BodyOf(part);
      body.VisitAccesses([&](const loops::Access& access, bool) {
        VisitOthers(access, [&](int32_t argument) { fits &= argument != operand; });
        if (access.argument != operand) return;
        fits &= ByteCount(access.type) == ByteCount(store.type) &&
                IsWithinRow(body, std::holds_alternative<loops::ReduceProgram>(part), access,
                            rows.program.rows, length);
        if (&body != &loop) return;
        reads = true;
        fits &= access.offset == store.offset && access.inner == store.inner;
      });
      if (const auto* reduce = std::get_if<loops::ReduceProgram>(&part)) {
        for (const loops::Reduction::Result& result : reduce->results) fits &= result.init != operand;
      }
    }
    return fits && reads;
  }

  Plan& plan_;
  const bool cse_;
  ChangeCounter& changes_;
  std::vector<int64_t> read_count_;
};

}  // namespace

void TileRows(Plan& plan, bool cse, ChangeCounter& changes) { RowTiler(plan, cse, changes).Run(plan.steps); }

}  // namespace hlo::plan
