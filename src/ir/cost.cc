#include "hlo_run/cost.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

namespace hlo {
namespace {

int64_t SatAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}
int64_t SatMul(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t Elements(const Shape& shape) {
  if (!shape.IsArray()) return 0;
  return shape.ElementCount().value_or(std::numeric_limits<int64_t>::max());
}
int64_t Bytes(const Shape& shape) {
  return DenseByteCount(shape).value_or(std::numeric_limits<int64_t>::max());
}

int64_t ProductOf(const Shape& shape, IntList dims) {
  int64_t product = 1;
  for (int64_t d : dims) {
    if (d >= 0 && d < shape.rank()) product = SatMul(product, shape.dim(d));
  }
  return product;
}

// Returns the number of pairs (output position, window element) of one dimension that read an input element
// instead of padding.
int64_t ValidPositions(const WindowDim& window, int64_t input, int64_t output) {
  constexpr int64_t kMaxSteps = 1 << 20;
  if (window.size <= 0 || output <= 0 || SatMul(window.size, output) > kMaxSteps)
    return SatMul(window.size, output);
  int64_t valid = 0;
  for (int64_t o = 0; o < output; ++o) {
    for (int64_t w = 0; w < window.size; ++w) {
      const __int128 position = static_cast<__int128>(o) * window.stride +
                                static_cast<__int128>(w) * window.window_dilation - window.padding_low;
      const int64_t dilation = std::max<int64_t>(window.base_dilation, 1);
      valid += position >= 0 && position % dilation == 0 && position / dilation < input;
    }
  }
  return valid;
}

int64_t ConvolutionFlops(const Instruction& i) {
  const DimLabels* labels = i.Get<attr::dim_labels>();
  if (labels == nullptr || i.operand_count() < 2) return 0;
  const Shape& input = i.operand(0)->shape();
  const Shape& kernel = i.operand(1)->shape();
  if (!i.shape().IsArray() || !input.IsArray() || !kernel.IsArray()) return 0;
  const Window window = i.Get<attr::window>();
  const size_t spatial =
      std::min({window.size(), labels->input_spatial.size(), labels->output_spatial.size()});
  int64_t multiplies = ProductOf(i.shape(), {labels->output_batch, labels->output_feature});
  multiplies = SatMul(multiplies, ProductOf(kernel, {labels->kernel_input_feature}));
  for (size_t d = 0; d < spatial; ++d) {
    multiplies = SatMul(multiplies, ValidPositions(window[d], ProductOf(input, {labels->input_spatial[d]}),
                                                   ProductOf(i.shape(), {labels->output_spatial[d]})));
  }
  return SatMul(2, multiplies);
}

using Memo = std::unordered_map<const Computation*, Cost>;
Cost CostOf(const Computation& computation, Memo& memo);

// Returns the arithmetic cost of `count` applications of a combiner, comparator or map body.
Cost Repeated(const Instruction& i, int64_t count, Memo& memo) {
  Cost cost;
  for (const Computation* c : i.called_computations()) {
    const Cost once = CostOf(*c, memo);
    cost.flops = SatAdd(cost.flops, SatMul(once.flops, count));
    cost.transcendentals = SatAdd(cost.transcendentals, SatMul(once.transcendentals, count));
  }
  return cost;
}

Cost Arithmetic(const Instruction& i, Memo& memo) {
  Cost cost;
  const int64_t elements = Elements(i.shape());
  const int64_t operand_elements = i.operand_count() > 0 ? Elements(i.operand(0)->shape()) : 0;
  switch (i.opcode()) {
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
      cost.flops =
          SatMul(2, SatMul(elements, ProductOf(i.operand(0)->shape(), i.Get<attr::lhs_contracting_dims>())));
      return cost;
    case Opcode::kConvolution:
      cost.flops = ConvolutionFlops(i);
      return cost;
    case Opcode::kReduce:
      return Repeated(i, operand_elements, memo);
    case Opcode::kMap:
      return Repeated(i, elements, memo);
    case Opcode::kScatter:
      return Repeated(i, Elements(i.operand(i.operand_count() - 1)->shape()), memo);
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter: {
      int64_t window = 1;
      for (const WindowDim& d : i.Get<attr::window>()) window = SatMul(window, d.size);
      return Repeated(i, SatMul(i.opcode() == Opcode::kReduceWindow ? elements : operand_elements, window),
                      memo);
    }
    case Opcode::kSort: {
      int64_t log2 = 0;
      while (log2 < 62 && (int64_t{1} << log2) < operand_elements) ++log2;
      return Repeated(i, SatMul(operand_elements, log2), memo);
    }
    default:
      break;
  }
  if (Info(i.opcode()).has(kElementwise) && i.opcode() != Opcode::kCopy && i.opcode() != Opcode::kConvert) {
    (Info(i.opcode()).has(kTranscendental) ? cost.transcendentals : cost.flops) = elements;
    return cost;
  }
  for (const Computation* c : i.called_computations()) cost += CostOf(*c, memo);
  return cost;
}

// True for instructions that alias their operands' bytes and read or write none.
bool IsAlias(Opcode opcode) { return Info(opcode).has(kAlias); }

Cost CostOf(const Instruction& i, Memo& memo) {
  Cost cost = Arithmetic(i, memo);
  const bool calls =
      i.opcode() == Opcode::kWhile || i.opcode() == Opcode::kCall || i.opcode() == Opcode::kConditional;
  if (calls || IsAlias(i.opcode())) return cost;
  // Only the arithmetic inside a combiner or a fusion counts.
  cost.bytes_read = cost.bytes_written = 0;
  for (const Instruction* operand : i.operands())
    cost.bytes_read = SatAdd(cost.bytes_read, Bytes(operand->shape()));
  cost.bytes_written = Bytes(i.shape());
  return cost;
}

Cost CostOf(const Computation& computation, Memo& memo) {
  if (const auto it = memo.find(&computation); it != memo.end()) return it->second;
  Cost cost;
  for (const Instruction* i : computation.instructions()) cost += CostOf(*i, memo);
  memo.emplace(&computation, cost);
  return cost;
}

// Returns the peak size in bytes of the values that the computation defines.
int64_t PeakBytes(const Computation& computation, std::unordered_map<const Computation*, int64_t>& memo) {
  if (const auto it = memo.find(&computation); it != memo.end()) return it->second;
  const std::vector<Instruction*> order = PostOrder(computation);
  const size_t count = computation.instructions().size();
  // The instructions whose buffers the value of each instruction may contain: its own, or for an alias those
  // of its operands.
  std::vector<std::vector<int32_t>> owners(count);
  std::vector<int64_t> last_use(count, -1);
  for (size_t step = 0; step < order.size(); ++step) {
    const Instruction& i = *order[step];
    std::vector<int32_t>& mine = owners[i.index()];
    for (const Instruction* operand : i.operands()) {
      for (int32_t owner : owners[operand->index()]) {
        last_use[owner] = static_cast<int64_t>(step);
        if (IsAlias(i.opcode())) mine.push_back(owner);
      }
    }
    if (!IsAlias(i.opcode())) mine.push_back(static_cast<int32_t>(i.index()));
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    if (mine.size() > 1024)
      // Bounds the work for wide nested tuples. The owners that are dropped then count as dead too early.
      mine.resize(1024);
    for (int32_t owner : mine) last_use[owner] = std::max(last_use[owner], static_cast<int64_t>(step));
  }
  if (computation.root() != nullptr) {
    for (int32_t owner : owners[computation.root()->index()])
      last_use[owner] = static_cast<int64_t>(order.size());
  }
  std::vector<std::vector<int32_t>> dying(order.size() + 1);
  for (size_t owner = 0; owner < count; ++owner) {
    if (last_use[owner] >= 0) dying[last_use[owner]].push_back(static_cast<int32_t>(owner));
  }
  int64_t live = 0, peak = 0;
  for (size_t step = 0; step < order.size(); ++step) {
    const Instruction& i = *order[step];
    int64_t inside = 0;
    if (i.opcode() != Opcode::kFusion) {
      for (const Computation* c : i.called_computations()) inside = std::max(inside, PeakBytes(*c, memo));
    }
    if (!IsAlias(i.opcode())) live = SatAdd(live, Bytes(i.shape()));
    peak = std::max(peak, SatAdd(live, inside));
    for (int32_t owner : dying[step]) {
      const Instruction& dead = *computation.instructions()[owner];
      if (!IsAlias(dead.opcode())) live -= Bytes(dead.shape());
    }
  }
  memo.emplace(&computation, peak);
  return peak;
}

void CountTypes(const Shape& shape, std::map<std::string_view, int64_t>& types) {
  if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) CountTypes(element, types);
  } else if (shape.IsArray() || shape.IsBuffer()) {
    ++types[Name(shape.type())];
  }
}

int64_t LongestChain(const Computation& computation) {
  std::vector<int64_t> length(computation.instructions().size(), 0);
  int64_t longest = 0;
  for (const Instruction* i : computation.instructions()) {
    int64_t before = 0;
    for (const Instruction* operand : i->operands()) before = std::max(before, length[operand->index()]);
    length[i->index()] = before + 1;
    longest = std::max(longest, before + 1);
  }
  return longest;
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  flops = SatAdd(flops, other.flops);
  transcendentals = SatAdd(transcendentals, other.transcendentals);
  bytes_read = SatAdd(bytes_read, other.bytes_read);
  bytes_written = SatAdd(bytes_written, other.bytes_written);
  return *this;
}

Cost InstructionCost(const Instruction& instruction) {
  Memo memo;
  return CostOf(instruction, memo);
}

ModuleStatistics ComputeStatistics(const Module& module) {
  ModuleStatistics statistics;
  statistics.instructions = module.instruction_count();
  for (const Computation* c : module.computations()) {
    for (const Instruction* i : c->instructions()) {
      ++statistics.opcodes[Name(i->opcode())];
      std::map<std::string_view, int64_t> types;
      CountTypes(i->shape(), types);
      for (const auto& [type, leaves] : types) ++statistics.element_types[type];
      if (i->opcode() == Opcode::kConstant) {
        statistics.constant_bytes = SatAdd(statistics.constant_bytes, Bytes(i->shape()));
      }
    }
  }
  const Computation& entry = *module.entry();
  Memo memo;
  statistics.entry = CostOf(entry, memo);
  for (const Instruction* parameter : entry.parameters()) {
    statistics.parameter_bytes = SatAdd(statistics.parameter_bytes, Bytes(parameter->shape()));
  }
  statistics.result_bytes = Bytes(entry.root()->shape());
  std::unordered_map<const Computation*, int64_t> peaks;
  statistics.peak_bytes =
      SatAdd(PeakBytes(entry, peaks), SatAdd(statistics.parameter_bytes, statistics.constant_bytes));
  statistics.longest_chain = LongestChain(entry);
  return statistics;
}

}  // namespace hlo
