#include "plan/fusion/gemm_fusion.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/analysis/elementwise_loop.h"
#include "plan/select/library_kernels.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// The maximal number of steps between a GEMM or convolution and a loop that is fused into it.
constexpr size_t kMaxGemmDistance = 16;

// Fuses the steps of one block.
class GemmFuser {
 public:
  GemmFuser(Plan& plan, const std::vector<int64_t>& read_count, int64_t min_bytes, ChangeCounter& changes,
            std::vector<Step>& steps)
      : plan_(plan),
        changes_(changes),
        read_count_(read_count),
        min_bytes_(min_bytes),
        steps_(steps),
        fused_(steps.size()) {}

  void Run() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (std::holds_alternative<KernelStep>(steps_[i].what))
        VisitProduct(i);
      else if (const loops::LoopProgram* program = SingleLoop(steps_[i]))
        VisitLoop(*program, i);
    }
    size_t kept = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (fused_[i]) continue;
      if (auto* product = std::get_if<ProductStep>(&steps_[i].what)) NumberArguments(product);
      if (kept != i) steps_[kept] = std::move(steps_[i]);
      ++kept;
    }
    steps_.resize(kept);
  }

 private:
  ValueId Resolve(ValueId v) const { return plan_.graph.Resolve(v); }
  const Shape& ShapeOf(ValueId v) const { return plan_.graph.values[v].shape; }

  // Smaller arrays are still in a cache when the next step reads them.
  bool IsLarge(ValueId v) const { return ShapeOf(v).IsArray() && *DenseByteCount(ShapeOf(v)) >= min_bytes_; }

  // Records a GEMM or convolution, and fuses loops that compute its operands into its prologues.
  void VisitProduct(size_t i) {
    Step& step = steps_[i];
    const KernelStep kernel = std::get<KernelStep>(step.what);
    const ProductKernel how = FindProductKernel(*step.instruction);
    if (how.run == nullptr || kernel.kernel.name == "small dot") return;
    const ValueId result = Resolve(kernel.results[0]);
    if (how.supports_epilogue && IsLarge(result)) products_[result] = i;
    ProductStep product{{kernel.operands[0], kernel.operands[1]}, {result}};
    bool joins = false;
    for (const int side : {ProductStep::kLhs, ProductStep::kRhs}) {
      const auto found = loops_.find(Resolve(kernel.operands[side]));
      if (how.operand_row[side] == 0 || found == loops_.end() || found->second + kMaxGemmDistance < i)
        continue;
      Step& loop = steps_[found->second];
      std::optional<loops::LoopProgram> program = SingleLoop(loop)->ByRows(how.operand_row[side]);
      if (!program.has_value() || !changes_.Allow("gemm_fusion", loop.instruction->name())) continue;
      product.loops[side] = {&loop.shown(), *std::move(program)};
      AppendFused(loop, &step);
      fused_[found->second] = joins = true;
    }
    if (joins) step.what = std::move(product);
  }

  // Fuses the loop into the epilogue of the product that it reads, or records it as a candidate for a
  // prologue.
  void VisitLoop(const loops::LoopProgram& program, size_t i) {
    const std::optional<size_t> product = ProductOf(program, i);
    if (product.has_value() && FuseEpilogue(*product, i)) return;
    const loops::Access* store = StoreInOrder(program);
    if (store == nullptr) return;
    const ValueId v = Resolve(store->argument);
    if (read_count_[v] == 1 && IsLarge(v) && program.inner_count() > 0 &&
        program.inner_count() == *ShapeOf(v).ElementCount())
      loops_[v] = i;
  }

  // Returns the last product over whose blocks the loop can run.
  std::optional<size_t> ProductOf(const loops::LoopProgram& program, size_t loop) const {
    std::optional<size_t> last;
    program.VisitAccesses([&](const loops::Access& access, bool is_store) {
      if (is_store || !access.IsArray()) return;
      const auto found = products_.find(Resolve(access.argument));
      if (found == products_.end() || found->second + kMaxGemmDistance < loop) return;
      if (last.has_value() && *last >= found->second) return;
      if (IsOnlyReader(program, found->first)) last = found->second;
    });
    return last;
  }

  // True if the loop is the only reader of the value and reads each element at the element's position.
  bool IsOnlyReader(const loops::LoopProgram& program, ValueId product) const {
    const int64_t reads = ReadsInOrder(program, *ShapeOf(product).ElementCount(),
                                       [&](ValueId v) { return Resolve(v) == product; });
    return reads > 0 && reads == read_count_[product];
  }

  // Fuses a loop into the epilogue of a product; returns false if the loop cannot run over the rows of the
  // product.
  bool FuseEpilogue(size_t product, size_t loop) {
    Step& step = steps_[product];
    const ProductKernel how = FindProductKernel(*step.instruction);
    loops::LoopProgram program = *SingleLoop(steps_[loop]);
    if (FitsInPlace(program, ResultOf(step)) && ReadsOthersInOrder(program, ResultOf(step))) return false;
    if (how.row > 0) {
      std::optional<loops::LoopProgram> rows = program.ByRows(how.row);
      if (!rows.has_value()) return false;
      program = *std::move(rows);
    }
    if (!changes_.Allow("gemm_fusion", steps_[loop].instruction->name())) return false;
    if (const auto* kernel = std::get_if<KernelStep>(&step.what)) {
      step.what = ProductStep{{kernel->operands[0], kernel->operands[1]}, {Resolve(kernel->results[0])}};
    }
    auto& joined = std::get<ProductStep>(step.what);
    const ValueId result = joined.results[0];
    joined.in_place = FitsInPlace(*SingleLoop(steps_[loop]), result);
    joined.loops[ProductStep::kProduct] = {&steps_[loop].shown(), std::move(program)};
    AppendFused(steps_[loop], &step);
    steps_[loop] = std::move(step);
    fused_[product] = true;
    return true;
  }

  static ValueId ResultOf(const Step& product) {
    const auto* joined = std::get_if<ProductStep>(&product.what);
    return joined != nullptr ? joined->results[0] : std::get<KernelStep>(product.what).results[0];
  }

  // A loop that reads a second array in order saves no memory in place, and is faster by itself.
  bool ReadsOthersInOrder(const loops::LoopProgram& program, ValueId product) const {
    bool reads = false;
    program.VisitAccesses([&](const loops::Access& access, bool is_store) {
      reads |= !is_store && access.IsArray() && Resolve(access.argument) != Resolve(product) &&
               IsInOrder(program, access);
    });
    return reads;
  }

  // True if the only result of the loop can be stored where it reads the product.
  bool FitsInPlace(const loops::LoopProgram& program, ValueId product) const {
    const loops::Access* store = StoreInOrder(program);
    return store != nullptr && ByteCount(store->type) == ByteCount(ShapeOf(Resolve(product)).type());
  }

  static void AppendFused(const Step& loop, Step* product) {
    product->fused.insert(product->fused.end(), loop.fused.begin(), loop.fused.end());
    product->fused.push_back(loop.instruction);
  }

  // Replaces the values in the loops by argument numbers: operands, results, then the values that exist only
  // block by block.
  void NumberArguments(ProductStep* step) const {
    const ValueId blocks[] = {Resolve(step->operands[0]), Resolve(step->operands[1]), step->results[0]};
    const auto each = [&](auto&& visit) {
      for (auto& loop : step->loops) {
        if (!loop.has_value()) continue;
        loop->program.VisitAccesses([&](loops::Access& access, bool is_store) {
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
      const auto same = [&](Slot slot) { return slot != kNoValue && Resolve(slot) == Resolve(v); };
      if (!is_block(Resolve(v)) && std::none_of(list.begin(), list.end(), same)) list.push_back(Resolve(v));
    });
    absl::flat_hash_map<ValueId, int32_t> numbers;
    for (int k = 0; k < 3; ++k) {
      if (step->loops[k].has_value()) numbers.emplace(blocks[k], step->NumberOf(k));
    }
    const auto add = [&](Slot slot, size_t number) {
      if (slot != kNoValue) numbers.emplace(Resolve(slot), static_cast<int32_t>(number));
    };
    for (size_t k = 0; k < step->operands.size(); ++k) add(step->operands[k], k);
    for (size_t k = 0; k < step->results.size(); ++k) add(step->results[k], step->operands.size() + k);
    each([&](int32_t& v, bool) { v = numbers.at(Resolve(v)); });
  }

  Plan& plan_;
  ChangeCounter& changes_;
  const std::vector<int64_t>& read_count_;
  const int64_t min_bytes_;
  std::vector<Step>& steps_;
  std::vector<bool> fused_;                        // The steps that were fused into others.
  absl::flat_hash_map<ValueId, size_t> products_;  // Candidates for an epilogue, keyed by their result.
  absl::flat_hash_map<ValueId, size_t> loops_;     // Candidates for a prologue, keyed by their result.
};

void FuseInSteps(Plan& plan, const std::vector<int64_t>& read_count, int64_t min_bytes,
                 ChangeCounter& changes, std::vector<Step>& steps) {
  for (Step& step : steps) {
    VisitNestedSteps(
        step, [&](std::vector<Step>& nested) { FuseInSteps(plan, read_count, min_bytes, changes, nested); });
  }
  GemmFuser(plan, read_count, min_bytes, changes, steps).Run();
}

}  // namespace

void FuseGemms(Plan& plan, int64_t min_bytes, ChangeCounter& changes) {
  FuseInSteps(plan, CountReads(plan), min_bytes, changes, plan.steps);
}

}  // namespace hlo::plan
