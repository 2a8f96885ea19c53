// sort and topk as library kernels.

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/deadline.h"
#include "base/parallel.h"
#include "base/status.h"
#include "kernels/cpu/kept_vector.h"
#include "kernels/cpu/lane_array.h"
#include "plan/library_kernels.h"
#include "plan/scalar_code.h"
#include "plan/sort_keys.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// Lines along a dimension: element t of line i lies at Start(i) + t * stride.
struct Lines {
  int64_t count, length, stride;
  Lines(const Shape& shape, int64_t dimension) : length(shape.dim(dimension)), stride(1) {
    for (int64_t d = dimension + 1; d < shape.rank(); ++d) stride *= shape.dim(d);
    count = length == 0 ? 0 : *shape.ElementCount() / length;
  }
  int64_t Start(int64_t i) const { return i / stride * stride * length + i % stride; }
};

// The elements of a line, in their lanes: where they lie, or a copy.
class LineLanes {
 public:
  const std::byte* Load(ElementType type, const void* data, const Lines& lines, int64_t line) {
    const int64_t width = ByteCount(type);
    const std::byte* stored = static_cast<const std::byte*>(data) + lines.Start(line) * width;
    if (lines.stride != 1) {
      stored_.resize(lines.length * width);
      cpu::CopyStrided(lines.length, width, stored_.data(), 1, stored, lines.stride);
      stored = stored_.data();
    }
    const cpu::TileCall widen = cpu::LoadTile(type);
    if (widen.function == nullptr) return stored;
    lanes_.resize(lines.length * cpu::LaneBytes(cpu::LaneOf(type)));
    const void* in[] = {stored};
    widen.function(lines.length, lanes_.data(), in, widen.parameter);
    return lanes_.data();
  }

 private:
  cpu::KeptVector<std::byte> stored_, lanes_;
};

// A result may lie where its operand does, or be null: then nobody needs it.
void Permute(const Instruction& sort, const Lines& lines, int64_t line, const uint32_t* order,
             absl::Span<const void* const> operands, absl::Span<void* const> results,
             cpu::KeptVector<std::byte>* scratch) {
  for (size_t k = 0; k < operands.size(); ++k) {
    if (results[k] == nullptr) continue;
    const int64_t width = ByteCount(sort.operand(static_cast<int64_t>(k))->shape().type());
    const int64_t start = lines.Start(line) * width;
    const std::byte* from = static_cast<const std::byte*>(operands[k]) + start;
    int64_t stride = lines.stride;
    if (results[k] == operands[k]) {
      scratch->resize(lines.length * width);
      cpu::CopyStrided(lines.length, width, scratch->data(), 1, from, stride);
      from = scratch->data();
      stride = 1;
    }
    cpu::GatherStrided(lines.length, width, static_cast<std::byte*>(results[k]) + start, lines.stride, from,
                       stride, order);
  }
}

// Orders lines by keys, the last one first; keys that fit into 64 bits together count as one.
class KeySorter {
 public:
  explicit KeySorter(absl::Span<const SortKey> keys) : keys_(keys) {}

  // Empty where an element has no place in the order.
  absl::Span<const uint32_t> Order(const Instruction& sort, const Lines& lines, int64_t line,
                                   absl::Span<const void* const> operands) {
    const auto n = static_cast<size_t>(lines.length);
    bool first = true;
    for (size_t end = keys_.size(); end > 0;) {
      size_t begin = end - 1;
      int64_t bits = Bits(begin);
      while (begin > 0 && bits + Bits(begin - 1) <= 64) bits += Bits(--begin);
      joined_.assign(n, 0);
      for (size_t k = begin; k < end; ++k) {
        if (!Append(k, sort, lines, line, operands)) return {};
      }
      end = begin;
      next_.resize(n);
      if (!first) {  // Ties stay in the order of the keys after these.
        permuted_.resize(n);
        for (size_t i = 0; i < n; ++i) permuted_[i] = joined_[order_[i]];
        std::swap(permuted_, joined_);
      }
      cpu::StableOrder(absl::MakeSpan(joined_), absl::MakeSpan(next_), scratch_);
      if (!first) {
        for (uint32_t& i : next_) i = order_[i];
      }
      std::swap(order_, next_);
      first = false;
    }
    return order_;
  }

 private:
  int64_t Bits(size_t k) const { return 8 * cpu::LaneBytes(keys_[k].order.lane); }

  bool Append(size_t k, const Instruction& sort, const Lines& lines, int64_t line,
              absl::Span<const void* const> operands) {
    const SortKey& key = keys_[k];
    const ElementType type = sort.operand(key.operand)->shape().type();
    const void* in[] = {lanes_.Load(type, operands[key.operand], lines, line)};
    computed_.resize(lines.length * cpu::LaneBytes(key.order.lane));
    void* out[] = {computed_.data()};
    key.code.Run(lines.length, in, out);
    bits_.resize(lines.length);
    if (!cpu::MakeSortKeys(key.order, lines.length, computed_.data(), bits_.data())) return false;
    const int64_t shift = Bits(k);
    for (size_t i = 0; i < bits_.size(); ++i)
      joined_[i] = shift == 64 ? bits_[i] : joined_[i] << shift | bits_[i];
    return true;
  }

  absl::Span<const SortKey> keys_;
  LineLanes lanes_;
  cpu::KeptVector<std::byte> computed_;
  cpu::KeptVector<uint64_t> bits_, joined_, permuted_;
  cpu::KeptVector<uint32_t> order_, next_;
  cpu::SortScratch scratch_;
};

absl::Status SortByKeys(const Instruction& sort, absl::Span<const SortKey> keys,
                        absl::Span<const void* const> operands, absl::Span<void* const> results) {
  const Lines lines(sort.operand(0)->shape(), sort.Get<attr::dimensions>()[0]);
  std::atomic<bool> all = true;
  // A few nanoseconds for every digit of every element.
  const int64_t chunk = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, lines.length));
  const double nanoseconds = 30.0 * static_cast<double>(lines.count * lines.length);
  ParallelFor((lines.count + chunk - 1) / chunk, nanoseconds, [&](int64_t c) {
    KeySorter sorter(keys);
    cpu::KeptVector<std::byte> scratch;
    for (int64_t line = c * chunk; line < std::min(lines.count, (c + 1) * chunk); ++line) {
      const absl::Span<const uint32_t> order = sorter.Order(sort, lines, line, operands);
      if (order.empty())
        all = false;
      else
        Permute(sort, lines, line, order.data(), operands, results, &scratch);
    }
  });
  // A NaN: the comparator itself must then decide.
  return all ? absl::OkStatus() : absl::UnimplementedError("an element has no place in the order");
}

// Merges neighbouring runs of doubling length, as the reference does: whatever the comparator answers, the
// permutation is the same.
absl::Status MergeLine(const cpu::TileCode& before, absl::Span<const std::byte* const> elements,
                       absl::Span<const int64_t> widths, cpu::KeptVector<uint32_t>* order) {
  const size_t count = elements.size(), n = order->size();
  cpu::KeptVector<uint32_t> merged(n);
  cpu::KeptVector<const void*> in(2 * count);
  bool answer = false;
  void* out[] = {&answer};
  for (size_t i = 0; i < n; ++i) (*order)[i] = static_cast<uint32_t>(i);
  for (size_t length = 1; length < n; length *= 2) {
    HLO_RETURN_IF_ERROR(Deadline::Check());
    for (size_t begin = 0; begin < n; begin += 2 * length) {
      const size_t middle = std::min(begin + length, n), end = std::min(begin + 2 * length, n);
      size_t left = begin, right = middle, to = begin;
      while (left < middle && right < end) {
        for (size_t k = 0; k < count; ++k) {
          in[2 * k] = elements[k] + (*order)[right] * widths[k];
          in[2 * k + 1] = elements[k] + (*order)[left] * widths[k];
        }
        before.Run(1, in.data(), out);
        merged[to++] = (*order)[answer ? right++ : left++];
      }
      while (left < middle) merged[to++] = (*order)[left++];
      while (right < end) merged[to++] = (*order)[right++];
    }
    std::swap(*order, merged);
  }
  return absl::OkStatus();
}

absl::Status SortByComparator(const Instruction& sort, const cpu::TileCode& before,
                              absl::Span<const void* const> operands, absl::Span<void* const> results) {
  const Lines lines(sort.operand(0)->shape(), sort.Get<attr::dimensions>()[0]);
  absl::Status status;
  cpu::KeptVector<absl::Status> statuses(lines.count);
  ParallelFor(lines.count, 500.0 * static_cast<double>(lines.count * lines.length), [&](int64_t line) {
    cpu::KeptVector<LineLanes> lanes(operands.size());
    cpu::KeptVector<const std::byte*> elements;
    cpu::KeptVector<int64_t> widths;
    for (size_t k = 0; k < operands.size(); ++k) {
      const ElementType type = sort.operand(static_cast<int64_t>(k))->shape().type();
      elements.push_back(lanes[k].Load(type, operands[k], lines, line));
      widths.push_back(cpu::LaneBytes(cpu::LaneOf(type)));
    }
    cpu::KeptVector<uint32_t> order(lines.length);
    statuses[line] = MergeLine(before, elements, widths, &order);
    cpu::KeptVector<std::byte> scratch;
    if (statuses[line].ok()) Permute(sort, lines, line, order.data(), operands, results, &scratch);
  });
  for (absl::Status& each : statuses) {
    if (!each.ok()) return std::move(each);
  }
  return absl::OkStatus();
}

// The first of each line along the last dimension in the total order, and their positions.
absl::Status RunTopk(const Instruction& topk, bool largest, absl::Span<const void* const> operands,
                     absl::Span<void* const> results) {
  const Shape &shape = topk.operand(0)->shape(), &values = topk.shape().element(0);
  const Lines lines(shape, shape.rank() - 1);
  const int64_t k = values.dim(values.rank() - 1), width = ByteCount(shape.type());
  std::memset(results[0], 0, *DenseByteCount(values));
  std::memset(results[1], 0, *DenseByteCount(topk.shape().element(1)));
  ParallelFor(lines.count, 3.0 * static_cast<double>(lines.count * lines.length), [&](int64_t line) {
    LineLanes lanes;
    cpu::KeptVector<uint64_t> keys(lines.length);
    cpu::MakeSortKeys({cpu::LaneOf(shape.type()), largest, true}, lines.length,
                      lanes.Load(shape.type(), operands[0], lines, line), keys.data());
    cpu::SortScratch scratch;
    const cpu::KeptVector<uint32_t> first =
        cpu::FirstInOrder(absl::MakeSpan(keys), std::min(k, lines.length), scratch);
    const auto count = static_cast<int64_t>(first.size());
    cpu::GatherStrided(count, width, static_cast<std::byte*>(results[0]) + line * k * width, 1,
                       static_cast<const std::byte*>(operands[0]) + lines.Start(line) * width, 1,
                       first.data());
    std::copy(first.begin(), first.end(), static_cast<int32_t*>(results[1]) + line * k);
  });
  return absl::OkStatus();
}

constexpr int64_t kLongestLine = std::numeric_limits<int32_t>::max();

}  // namespace

LibraryKernel FindSortKernel(const Instruction& sort) {
  if (sort.operand(0)->shape().dim(sort.Get<attr::dimensions>()[0]) > kLongestLine) return {};
  std::vector<ElementType> types;
  for (const Instruction* operand : sort.operands()) types.push_back(operand->shape().type());
  std::optional<cpu::TileCode> before = FindComparatorCode(*sort.Get<attr::to_apply>(), types);
  const auto count = static_cast<int32_t>(sort.operand_count());
  if (std::optional<std::vector<SortKey>> keys = FindSortKeys(sort); keys.has_value()) {
    // Who may find an element without a place in the order needs the operands once more.
    const bool replaces =
        std::all_of(keys->begin(), keys->end(), [](const SortKey& key) { return key.order.total; });
    return {.name = "sort",
            .run =
                [keys = *std::move(keys), before = std::move(before)](const Instruction& node, auto operands,
                                                                      auto results) {
                  const absl::Status status = SortByKeys(node, keys, operands, results);
                  if (!absl::IsUnimplemented(status) || !before.has_value()) return status;
                  return SortByComparator(node, *before, operands, results);
                },
            .replaced = replaces ? count : 0,
            .skips_unused = true};
  }
  if (!before.has_value()) return {};
  return {.name = "sort by comparator",
          .run = [before = *std::move(before)](
                     const Instruction& node, auto operands,
                     auto results) { return SortByComparator(node, before, operands, results); },
          .replaced = count,
          .skips_unused = true};
}

LibraryKernel FindTopkCallKernel(const Instruction& call) {
  if (call.called_computations().size() != 1) return {};
  const Computation& comparator = *call.called_computations()[0];
  const Instruction& root = *comparator.root();
  const ComparisonDirection direction = root.Get<attr::direction>();
  if (root.opcode() != Opcode::kCompare || root.operand(0) != comparator.parameter(0) ||
      root.operand(1) != comparator.parameter(1) ||
      (direction != ComparisonDirection::kGt && direction != ComparisonDirection::kLt))
    return {};
  return FindTopkKernel(call, direction == ComparisonDirection::kGt);
}

LibraryKernel FindTopkKernel(const Instruction& topk, bool largest) {
  const Shape& shape = topk.operand(0)->shape();
  if (shape.rank() == 0 || shape.dim(shape.rank() - 1) > kLongestLine || IsComplex(shape.type()) ||
      !topk.shape().IsTuple() || !topk.shape().element(1).IsArray(ElementType::kS32))
    return {};
  return {"topk", [largest](const Instruction& node, auto operands, auto results) {
            return RunTopk(node, largest, operands, results);
          }};
}

}  // namespace hlo::plan
