// Selects kernels for sort and topk.

#include <algorithm>
#include <atomic>
#include <cstring>

#include "absl/functional/function_ref.h"
#include "base/arithmetic.h"
#include "base/parallel.h"
#include "base/status.h"
#include "kernels/cpu/elementwise/widened_array.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/sort/merge_order.h"
#include "plan/codegen/scalar_code.h"
#include "plan/select/conditions.h"
#include "plan/select/library_kernels.h"
#include "plan/select/sort_keys.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// The lines along a dimension: element t of line i is at Start(i) + t * stride.
struct Lines {
  int64_t count, length, stride;
  Lines(const Shape& shape, int64_t dimension) : length(shape.dim(dimension)), stride(1) {
    for (int64_t d = dimension + 1; d < shape.rank(); ++d) stride *= shape.dim(d);
    count = length == 0 ? 0 : *shape.ElementCount() / length;
  }
  int64_t Start(int64_t i) const { return i / stride * stride * length + i % stride; }
};

// Returns n elements in their compute type: in place, as a dense copy in `stored`, or widened in `widened`.
const std::byte* Widened(ElementType type, const std::byte* elements, int64_t stride, int64_t n,
                         std::byte* stored, std::byte* widened) {
  if (stride != 1) {
    cpu::CopyStrided(n, ByteCount(type), stored, 1, elements, stride);
    elements = stored;
  }
  const cpu::TileCall widen = cpu::LoadTile(type);
  if (widen.function == nullptr) return elements;
  const void* in[] = {elements};
  widen.function(n, widened, in, widen.parameter);
  return widened;
}

// A whole line in its compute type.
class WidenedLine {
 public:
  const std::byte* Load(ElementType type, const void* data, const Lines& lines, int64_t line,
                        const cpu::LineChunks& chunks) {
    const int64_t width = ByteCount(type), wide = loops::ComputeTypeBytes(loops::ComputeTypeOf(type));
    const std::byte* elements = static_cast<const std::byte*>(data) + lines.Start(line) * width;
    const bool is_strided = lines.stride != 1, widens = cpu::LoadTile(type).function != nullptr;
    if (!is_strided && !widens) return elements;
    if (is_strided) stored_.resize(lines.length * width);
    if (widens) widened_.resize(lines.length * wide);
    chunks.ForEach(1.5, [&](int64_t, int64_t begin, int64_t end) {
      Widened(type, elements + begin * lines.stride * width, lines.stride, end - begin,
              is_strided ? stored_.data() + begin * width : nullptr,
              widens ? widened_.data() + begin * wide : nullptr);
    });
    return widens ? widened_.data() : stored_.data();
  }

 private:
  cpu::CachedVector<std::byte> stored_, widened_;
};

// A block of a line in its compute type, at most cpu::kKeyBlock elements.
class WidenedBlock {
 public:
  const std::byte* Load(ElementType type, const void* data, const Lines& lines, int64_t line, int64_t begin,
                        int64_t n) {
    const int64_t first = lines.Start(line) + begin * lines.stride;
    return Widened(type, static_cast<const std::byte*>(data) + first * ByteCount(type), lines.stride, n,
                   stored_, widened_);
  }

 private:
  alignas(64) std::byte stored_[cpu::kKeyBlock * 8], widened_[cpu::kKeyBlock * 8];
};

// A result may alias its operand, or be null if it is unused.
void Permute(const Instruction& sort, const Lines& lines, int64_t line, const cpu::LineChunks& chunks,
             const uint32_t* order, absl::Span<const void* const> operands, absl::Span<void* const> results,
             cpu::CachedVector<std::byte>* scratch) {
  for (size_t k = 0; k < operands.size(); ++k) {
    if (results[k] == nullptr) continue;
    const int64_t width = ByteCount(sort.operand(static_cast<int64_t>(k))->shape().type());
    const int64_t start = lines.Start(line) * width;
    const std::byte* from = static_cast<const std::byte*>(operands[k]) + start;
    int64_t stride = lines.stride;
    if (results[k] == operands[k]) {
      scratch->resize(lines.length * width);
      chunks.ForEach(1, [&](int64_t, int64_t begin, int64_t end) {
        cpu::CopyStrided(end - begin, width, scratch->data() + begin * width, 1,
                         from + begin * stride * width, stride);
      });
      from = scratch->data();
      stride = 1;
    }
    std::byte* to = static_cast<std::byte*>(results[k]) + start;
    chunks.ForEach(2, [&](int64_t, int64_t begin, int64_t end) {
      cpu::GatherStrided(end - begin, width, to + begin * lines.stride * width, lines.stride, from, stride,
                         order + begin);
    });
  }
}

// Calls body(i) for every i of [0, count): in parallel, or sequentially if all threads work on one line.
void ForLines(int64_t count, bool should_split, double nanoseconds, absl::FunctionRef<void(int64_t)> body) {
  if (!should_split) return ParallelFor(count, nanoseconds, body);
  for (int64_t i = 0; i < count; ++i) body(i);
}

// Sorts lines by keys, the last one first; keys that fit into 64 bits together are one key.
class KeySorter {
 public:
  KeySorter(absl::Span<const SortKey> keys, const cpu::LineChunks& chunks) : keys_(keys), chunks_(chunks) {}

  // Returns an empty order if an element is unordered (NaN).
  absl::Span<const uint32_t> Order(const Instruction& sort, const Lines& lines, int64_t line,
                                   absl::Span<const void* const> operands) {
    const int64_t n = lines.length;
    std::atomic<bool> all = true;
    absl::Span<const uint32_t> order;
    for (size_t end = keys_.size(); end > 0;) {
      size_t begin = end - 1;
      int64_t bits = Bits(begin);
      while (begin > 0 && bits + Bits(begin - 1) <= 64) bits += Bits(--begin);
      const auto read = [&, begin, end](int64_t from, int64_t count, uint64_t* joined) {
        for (size_t k = begin; k < end; ++k) {
          if (!Append(k, k == begin, {sort, lines, line, operands}, from, count, joined)) all = false;
        }
      };
      const auto key_bits = static_cast<int>(bits);
      order = order.empty() ? cpu::StableOrder(n, key_bits, read, chunks_, scratch_)
                            : OrderAfter(order, key_bits, read);
      if (!all) return {};
      end = begin;
    }
    return order;
  }

 private:
  struct Line {
    const Instruction& sort;
    const Lines& lines;
    int64_t number;
    absl::Span<const void* const> operands;
  };
  int64_t Bits(size_t k) const { return 8 * loops::ComputeTypeBytes(keys_[k].order.compute_type); }

  // Refines an order by more significant keys; the sort is stable.
  absl::Span<const uint32_t> OrderAfter(absl::Span<const uint32_t> order, int key_bits, cpu::ReadKeys read) {
    const auto n = static_cast<int64_t>(order.size());
    order_.assign(order.begin(), order.end());
    joined_.resize(n);
    chunks_.ForEach(2, [&](int64_t, int64_t begin, int64_t end) {
      for (; begin < end; begin += cpu::kKeyBlock)
        read(begin, std::min(cpu::kKeyBlock, end - begin), joined_.data() + begin);
    });
    const absl::Span<const uint32_t> next = cpu::StableOrder(
        n, key_bits,
        [&](int64_t from, int64_t count, uint64_t* keys) {
          for (int64_t i = 0; i < count; ++i) keys[i] = joined_[order_[from + i]];
        },
        chunks_, scratch_);
    // The joined keys are dead.
    auto* both = reinterpret_cast<uint32_t*>(joined_.data());
    chunks_.ForEach(2, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) both[i] = order_[next[i]];
    });
    return {both, static_cast<size_t>(n)};
  }

  // Returns false if an element is unordered (NaN).
  bool Append(size_t k, bool is_first, const Line& line, int64_t begin, int64_t n, uint64_t* joined) const {
    const SortKey& key = keys_[k];
    const ElementType type = line.sort.operand(key.operand)->shape().type();
    WidenedBlock block;
    alignas(64) std::byte computed[cpu::kKeyBlock * 8];
    uint64_t bits[cpu::kKeyBlock];
    const void* in[] = {block.Load(type, line.operands[key.operand], line.lines, line.number, begin, n)};
    void* out[] = {computed};
    key.code.Run(n, in, out);
    const bool all = cpu::MakeSortKeys(key.order, n, computed, is_first ? joined : bits);
    const int64_t shift = Bits(k);
    for (int64_t i = 0; i < n && !is_first; ++i) joined[i] = joined[i] << shift | bits[i];
    return all;
  }

  absl::Span<const SortKey> keys_;
  const cpu::LineChunks& chunks_;
  // For keys of more than 64 bits.
  cpu::CachedVector<uint64_t> joined_;
  cpu::CachedVector<uint32_t> order_;
  cpu::SortScratch scratch_;
};

absl::Status SortByKeys(const Instruction& sort, absl::Span<const SortKey> keys,
                        absl::Span<const void* const> operands, absl::Span<void* const> results) {
  const Lines lines(sort.operand(0)->shape(), sort.Get<attr::dimensions>()[0]);
  std::atomic<bool> all = true;
  // The estimate is a few nanoseconds for every digit of every element.
  const int64_t lines_per_task = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, lines.length));
  const double nanoseconds = 30.0 * static_cast<double>(lines.count * lines.length);
  const bool should_split = cpu::LineChunks::ShouldSplit(lines.count, lines.length);
  const cpu::LineChunks chunks(lines.length, should_split);
  ForLines(CeilDiv(lines.count, lines_per_task), should_split, nanoseconds, [&](int64_t c) {
    KeySorter sorter(keys, chunks);
    cpu::CachedVector<std::byte> scratch;
    for (int64_t line = c * lines_per_task; line < std::min(lines.count, (c + 1) * lines_per_task); ++line) {
      const absl::Span<const uint32_t> order = sorter.Order(sort, lines, line, operands);
      if (order.empty())
        all = false;
      else
        Permute(sort, lines, line, chunks, order.data(), operands, results, &scratch);
    }
  });
  // If an element is NaN, the comparator itself must be called.
  return all ? absl::OkStatus() : absl::UnimplementedError("an element has no place in the order");
}

absl::Status SortByComparator(const Instruction& sort, const cpu::TileCode& before,
                              absl::Span<const void* const> operands, absl::Span<void* const> results) {
  const Lines lines(sort.operand(0)->shape(), sort.Get<attr::dimensions>()[0]);
  absl::Status status;
  cpu::CachedVector<absl::Status> statuses(lines.count);
  const double nanoseconds = 500.0 * static_cast<double>(lines.count * lines.length);
  const bool should_split = cpu::LineChunks::ShouldSplit(lines.count, lines.length);
  const cpu::LineChunks chunks(lines.length, should_split);
  ForLines(lines.count, should_split, nanoseconds, [&](int64_t line) {
    cpu::CachedVector<WidenedLine> widened(operands.size());
    cpu::CachedVector<const std::byte*> elements;
    cpu::CachedVector<int64_t> widths;
    for (size_t k = 0; k < operands.size(); ++k) {
      const ElementType type = sort.operand(static_cast<int64_t>(k))->shape().type();
      elements.push_back(widened[k].Load(type, operands[k], lines, line, chunks));
      widths.push_back(loops::ComputeTypeBytes(loops::ComputeTypeOf(type)));
    }
    cpu::CachedVector<uint32_t> order(lines.length);
    statuses[line] = cpu::MergeOrder(before, elements, widths, chunks, &order);
    cpu::CachedVector<std::byte> scratch;
    if (statuses[line].ok()) Permute(sort, lines, line, chunks, order.data(), operands, results, &scratch);
  });
  for (absl::Status& each : statuses) {
    if (!each.ok()) return std::move(each);
  }
  return absl::OkStatus();
}

// Returns the first k elements of each line along the last dimension in the key's order, and their positions.
absl::Status RunTopk(const Instruction& topk, const cpu::SortOrder& order, const cpu::TileCode* key,
                     absl::Span<const void* const> operands, absl::Span<void* const> results) {
  const Shape &shape = topk.operand(0)->shape(), &values = topk.shape().element(0);
  const Lines lines(shape, shape.rank() - 1);
  const int64_t k = values.dim(values.rank() - 1), width = ByteCount(shape.type());
  std::memset(results[0], 0, *DenseByteCount(values));
  std::memset(results[1], 0, *DenseByteCount(topk.shape().element(1)));
  const auto key_bits = static_cast<int>(8 * loops::ComputeTypeBytes(order.compute_type));
  std::atomic<bool> all = true;
  ParallelFor(lines.count, 3.0 * static_cast<double>(lines.count * lines.length), [&](int64_t line) {
    const auto read = [&](int64_t begin, int64_t n, uint64_t* keys) {
      WidenedBlock block;
      const void* elements = block.Load(shape.type(), operands[0], lines, line, begin, n);
      alignas(64) std::byte computed[cpu::kKeyBlock * 8];
      if (key != nullptr) {
        void* out[] = {computed};
        key->Run(n, &elements, out);
        elements = computed;
      }
      if (!cpu::MakeSortKeys(order, n, elements, keys)) all = false;
    };
    cpu::SortScratch scratch;
    const cpu::CachedVector<uint32_t> first =
        cpu::FirstInOrder(lines.length, key_bits, read, std::min(k, lines.length), scratch);
    const auto count = static_cast<int64_t>(first.size());
    cpu::GatherStrided(count, width, static_cast<std::byte*>(results[0]) + line * k * width, 1,
                       static_cast<const std::byte*>(operands[0]) + lines.Start(line) * width, 1,
                       first.data());
    std::copy(first.begin(), first.end(), static_cast<int32_t*>(results[1]) + line * k);
  });
  return all ? absl::OkStatus() : absl::UnimplementedError("an element has no place in the order");
}

constexpr int64_t kMaxLineLength = std::numeric_limits<int32_t>::max();

bool HasTopkKernel(const Instruction& topk) {
  const Shape& shape = topk.operand(0)->shape();
  return shape.rank() > 0 && shape.dim(shape.rank() - 1) <= kMaxLineLength && !IsComplex(shape.type()) &&
         HasS32Positions(topk);
}

// Orders by the elements themselves.
LibraryKernel TopkKernel(const Instruction& topk, bool largest) {
  if (!HasTopkKernel(topk)) return {};
  const cpu::SortOrder order{loops::ComputeTypeOf(topk.operand(0)->shape().type()), largest, true};
  return {"topk", [order](const Instruction& node, auto operands, auto results) {
            return RunTopk(node, order, nullptr, operands, results);
          }};
}

}  // namespace

LibraryKernel FindSortKernel(const Instruction& sort) {
  if (sort.operand(0)->shape().dim(sort.Get<attr::dimensions>()[0]) > kMaxLineLength) return {};
  std::vector<ElementType> types;
  for (const Instruction* operand : sort.operands()) types.push_back(operand->shape().type());
  std::optional<cpu::TileCode> before;
  if (const auto function = FindComparatorCode(*sort.Get<attr::to_apply>(), types); function.has_value())
    before.emplace(*function);
  const auto count = static_cast<int32_t>(sort.operand_count());
  if (std::optional<std::vector<SortKey>> keys = FindSortKeys(sort); keys.has_value()) {
    // A sort that may have to fall back to the comparator needs its operands intact.
    const bool replaces =
        std::all_of(keys->begin(), keys->end(), [](const SortKey& key) { return key.order.total; });
    return {.name = "sort",
            .run =
                [keys = *std::move(keys), before = std::move(before)](const Instruction& node, auto operands,
                                                                      auto results) {
                  absl::Status status = SortByKeys(node, keys, operands, results);
                  if (!absl::IsUnimplemented(status) || !before.has_value()) return status;
                  return SortByComparator(node, *before, operands, results);
                },
            .in_place_results_on_cpu = replaces ? count : 0,
            .skips_unused = true};
  }
  if (!before.has_value()) return {};
  return {.name = "sort by comparator",
          .run = [before = *std::move(before)](
                     const Instruction& node, auto operands,
                     auto results) { return SortByComparator(node, before, operands, results); },
          .in_place_results_on_cpu = count,
          .skips_unused = true};
}

LibraryKernel FindTopkCallKernel(const Instruction& call) {
  if (call.called_computations().size() != 1 || !HasTopkKernel(call)) return {};
  const Computation& comparator = *call.called_computations()[0];
  const Instruction& root = *comparator.root();
  const ComparisonDirection direction = root.Get<attr::direction>();
  if (root.opcode() == Opcode::kCompare && root.operand(0) == comparator.parameter(0) &&
      root.operand(1) == comparator.parameter(1) &&
      (direction == ComparisonDirection::kGt || direction == ComparisonDirection::kLt))
    return TopkKernel(call, direction == ComparisonDirection::kGt);
  std::optional<std::vector<SortKey>> keys = FindSortKeys(call);
  if (!keys.has_value() || keys->size() != 1 || keys->front().operand != 0) return {};
  return {"topk", [key = std::move(keys->front())](const Instruction& node, auto operands, auto results) {
            return RunTopk(node, key.order, &key.code, operands, results);
          }};
}

LibraryKernel FindTopkKernel(const Instruction& topk) {
  return TopkKernel(topk, topk.Get<attr::largest>(true));
}

}  // namespace hlo::plan
