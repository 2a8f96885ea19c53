#include "plan/sort_step.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "base/parallel.h"
#include "plan/tile_calls.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// One side of the comparison as a function of a single parameter.
class Side {
 public:
  explicit Side(const Instruction& root) { Visit(root); }
  const Instruction* parameter() const { return is_function_ ? parameter_ : nullptr; }

 private:
  void Visit(const Instruction& instruction) {
    if (++visited_ > 64) {
      is_function_ = false;
    } else if (instruction.opcode() == Opcode::kParameter) {
      is_function_ &= parameter_ == nullptr || parameter_ == &instruction;
      parameter_ = &instruction;
    }
    if (!is_function_) return;
    for (const Instruction* operand : instruction.operands()) Visit(*operand);
  }
  const Instruction* parameter_ = nullptr;
  int visited_ = 0;
  bool is_function_ = true;
};

// Whether both sides compute the same from their parameters.
bool SameFunction(const Instruction& a, const Instruction& b, int* visited) {
  if (++*visited > 64 || a.opcode() != b.opcode() || a.operand_count() != b.operand_count() ||
      a.shape() != b.shape())
    return false;
  if (a.opcode() == Opcode::kParameter) return true;
  if (a.opcode() == Opcode::kConstant) {
    if (a.is_elided() || b.is_elided()) return false;
    const Literal &x = *a.Get<attr::literal>(), &y = *b.Get<attr::literal>();
    return std::memcmp(x.data(), y.data(), x.byte_count()) == 0;
  }
  if (a.Get<attr::direction>() != b.Get<attr::direction>() || a.Get<attr::order>() != b.Get<attr::order>() ||
      a.Get<attr::exponent_bits>() != b.Get<attr::exponent_bits>() ||
      a.Get<attr::mantissa_bits>() != b.Get<attr::mantissa_bits>())
    return false;
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    if (!SameFunction(*a.operand(i), *b.operand(i), visited)) return false;
  }
  return true;
}

}  // namespace

std::optional<SortKey> FindSortKey(const Instruction& sort) {
  const Computation& comparator = *sort.Get<attr::to_apply>();
  const Instruction& root = *comparator.root();
  if (root.opcode() != Opcode::kCompare || !root.shape().IsScalar()) return std::nullopt;
  const ComparisonDirection direction = root.Get<attr::direction>();
  if (direction != ComparisonDirection::kLt && direction != ComparisonDirection::kGt) return std::nullopt;
  const Instruction* left = Side(*root.operand(0)).parameter();
  const Instruction* right = Side(*root.operand(1)).parameter();
  int visited = 0;
  if (left == nullptr || right == nullptr || !SameFunction(*root.operand(0), *root.operand(1), &visited))
    return std::nullopt;
  // The parameters come in pairs; `b < a` descends as `a > b` does.
  int64_t first = left->Get<attr::number>(), second = right->Get<attr::number>();
  const bool swapped = first > second;
  if (swapped) std::swap(first, second);
  if (first % 2 != 0 || second != first + 1) return std::nullopt;
  const ElementType element = left->shape().type(), key = root.operand(0)->shape().type();
  const int64_t operand = first / 2;
  if (!left->shape().IsScalar() || sort.operand(operand)->shape().type() != element || IsComplex(key))
    return std::nullopt;
  std::optional<cpu::TileCode> code = FindUnaryCode(*root.operand(0), *left);
  if (!code.has_value()) return std::nullopt;
  const bool total = root.Get<attr::order>() == ComparisonOrder::kTotal || !IsFloat(key);
  return SortKey{operand,
                 *std::move(code),
                 {cpu::LaneOf(key), (direction == ComparisonDirection::kGt) != swapped, total}};
}

absl::Status RunSort(const Instruction& sort, const SortKey& key, absl::Span<const void* const> operands,
                     absl::Span<void* const> results) {
  const Shape& shape = sort.operand(0)->shape();
  const int64_t dimension = sort.Get<attr::dimensions>()[0];
  const int64_t length = shape.dim(dimension);
  if (*shape.ElementCount() == 0) return absl::OkStatus();
  int64_t stride = 1;
  for (int64_t d = dimension + 1; d < shape.rank(); ++d) stride *= shape.dim(d);
  const int64_t lines = *shape.ElementCount() / length;
  const ElementType type = sort.operand(key.operand)->shape().type();
  const cpu::TileCall widen = cpu::LoadTile(type);
  const int64_t lane_bytes = std::max<int64_t>(16, ByteCount(type));
  std::atomic<bool> all = true;
  // A few nanoseconds for every digit of every element.
  ParallelFor(lines, 30.0 * static_cast<double>(lines * length), [&](int64_t line) {
    thread_local std::vector<std::byte> elements, lanes;
    thread_local std::vector<uint64_t> keys;
    thread_local std::vector<uint32_t> order;
    thread_local cpu::SortScratch scratch;
    elements.resize(length * lane_bytes);
    lanes.resize(length * lane_bytes);
    keys.resize(length);
    order.resize(length);
    const int64_t start = line / stride * stride * length + line % stride;
    const auto at = [&](const void* data, int64_t width) {
      return static_cast<const std::byte*>(data) + start * width;
    };
    cpu::CopyStrided(length, ByteCount(type), elements.data(), 1, at(operands[key.operand], ByteCount(type)),
                     stride);
    const void* in[] = {elements.data()};
    if (widen.function != nullptr) {
      widen.function(length, lanes.data(), in, widen.parameter);
      std::swap(elements, lanes);
      in[0] = elements.data();
    }
    void* out[] = {lanes.data()};
    key.code.Run(length, in, out);
    if (!cpu::MakeSortKeys(key.order, length, lanes.data(), keys.data())) {
      all = false;
      return;
    }
    cpu::StableOrder(absl::MakeSpan(keys), absl::MakeSpan(order), scratch);
    for (size_t k = 0; k < operands.size(); ++k) {
      const int64_t width = ByteCount(sort.operand(static_cast<int64_t>(k))->shape().type());
      cpu::GatherStrided(length, width, static_cast<std::byte*>(results[k]) + start * width, stride,
                         at(operands[k], width), stride, order.data());
    }
  });
  if (!all) return absl::UnimplementedError("an element has no place in the order");
  return absl::OkStatus();
}

}  // namespace hlo::plan
