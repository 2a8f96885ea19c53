#include "plan/fusion/gemm_fusion.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/select/library_kernels.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// Steps between a product and the loop that joins it, at most.
constexpr size_t kFarthestLoop = 16;

// Whether a loop reads or writes element i of the array, and no other, at its position i.
bool IsAtPosition(const cpu::TileProgram& program, const cpu::Access& access) {
  if (!access.IsRegular() || !access.starts.empty() || access.next >= 0 || access.offset != 0) return false;
  int64_t expected = 1;
  for (size_t d = access.inner.size(); d-- > 0;) {
    if (access.inner[d] != expected) return false;
    expected *= program.inner_dims()[d];
  }
  return true;
}

// Whether the one result of a loop lies in memory as the loop counts.
bool StoresInOrder(const cpu::TileProgram& program) {
  int64_t stores = 0;
  bool in_order = true;
  program.VisitAccesses([&](const cpu::Access& access, bool is_store) {
    if (!is_store) return;
    ++stores;
    in_order &= IsAtPosition(program, access);
  });
  return in_order && stores == 1;
}

// The steps of one block.
class Joiner {
 public:
  Joiner(Plan& plan, const std::vector<int64_t>& read_count, int64_t least_bytes, std::vector<Step>& steps)
      : plan_(plan),
        read_count_(read_count),
        least_bytes_(least_bytes),
        steps_(steps),
        joined_(steps.size()) {}

  void Run() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (std::holds_alternative<KernelStep>(steps_[i].what))
        AddProduct(i);
      else if (const cpu::TileProgram* program = LoopIn(steps_[i]))
        AddLoop(*program, i);
    }
    size_t kept = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (joined_[i]) continue;
      if (auto* product = std::get_if<ProductStep>(&steps_[i].what)) Number(product);
      if (kept != i) steps_[kept] = std::move(steps_[i]);
      ++kept;
    }
    steps_.resize(kept);
  }

 private:
  ValueId Real(ValueId v) const { return plan_.graph.Resolve(v); }
  const Shape& ShapeOf(ValueId v) const { return plan_.graph.values[v].shape; }

  // Smaller arrays are still in a cache when the step after them reads them, in longer rows.
  bool IsLarge(ValueId v) const {
    return ShapeOf(v).IsArray() && *DenseByteCount(ShapeOf(v)) >= least_bytes_;
  }

  // The loop that the step is, where others may take it over.
  static const cpu::TileProgram* LoopIn(const Step& step) {
    const auto* tiles = std::get_if<TileStep>(&step.what);
    if (tiles == nullptr || tiles->programs.size() != 1 || tiles->updated != kNoValue) return nullptr;
    return tiles->programs[0].outer_count() == 1 ? &tiles->programs[0] : nullptr;
  }

  // A product that loops may join, with those that compute its operands.
  void AddProduct(size_t i) {
    Step& step = steps_[i];
    const KernelStep kernel = std::get<KernelStep>(step.what);
    const ProductKernel how = FindProductKernel(*step.instruction);
    if (how.run == nullptr || kernel.kernel.name == "small dot") return;
    const ValueId result = Real(kernel.results[0]);
    if (how.takes_epilogue && IsLarge(result)) products_[result] = i;
    ProductStep product{how.run, {kernel.operands[0], kernel.operands[1]}, {result}};
    bool joins = false;
    for (const int side : {ProductStep::kLhs, ProductStep::kRhs}) {
      const auto found = loops_.find(Real(kernel.operands[side]));
      if (how.operand_row[side] == 0 || found == loops_.end() || found->second + kFarthestLoop < i) continue;
      Step& loop = steps_[found->second];
      std::optional<cpu::TileProgram> program = LoopIn(loop)->ByRows(how.operand_row[side]);
      if (!program.has_value()) continue;
      product.loops[side] = {loop.instruction, *std::move(program)};
      Fuse(loop, &step);
      joined_[found->second] = joins = true;
    }
    if (joins) step.what = std::move(product);
  }

  // Either joins the product whose result it reads, or waits for one that reads its own.
  void AddLoop(const cpu::TileProgram& program, size_t i) {
    const std::optional<size_t> product = ProductOf(program, i);
    if (product.has_value() && JoinResult(*product, i)) return;
    if (!StoresInOrder(program)) return;
    program.VisitAccesses([&](const cpu::Access& access, bool is_store) {
      const ValueId v = is_store ? Real(access.argument) : kNoValue;
      if (v != kNoValue && read_count_[v] == 1 && IsLarge(v) && program.inner_count() > 0 &&
          program.inner_count() == *ShapeOf(v).ElementCount())
        loops_[v] = i;
    });
  }

  // The product whose blocks the loop may run over, the last one if there are several.
  std::optional<size_t> ProductOf(const cpu::TileProgram& program, size_t loop) const {
    std::optional<size_t> last;
    program.VisitAccesses([&](const cpu::Access& access, bool is_store) {
      if (is_store || !access.IsArray()) return;
      const auto found = products_.find(Real(access.argument));
      if (found == products_.end() || found->second + kFarthestLoop < loop) return;
      if (last.has_value() && *last >= found->second) return;
      if (ReadsInOrder(program, found->first)) last = found->second;
    });
    return last;
  }

  // Whether the loop is the only one to read the value, each element at its position.
  bool ReadsInOrder(const cpu::TileProgram& program, ValueId product) const {
    bool in_order = program.inner_count() == *ShapeOf(product).ElementCount();
    int64_t reads = 0;
    program.VisitAccesses([&](const cpu::Access& access, bool is_store) {
      VisitOthers(access, [&](int32_t argument) { in_order &= Real(argument) != product; });
      if (is_store) in_order &= access.starts.empty() && !access.drops;
      if (is_store || !access.IsArray() || Real(access.argument) != product) return;
      ++reads;
      in_order &= IsAtPosition(program, access);
    });
    return in_order && reads == read_count_[product];
  }

  // The loop's step becomes that of both; false where the rows of the product are none of the loop.
  bool JoinResult(size_t product, size_t loop) {
    Step& step = steps_[product];
    const ProductKernel how = FindProductKernel(*step.instruction);
    cpu::TileProgram program = *LoopIn(steps_[loop]);
    if (FitsInPlace(program, ResultOf(step)) && ReadsOthersInOrder(program, ResultOf(step))) return false;
    if (how.row > 0) {
      std::optional<cpu::TileProgram> rows = program.ByRows(how.row);
      if (!rows.has_value()) return false;
      program = *std::move(rows);
    }
    if (const auto* kernel = std::get_if<KernelStep>(&step.what)) {
      step.what =
          ProductStep{how.run, {kernel->operands[0], kernel->operands[1]}, {Real(kernel->results[0])}};
    }
    auto& joined = std::get<ProductStep>(step.what);
    const ValueId result = joined.results[0];
    joined.in_place = FitsInPlace(*LoopIn(steps_[loop]), result);
    joined.loops[ProductStep::kProduct] = {steps_[loop].instruction, std::move(program)};
    Fuse(steps_[loop], &step);
    steps_[loop] = std::move(step);
    joined_[product] = true;
    return true;
  }

  static ValueId ResultOf(const Step& product) {
    const auto* joined = std::get_if<ProductStep>(&product.what);
    return joined != nullptr ? joined->results[0] : std::get<KernelStep>(product.what).results[0];
  }

  // A loop that reads a second array as large saves no memory in place, and reads both faster by itself.
  bool ReadsOthersInOrder(const cpu::TileProgram& program, ValueId product) const {
    bool reads = false;
    program.VisitAccesses([&](const cpu::Access& access, bool is_store) {
      reads |= !is_store && access.IsArray() && Real(access.argument) != Real(product) &&
               IsAtPosition(program, access);
    });
    return reads;
  }

  // Whether the loop's only result may be stored where it reads the product.
  bool FitsInPlace(const cpu::TileProgram& program, ValueId product) const {
    product = Real(product);
    bool fits = StoresInOrder(program);
    program.VisitAccesses([&](const cpu::Access& access, bool is_store) {
      fits &= !is_store || ByteCount(access.type) == ByteCount(ShapeOf(product).type());
    });
    return fits;
  }

  static void Fuse(const Step& loop, Step* product) {
    product->fused.insert(product->fused.end(), loop.fused.begin(), loop.fused.end());
    product->fused.push_back(loop.instruction);
  }

  // The arguments of the loops: operands, results and what only blocks are seen of. Until here they are
  // values.
  void Number(ProductStep* step) const {
    const ValueId blocks[] = {Real(step->operands[0]), Real(step->operands[1]), step->results[0]};
    const auto each = [&](auto&& visit) {
      for (auto& loop : step->loops) {
        if (!loop.has_value()) continue;
        loop->program.VisitAccesses([&](cpu::Access& access, bool is_store) {
          VisitOthers(access, [&](int32_t& argument) { visit(argument, false); });
          if (access.IsArray()) visit(access.argument, is_store);
        });
      }
    };
    for (const int side : {ProductStep::kLhs, ProductStep::kRhs}) {
      if (step->loops[side].has_value()) step->operands[side] = kNoValue;
    }
    if (step->loops[ProductStep::kProduct].has_value()) step->results.clear();
    const auto is_block = [&](ValueId v) {
      for (int k = 0; k < 3; ++k) {
        if (step->loops[k].has_value() && blocks[k] == v) return true;
      }
      return false;
    };
    each([&](int32_t& v, bool is_store) {
      std::vector<Slot>& list = is_store ? step->results : step->operands;
      const auto same = [&](Slot slot) { return slot != kNoValue && Real(slot) == Real(v); };
      if (!is_block(Real(v)) && std::none_of(list.begin(), list.end(), same)) list.push_back(Real(v));
    });
    absl::flat_hash_map<ValueId, int32_t> numbers;
    for (int k = 0; k < 3; ++k) {
      if (step->loops[k].has_value()) numbers.emplace(blocks[k], step->NumberOf(k));
    }
    const auto add = [&](Slot slot, size_t number) {
      if (slot != kNoValue) numbers.emplace(Real(slot), static_cast<int32_t>(number));
    };
    for (size_t k = 0; k < step->operands.size(); ++k) add(step->operands[k], k);
    for (size_t k = 0; k < step->results.size(); ++k) add(step->results[k], step->operands.size() + k);
    each([&](int32_t& v, bool) { v = numbers.at(Real(v)); });
  }

  Plan& plan_;
  const std::vector<int64_t>& read_count_;
  const int64_t least_bytes_;
  std::vector<Step>& steps_;
  std::vector<bool> joined_;                       // Those that are part of others.
  absl::flat_hash_map<ValueId, size_t> products_;  // Whose result a loop may join, by that.
  absl::flat_hash_map<ValueId, size_t> loops_;     // That may compute an operand, by their result.
};

void JoinIn(Plan& plan, const std::vector<int64_t>& read_count, int64_t least_bytes,
            std::vector<Step>& steps) {
  for (Step& step : steps) {
    if (auto* loop = std::get_if<LoopStep>(&step.what)) {
      JoinIn(plan, read_count, least_bytes, loop->condition);
      JoinIn(plan, read_count, least_bytes, loop->body);
    } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
      for (BranchStep::Branch& each : branch->branches) JoinIn(plan, read_count, least_bytes, each.steps);
    }
  }
  Joiner(plan, read_count, least_bytes, steps).Run();
}

}  // namespace

void JoinProductLoops(Plan& plan, int64_t least_bytes) {
  JoinIn(plan, CountReads(plan), least_bytes, plan.steps);
}

}  // namespace hlo::plan
