#include "plan/memory/kernel_memory.h"

#include <algorithm>
#include <array>

#include "base/parallel.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/fft/fft.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/memory/line_chunks.h"
#include "plan/select/library_kernels.h"
#include "plan/select/sort_keys.h"
#include "plan/visit.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

int64_t ComputeWidth(ElementType type) { return loops::ComputeTypeBytes(loops::ComputeTypeOf(type)); }

// Returns the bytes of an element that is widened to its compute type; 0 if it is stored in it.
int64_t WidenedBytes(ElementType type) {
  return cpu::LoadTile(type).function == nullptr ? 0 : ComputeWidth(type);
}
int64_t WidenedCopyBytes(const Shape& shape) { return *shape.ElementCount() * WidenedBytes(shape.type()); }

// Returns the sum over the first `count` operands.
int64_t WidenedCopiesBytes(const Instruction& instruction, int64_t count) {
  int64_t bytes = 0;
  for (int64_t k = 0; k < count; ++k) bytes += WidenedCopyBytes(instruction.operand(k)->shape());
  return bytes;
}

// --- Sorts, of one line

int64_t KeySortBytes(absl::Span<const SortKey> keys, int64_t length) {
  int64_t fusion = 0, bits = 64, most_bits = 0;
  for (size_t k = keys.size(); k-- > 0;) {
    const int64_t own = 8 * loops::ComputeTypeBytes(keys[k].order.compute_type);
    if (bits + own > 64) {
      bits = 0;
      ++fusion;
    }
    bits += own;
    most_bits = std::max(most_bits, bits);
  }
  // With several groups of keys, each needs the keys of the group and the previous order.
  return cpu::SortScratchBytes(length, static_cast<int>(most_bits)) + (fusion > 1 ? 12 * length : 0);
}

int64_t ComparatorSortBytes(const Instruction& sort, int64_t length) {
  const Shape& shape = sort.operand(0)->shape();
  const bool is_strided = Product(shape.dims().subspan(sort.Get<attr::dimensions>()[0] + 1)) != 1;
  int64_t bytes = 8;  // The order before and after a merge.
  for (const Instruction* operand : sort.operands()) {
    const ElementType type = operand->shape().type();
    bytes += (is_strided ? ByteCount(type) : 0) + WidenedBytes(type);
  }
  return bytes * length;
}

int64_t SortBytes(const Instruction& sort) {
  const Shape& shape = sort.operand(0)->shape();
  const int64_t length = shape.dim(sort.Get<attr::dimensions>()[0]);
  if (*shape.ElementCount() == 0) return 0;
  const std::optional<std::vector<SortKey>> keys = FindSortKeys(sort);
  int64_t line = 0, widest = 0;
  if (keys.has_value()) line = KeySortBytes(*keys, length);
  const auto is_total = [](const SortKey& key) { return key.order.total; };
  if (!keys.has_value() || !std::all_of(keys->begin(), keys->end(), is_total))
    line = std::max(line, ComparatorSortBytes(sort, length));
  for (const Instruction* operand : sort.operands())
    widest = std::max(widest, ByteCount(operand->shape().type()));
  const int64_t lines = *shape.ElementCount() / length;
  const int64_t at_once =
      cpu::LineChunks::ShouldSplit(lines, length) ? 1 : std::min<int64_t>(ThreadCount(), lines);
  return at_once * (line + length * widest);
}

int64_t TopkBytes(const Instruction& topk) {
  const Shape& shape = topk.operand(0)->shape();
  const int64_t length = shape.dim(shape.rank() - 1);
  if (*shape.ElementCount() == 0) return 0;
  const int64_t k = (topk.shape().IsTuple() ? topk.shape().element(0) : topk.shape()).dims().back();
  const auto key_bits = static_cast<int>(8 * ComputeWidth(shape.type()));
  // Either all elements are sorted, or a heap holds the first ones with their positions.
  const int64_t each = k * 8 >= length ? cpu::SortScratchBytes(length, key_bits) + k * 4 : k * 20;
  return std::min<int64_t>(ThreadCount(), *shape.ElementCount() / length) * each;
}

// --- Windows

int64_t ReduceWindowBytes(const Instruction& reduce_window, bool slides) {
  const int64_t count = reduce_window.operand_count() / 2;
  const Shape& first =
      reduce_window.shape().IsTuple() ? reduce_window.shape().element(0) : reduce_window.shape();
  int64_t bytes = WidenedCopiesBytes(reduce_window, count);
  for (int64_t k = 0; k < count; ++k) {
    const ElementType type = reduce_window.operand(k)->shape().type();
    bytes += loops::IsStoredAsComputed(type) ? 0 : *first.ElementCount() * ComputeWidth(type);
  }
  if (!slides) return bytes;
  // Intermediate arrays between dimensions, and the prefix and suffix results of a line.
  const Shape& base = reduce_window.operand(0)->shape();
  const int64_t width = ComputeWidth(base.type());
  Index dims(base.dims());
  const Window window = reduce_window.Get<attr::window>();
  int64_t last = base.rank() - 1, current = 0, most = 0;
  while (last > 0 && window[last].size == 1 && base.dim(last) == first.dim(last)) --last;
  for (int64_t d = 0; d <= last; ++d) {
    const bool ends = (first.dim(d) - 1) * window[d].stride > window[d].padding_low;
    const bool begins = window[d].padding_low >= 0 || window[d].size < dims[d];
    const int64_t line = (int64_t{begins} + int64_t{ends}) * dims[d] * width;
    dims[d] = first.dim(d);
    const int64_t next = d < last ? Product(dims) * width : 0;
    most = std::max(most, current + next + line);
    if (d < last) current = next;
  }
  return bytes + most;
}

int64_t FftBytes(const Instruction& fft) {
  const Shape &from = fft.operand(0)->shape(), &to = fft.shape();
  const auto rank = static_cast<int64_t>(fft.Get<attr::fft_length>().size());
  return cpu::FftMemory(from.dims(), fft.Get<attr::fft_type>(), rank, to.type(), to.dims());
}

int64_t ConvolutionBytes(const Instruction& convolution, bool keeps_result) {
  const cpu::DenseArray input = Dense(convolution.operand(0)->shape(), nullptr),
                        kernel = Dense(convolution.operand(1)->shape(), nullptr);
  return cpu::ConvolutionMemory(input, kernel, ConvolutionDimsOf(convolution), convolution.shape().type(),
                                convolution.shape().dims(), keeps_result);
}

// --- The functions of the column of kernels.def

int64_t CallBytes(const Instruction& call, const KernelStep& step) {
  if (step.kernel.name == "topk") return TopkBytes(call);
  return MatrixCallMemory(call, [&](int k) { return step.results[static_cast<size_t>(k)] != kNoValue; });
}
int64_t ReduceWindowBytes(const Instruction& reduce_window, const KernelStep& step) {
  return ReduceWindowBytes(reduce_window, step.kernel.name == "reduce-window by sliding");
}
int64_t SelectAndScatterBytes(const Instruction& instruction, const KernelStep&) {
  return WidenedCopiesBytes(instruction, 2) + WidenedCopyBytes(instruction.shape());
}
int64_t ConvolutionBytes(const Instruction& convolution, const KernelStep&) {
  return ConvolutionBytes(convolution, /*keeps_result=*/true);
}
int64_t FactorBytes(const Instruction& instruction, const KernelStep&) { return FactorMemory(instruction); }
int64_t FftBytes(const Instruction& fft, const KernelStep&) { return FftBytes(fft); }
int64_t SortBytes(const Instruction& sort, const KernelStep&) { return SortBytes(sort); }
int64_t TopkBytes(const Instruction& topk, const KernelStep&) { return TopkBytes(topk); }
int64_t NoneBytes(const Instruction&, const KernelStep&) { return 0; }

using Bytes = int64_t (*)(const Instruction& instruction, const KernelStep& step);

// Indexed by opcode.
constexpr std::array<Bytes, kOpcodeCount> kBytes = [] {
  std::array<Bytes, kOpcodeCount> bytes;
  bytes.fill(&NoneBytes);
#define HLO_KERNEL(opcode, cpu, scratch, gpu, combiner, condition) \
  bytes[static_cast<size_t>(Opcode::k##opcode)] = &scratch##Bytes;
#include "kernels/kernels.def"
  return bytes;
}();

}  // namespace

int64_t KernelMemory(const std::vector<Step>& steps) {
  int64_t most = 0;
  for (const Step& step : steps) {
    int64_t bytes = 0;
    if (const auto* kernel = std::get_if<KernelStep>(&step.what)) {
      bytes = kBytes[static_cast<size_t>(step.instruction->opcode())](*step.instruction, *kernel);
    } else if (const auto* product = std::get_if<ProductStep>(&step.what)) {
      if (step.instruction->opcode() == Opcode::kConvolution)
        bytes =
            ConvolutionBytes(*step.instruction, product->in_place || !product->loops[ProductStep::kProduct]);
    }
    VisitNestedSteps(step,
                     [&](const std::vector<Step>& nested) { bytes = std::max(bytes, KernelMemory(nested)); });
    if (bytes > static_cast<int64_t>(cpu::kMaxCachedBytes)) most = std::max(most, bytes);
  }
  return most;
}

}  // namespace hlo::plan
