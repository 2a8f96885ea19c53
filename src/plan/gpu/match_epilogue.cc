#include "plan/gpu/match_epilogue.h"

#include <algorithm>

#include "kernels/cuda/vm/lower_loop.h"
#include "plan/analysis/elementwise_loop.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

using cuda::DimsOf;
using cuda::Epilogue;
using cuda::EpilogueArray;
using cuda::EpilogueOp;
using cuda::FastDiv;
using loops::LoopProgram;
using Kind = EpilogueOp::Kind;

bool SupportsType(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kBF16 || type == ElementType::kF16;
}

std::optional<Kind> KindOf(Opcode opcode, bool product_is_first) {
  switch (opcode) {
    case Opcode::kAdd:
      return Kind::kAdd;
    case Opcode::kSubtract:
      return product_is_first ? Kind::kSubtract : Kind::kSubtractFrom;
    case Opcode::kMultiply:
      return Kind::kMultiply;
    case Opcode::kMaximum:
      return Kind::kMaximum;
    case Opcode::kMinimum:
      return Kind::kMinimum;
    default:
      return std::nullopt;
  }
}

// Matches a loop over the elements of a product with the operations of an epilogue.
class EpilogueMatcher {
 public:
  EpilogueMatcher(const LoopProgram& loop, int32_t product, ElementType declared)
      : loop_(loop), product_(product), declared_(declared), dims_(DimsOf(loop)) {}

  std::optional<MatchedEpilogue> Find() {
    const loops::Access* to = StoreInOrder(loop_);
    if (to == nullptr || !SupportsType(to->type)) return std::nullopt;
    if (declared_ != ElementType::kF32 && !Add({.rounded_to = declared_})) return std::nullopt;
    for (loops::Value value = 0; value < std::ssize(loop_.steps()); ++value) {
      const LoopProgram::Step& step = loop_.steps()[value];
      const bool matches = step.IsLoad() ? MatchLoad(value, step) : MatchOperation(value, step);
      if (!matches) return std::nullopt;
    }
    if (loop_.stores()[0].value != at_) return std::nullopt;
    found_.stored = to->argument;
    found_.epilogue.stored = to->type;
    // An epilogue without operations would be ignored, so a rounding to the stored type is appended.
    if (found_.epilogue.op_count == 0) Add({.rounded_to = to->type});
    return found_;
  }

 private:
  // Concatenates outer and inner strides.
  static loops::Strides StridesOf(const loops::Access& access) {
    loops::Strides strides = access.outer;
    strides.insert(strides.end(), access.inner.begin(), access.inner.end());
    return strides;
  }
  static bool IsPlain(const loops::Access& access) {
    return access.IsArray() && access.IsRegular() && access.starts.empty() && access.next < 0 &&
           access.offset == 0;
  }
  // Returns nullopt if the dimensions along which the array varies are not adjacent.
  std::optional<EpilogueArray> ArrayOf(const loops::Access& access) const {
    if (!IsPlain(access) || !SupportsType(access.type)) return std::nullopt;
    const loops::Strides strides = StridesOf(access);
    int64_t inner = 1, size = 1;
    bool is_behind = false;
    for (size_t d = dims_.size(); d-- > 0;) {
      if (dims_[d] == 1) continue;
      if (strides[d] == 0) {
        if (size > 1)
          is_behind = true;
        else
          inner *= dims_[d];
      } else if (is_behind || strides[d] != size) {
        return std::nullopt;
      } else {
        size *= dims_[d];
      }
    }
    EpilogueArray array{.type = access.type, .is_whole = size == hlo::Product(dims_)};
    array.inner = FastDiv(static_cast<uint32_t>(inner));
    array.size = FastDiv(static_cast<uint32_t>(size));
    return array;
  }

  bool Add(EpilogueOp op) {
    if (found_.epilogue.op_count == Epilogue::kMaxOps) return false;
    found_.epilogue.ops[found_.epilogue.op_count++] = op;
    return true;
  }

  bool MatchLoad(loops::Value value, const LoopProgram::Step& step) {
    const loops::Access& access = loop_.access(step.access);
    if (access.argument == product_) {
      at_ = value;
      return access.type == declared_;
    }
    const std::optional<EpilogueArray> array = ArrayOf(access);
    if (!array.has_value()) return false;
    Epilogue& epilogue = found_.epilogue;
    if (epilogue.array_count == Epilogue::kMaxArrays) return false;
    loaded_.push_back(value);
    epilogue.arrays[epilogue.array_count++] = *array;
    found_.arrays.push_back(access.argument);
    return true;
  }

  bool MatchOperation(loops::Value value, const LoopProgram::Step& step) {
    const loops::Operation& operation = step.operation;
    if (at_ < 0 || step.compute_type != loops::ComputeType::kF32) return false;
    if (step.operand_count == 1 && step.in[0] == at_) {
      at_ = value;
      const bool rounds = operation.kind == loops::Operation::Kind::kRound ||
                          operation.kind == loops::Operation::Kind::kConvert;
      return rounds && SupportsType(operation.to) && Add({.rounded_to = operation.to});
    }
    if (step.operand_count != 2 || (step.in[0] == at_) == (step.in[1] == at_)) return false;
    const bool is_first = step.in[0] == at_;
    const auto other = std::find(loaded_.begin(), loaded_.end(), step.in[is_first ? 1 : 0]);
    const bool rounded = operation.kind == loops::Operation::Kind::kRoundedScalar;
    if (other == loaded_.end() || (!rounded && operation.kind != loops::Operation::Kind::kScalar))
      return false;
    const std::optional<Kind> kind = KindOf(operation.opcode, is_first);
    if (!kind.has_value() || !SupportsType(operation.from)) return false;
    at_ = value;
    return Add({.kind = *kind,
                .array = static_cast<uint8_t>(other - loaded_.begin()),
                .rounded_to = rounded ? operation.from : ElementType::kF32});
  }

  const LoopProgram& loop_;
  int32_t product_;
  ElementType declared_;
  std::vector<int64_t> dims_;
  loops::Value at_ = -1;  // The value of the result element after the steps so far.
  std::vector<loops::Value> loaded_;
  MatchedEpilogue found_;
};

}  // namespace

std::optional<MatchedEpilogue> MatchEpilogue(const LoopProgram& loop, int32_t product, ElementType declared,
                                             int64_t count) {
  const auto is_product = [&](int32_t argument) { return argument == product; };
  if (!SupportsType(declared) || count == 0 || count >= int64_t{1} << 31 ||
      ReadsInOrder(loop, count, is_product) != 1)
    return std::nullopt;
  return EpilogueMatcher(loop, product, declared).Find();
}

}  // namespace hlo::plan
