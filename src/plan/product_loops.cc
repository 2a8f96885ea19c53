#include "plan/product_loops.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/modes.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// Steps between a product and the loop that joins it, at most.
constexpr size_t kFarthest = 16;

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

class Joiner {
 public:
  explicit Joiner(Plan& plan) : plan_(plan), read_count_(CountReads(plan)) {}

  void Run(std::vector<Step>& steps) {
    for (Step& step : steps) {
      if (auto* loop = std::get_if<LoopStep>(&step.what)) {
        Run(loop->condition);
        Run(loop->body);
      } else if (auto* branch = std::get_if<BranchStep>(&step.what)) {
        for (BranchStep::Branch& each : branch->branches) Run(each.steps);
      }
    }
    absl::flat_hash_map<ValueId, size_t> products;  // By their results.
    std::vector<bool> joined(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto* kernel = std::get_if<KernelStep>(&steps[i].what);
      if (kernel != nullptr && IsLarge(*steps[i].instruction) &&
          FindProductKernel(*steps[i].instruction).run != nullptr)
        products[Real(kernel->results[0])] = i;
      const std::optional<size_t> product = ProductOf(steps, i, products);
      if (product.has_value()) joined[*product] = Join(steps[*product], &steps[i]);
    }
    size_t kept = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (joined[i]) continue;
      if (kept != i) steps[kept] = std::move(steps[i]);
      ++kept;
    }
    steps.resize(kept);
  }

 private:
  // A smaller result is still in a cache when the loop after the product reads it, in longer rows.
  static bool IsLarge(const Instruction& instruction) {
    const Shape& shape = instruction.shape();
    return shape.IsArray() && *DenseByteCount(shape) >= CurrentModes().least_product;
  }

  ValueId Real(ValueId v) const { return plan_.graph.Resolve(v); }

  // The product whose blocks the loop may run over, the last one if there are several.
  std::optional<size_t> ProductOf(std::vector<Step>& steps, size_t loop,
                                  const absl::flat_hash_map<ValueId, size_t>& products) const {
    const auto* tiles = std::get_if<TileStep>(&steps[loop].what);
    if (tiles == nullptr || tiles->programs.size() != 1 || tiles->updated != kNoValue) return std::nullopt;
    const cpu::TileProgram& program = tiles->programs[0];
    if (program.outer_count() != 1) return std::nullopt;
    std::optional<size_t> last;
    program.VisitAccesses([&](const cpu::Access& access, bool is_store) {
      if (is_store || !access.IsArray()) return;
      const auto found = products.find(Real(access.argument));
      if (found == products.end() || found->second + kFarthest < loop) return;
      if (last.has_value() && *last >= found->second) return;
      if (ReadsInOrder(program, found->first)) last = found->second;
    });
    return last;
  }

  // Whether the loop is the only one to read the value, each element at its position.
  bool ReadsInOrder(const cpu::TileProgram& program, ValueId product) const {
    bool in_order = program.inner_count() == *plan_.graph.values[product].shape.ElementCount();
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
  bool Join(Step& product, Step* loop) const {
    auto& kernel = std::get<KernelStep>(product.what);
    cpu::TileProgram program = std::get<TileStep>(loop->what).programs[0];
    const ValueId result = Real(kernel.results[0]);
    const ProductKernel how = FindProductKernel(*product.instruction);
    const bool in_place = FitsInPlace(program, result);
    if (how.row > 0) {
      std::optional<cpu::TileProgram> rows = program.ByRows(how.row);
      if (!rows.has_value()) return false;
      program = *std::move(rows);
    }
    ProductStep step{how.run, loop->instruction, std::move(program), std::move(kernel.operands),
                     {},      in_place};
    Number(result, &step);
    Step joined{product.instruction, std::move(step), std::move(product.fused)};
    joined.fused.insert(joined.fused.end(), loop->fused.begin(), loop->fused.end());
    joined.fused.push_back(loop->instruction);
    *loop = std::move(joined);
    return true;
  }

  // Whether the loop's only result may be stored where it reads the product.
  bool FitsInPlace(const cpu::TileProgram& program, ValueId product) const {
    int64_t stores = 0;
    bool fits = true;
    program.VisitAccesses([&](const cpu::Access& access, bool is_store) {
      if (!is_store) return;
      ++stores;
      fits &= IsAtPosition(program, access) &&
              ByteCount(access.type) == ByteCount(plan_.graph.values[product].shape.type());
    });
    return fits && stores == 1;
  }

  // The loop's arguments: operands, results and the product.
  void Number(ValueId product, ProductStep* step) const {
    const auto each = [&](auto&& visit) {
      step->program.VisitAccesses([&](cpu::Access& access, bool is_store) {
        VisitOthers(access, [&](int32_t& argument) { visit(argument, false); });
        if (access.IsArray()) visit(access.argument, is_store);
      });
    };
    each([&](int32_t& v, bool is_store) {
      std::vector<Slot>& list = is_store ? step->results : step->operands;
      if (Real(v) != product && std::find(list.begin(), list.end(), Real(v)) == list.end())
        list.push_back(Real(v));
    });
    absl::flat_hash_map<ValueId, int32_t> numbers;
    const auto add = [&](ValueId v, size_t number) {
      numbers.emplace(Real(v), static_cast<int32_t>(number));
    };
    for (size_t k = 0; k < step->operands.size(); ++k) add(step->operands[k], k);
    for (size_t k = 0; k < step->results.size(); ++k) add(step->results[k], step->operands.size() + k);
    add(product, step->operands.size() + step->results.size());
    each([&](int32_t& v, bool) { v = numbers.at(Real(v)); });
  }

  Plan& plan_;
  std::vector<int64_t> read_count_;
};

}  // namespace

void JoinProductLoops(Plan& plan) { Joiner(plan).Run(plan.steps); }

}  // namespace hlo::plan
