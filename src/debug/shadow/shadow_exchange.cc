#include "debug/shadow/shadow_exchange.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <memory>
#include <utility>

#include "base/status.h"
#include "debug/shadow/extended_pairs.h"
#include "debug/shadow/linear_rules.h"
#include "reference/apply.h"
#include "reference/program.h"
#include "spmd/device_grid.h"
#include "spmd/exchange_groups.h"

namespace hlo::debug {
namespace {

// The computation of an exchange from the elements of the members.
enum class Folding : uint8_t { kNone, kSum, kMaximum, kMinimum, kOther };

Folding FoldingOf(const Instruction& instruction) {
  const Computation* reducer = instruction.Get<attr::to_apply>();
  if (reducer == nullptr || !Info(instruction.opcode()).has(kCollective)) return Folding::kNone;
  if (AppliesToParameters(*reducer, Opcode::kAdd)) return Folding::kSum;
  if (AppliesToParameters(*reducer, Opcode::kMaximum)) return Folding::kMaximum;
  if (AppliesToParameters(*reducer, Opcode::kMinimum)) return Folding::kMinimum;
  return Folding::kOther;
}

using LayerOf = std::function<absl::StatusOr<Literal>(const ShadowValue& leaf)>;

// Returns a value whose float leaves are those of a layer; other leaves are the declared ones.
absl::StatusOr<Literal> InLayer(const ShadowValue& value, const LayerOf& layer) {
  if (!value.is_tuple) return value.is_float() ? layer(value) : value.declared;
  std::vector<Literal> elements;
  for (const ShadowValue& element : value.elements) {
    HLO_ASSIGN_OR_RETURN(elements.emplace_back(), InLayer(element, layer));
  }
  return Literal::Tuple(std::move(elements));
}

bool HasFloats(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray() && IsFloatOrComplex(shape.type());
  return std::any_of(shape.elements().begin(), shape.elements().end(), HasFloats);
}

bool IsUncertainInteger(const ShadowValue& value) {
  if (value.is_tuple) return std::any_of(value.elements.begin(), value.elements.end(), IsUncertainInteger);
  return !value.is_float() && !value.is_exact();
}

// True if integers among the operands are positions of the other operands' elements.
bool HasPositionOperands(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kRaggedAllToAll || instruction.Has<attr::permute_slice_sizes>() ||
         instruction.Get<attr::has_dynamic_root>();
}

// The elements are f64 or c128.
bool IsZero(const Literal& array) {
  const auto* parts = reinterpret_cast<const double*>(array.data());
  return std::all_of(parts, parts + array.byte_count() / sizeof(double), [](double x) { return x == 0; });
}

// True if all float arrays of the values have this type, and none has dynamic sizes.
bool AllHaveType(absl::Span<const ShadowValue> values, ElementType type) {
  return std::all_of(values.begin(), values.end(), [&](const ShadowValue& value) {
    ShadowValue copy = value;
    const std::vector<ShadowValue*> leaves = ShadowLeaves(copy);
    return std::all_of(leaves.begin(), leaves.end(), [&](const ShadowValue* leaf) {
      return leaf->declared.shape().IsArray(type) && !leaf->declared.has_dynamic_sizes();
    });
  });
}

bool HaveEqualBits(const Literal& a, const Literal& b) {
  return std::equal(a.data(), a.data() + a.byte_count(), b.data());
}

// Calls visit(leaf, layers) for each array of a value, with the arrays of the layers at its place.
absl::Status EachLeaf(ShadowValue& value, std::vector<Literal> layers,
                      const std::function<absl::Status(ShadowValue&, const std::vector<Literal>&)>& visit) {
  if (!value.is_tuple) return value.declared.shape().IsArray() ? visit(value, layers) : absl::OkStatus();
  for (size_t i = 0; i < value.elements.size(); ++i) {
    std::vector<Literal> inner;
    for (const Literal& layer : layers) inner.push_back(layer.element(static_cast<int64_t>(i)));
    HLO_RETURN_IF_ERROR(EachLeaf(value.elements[i], std::move(inner), visit));
  }
  return absl::OkStatus();
}

class Exchanger {
 public:
  explicit Exchanger(const ExchangeContext& context) : context_(context) {
    flag_ = std::any_of(context.operands.begin(), context.operands.end(), IsUncertainInteger);
  }

  absl::StatusOr<ExchangedValue> Run() {
    const Folding folding = FoldingOf(context_.instruction);
    const bool has_floats =
        HasFloats(context_.instruction.shape()) ||
        std::any_of(context_.operands.begin(), context_.operands.end(),
                    [](const ShadowValue& operand) { return HasFloats(Declared(operand).shape()); });
    AddDeclared();
    if (has_floats) HLO_RETURN_IF_ERROR(folding == Folding::kNone ? AddMoved() : AddFolded(folding));
    if (has_floats && folding != Folding::kNone) HLO_RETURN_IF_ERROR(AddPairs(folding));
    HLO_RETURN_IF_ERROR(Evaluate());
    HLO_ASSIGN_OR_RETURN(exchanged_.value, ExactShadow(results_[0]));
    HLO_RETURN_IF_ERROR(EachLeaf(exchanged_.value, results_,
                                 [&](ShadowValue& leaf, const std::vector<Literal>& layers) -> absl::Status {
                                   if (!leaf.is_float()) return SetUncertain(leaf);
                                   return folding == Folding::kNone ? SetMoved(leaf, layers)
                                                                    : SetFolded(folding, leaf, layers);
                                 }));
    return std::move(exchanged_);
  }

 private:
  // The numbers of the layers: the first ones, and those of moved values, folded values and other reducers.
  static constexpr size_t kWide = 1, kBound = 2, kFirstTrial = 3, kAfterTrials = kFirstTrial + kTrialCount,
                          kLow = kAfterTrials;
  static constexpr size_t kLocal = kAfterTrials, kSizes = kLocal + 1;
  static constexpr size_t kFirstPerturbed = kLocal + 1;

  void AddDeclared() {
    Layer layer{context_.instruction, context_.declared_caller, {}};
    for (const ShadowValue& operand : context_.operands) layer.operands.push_back(Declared(operand));
    layers_.push_back(std::move(layer));
  }

  // Bounds of complex numbers are exchanged as complex numbers.
  absl::Status Add(const LayerOf& layer_of) {
    Layer layer{context_.wide, context_.wide_caller, {}};
    const LayerOf in_wide_type = [&](const ShadowValue& leaf) -> absl::StatusOr<Literal> {
      HLO_ASSIGN_OR_RETURN(const Literal value, layer_of(leaf));
      return AsWideType(value, leaf.wide.type());
    };
    for (const ShadowValue& operand : context_.operands) {
      HLO_ASSIGN_OR_RETURN(layer.operands.emplace_back(), InLayer(operand, in_wide_type));
    }
    layers_.push_back(std::move(layer));
    return absl::OkStatus();
  }

  absl::Status AddWideAndBound(const LayerOf& bound) {
    HLO_RETURN_IF_ERROR(Add([](const ShadowValue& leaf) { return leaf.wide; }));
    HLO_RETURN_IF_ERROR(Add(bound));
    for (size_t t = 0; t < kTrialCount; ++t) {
      HLO_RETURN_IF_ERROR(
          Add([t](const ShadowValue& leaf) { return leaf.trials.empty() ? leaf.wide : leaf.trials[t]; }));
    }
    return absl::OkStatus();
  }

  absl::Status AddMoved() {
    HLO_RETURN_IF_ERROR(AddWideAndBound(BoundOf));
    return Add(LowOf);
  }

  absl::Status AddFolded(Folding folding) {
    const bool is_minimum = folding == Folding::kMinimum;
    const double factor = folding == Folding::kSum ? SumFactor() : 0;
    HLO_RETURN_IF_ERROR(AddWideAndBound([&](const ShadowValue& leaf) -> absl::StatusOr<Literal> {
      const double epsilon = PrecisionOf(leaf.declared.type()).epsilon;
      HLO_ASSIGN_OR_RETURN(Literal terms, TermError(leaf, factor * epsilon));
      // The minimum of negative bounds is the largest bound.
      for (double& bound : MutableDoubles(terms)) bound = is_minimum ? -bound : bound;
      return terms;
    }));
    HLO_RETURN_IF_ERROR(Add([](const ShadowValue& leaf) { return ToWide(leaf.declared); }));
    if (folding == Folding::kSum) return Add([](const ShadowValue& leaf) { return AbsoluteOf(leaf.wide); });
    if (folding != Folding::kOther) return absl::OkStatus();
    for (int64_t number = 0; number < kPerturbations; ++number) {
      PerturbationSigns signs(static_cast<uint64_t>(number) + 1);
      HLO_RETURN_IF_ERROR(Add([&](const ShadowValue& leaf) {
        return Perturbed(leaf, PrecisionOf(leaf.declared.type()).epsilon, signs);
      }));
    }
    return absl::OkStatus();
  }

  // Adds the layers of double-doubles, for the operands and for their declared values.
  absl::Status AddPairs(Folding folding) {
    if (folding == Folding::kSum && AllHaveType(context_.operands, ElementType::kC128))
      return AddPairsOfParts();
    if (context_.pairs == nullptr || !HaveExtendedFunctions(context_.instruction) ||
        !AllHaveType(context_.operands, ElementType::kF64))
      return absl::OkStatus();
    pair_caller_ = std::make_unique<PairCaller>(context_.instruction, *context_.pairs, table_, context_.link);
    first_pairs_ = layers_.size();
    for (const bool is_declared : {false, true}) {
      HLO_RETURN_IF_ERROR(AddPairLayer(*context_.pairs, is_declared,
                                       [this](const ShadowValue& value) { return Paired(value, table_); }));
    }
    return absl::OkStatus();
  }

  // The parts of complex numbers have separate sums. So other devices need no table of complex numbers.
  absl::Status AddPairsOfParts() {
    pair_caller_ =
        std::make_unique<PartSumCaller>(context_.instruction, context_.instruction, table_, context_.link);
    first_pairs_ = layers_.size();
    for (const bool is_declared : {false, true}) {
      for (const ComplexPart part : {ComplexPart::kReal, ComplexPart::kImaginary}) {
        HLO_RETURN_IF_ERROR(AddPairLayer(context_.instruction, is_declared, [part](const ShadowValue& value) {
          return PairedPart(value, part);
        }));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddPairLayer(const Instruction& instruction, bool is_declared, const LayerOf& paired) {
    Layer layer{instruction, *pair_caller_, {}};
    const LayerOf pairs_of = [&](const ShadowValue& leaf) -> absl::StatusOr<Literal> {
      if (!is_declared) return paired(leaf);
      HLO_ASSIGN_OR_RETURN(const ShadowValue exact, ExactShadow(leaf.declared));
      return paired(exact);
    };
    for (const ShadowValue& operand : context_.operands) {
      HLO_ASSIGN_OR_RETURN(layer.operands.emplace_back(), InLayer(operand, pairs_of));
    }
    layers_.push_back(std::move(layer));
    return absl::OkStatus();
  }

  // Returns the double-doubles of a leaf, for the operands or for their declared values.
  absl::StatusOr<ExtendedValue> ExtendedResult(const std::vector<Literal>& layers, ElementType type,
                                               bool is_declared) {
    if (type != ElementType::kC128)
      return Unpaired(layers[first_pairs_ + (is_declared ? 1 : 0)], type, table_);
    const size_t real = first_pairs_ + (is_declared ? 2 : 0);
    return FromPairedParts(layers[real], layers[real + 1]);
  }

  // The factor of an epsilon in the error of a sum over the members, in any order.
  double SumFactor() const {
    if (context_.link == nullptr) return 1;
    const spmd::Groups* groups = context_.link->table().groups(context_.instruction);
    if (groups == nullptr) return 1;
    const spmd::Groups::Place place = groups->places[static_cast<size_t>(context_.link->device())];
    if (place.group < 0) return 1;
    return (static_cast<double>(groups->members[static_cast<size_t>(place.group)].size()) + 1) / 2;
  }

  absl::Status Evaluate() {
    if (context_.link != nullptr) {
      HLO_ASSIGN_OR_RETURN(results_, context_.link->Run(layers_, flag_));
      return absl::OkStatus();
    }
    for (const Layer& layer : layers_) {
      std::vector<Literal> operands = layer.operands;
      reference::OpContext op{layer.instruction, absl::MakeSpan(operands), layer.caller};
      HLO_ASSIGN_OR_RETURN(results_.emplace_back(),
                           reference::Apply(op, reference::Reference(layer.instruction.opcode())));
    }
    return absl::OkStatus();
  }

  absl::Status SetUncertain(ShadowValue& leaf) {
    if (flag_) {
      HLO_ASSIGN_OR_RETURN(leaf.bound, F64Array(leaf.declared.dims(), kInfinity));
    }
    if (!exchanged_.leaves.empty() || FoldingOf(context_.instruction) != Folding::kNone)
      exchanged_.leaves.emplace_back();
    return absl::OkStatus();
  }

  static absl::Status SetBound(ShadowValue& leaf, const Literal& bound) {
    HLO_ASSIGN_OR_RETURN(leaf.bound, ToF64(bound));
    if (IsZero(leaf.bound)) leaf.bound = Literal();
    return absl::OkStatus();
  }
  static void SetTrials(ShadowValue& leaf, const std::vector<Literal>& layers) {
    const bool are_wide =
        HaveEqualBits(layers[kFirstTrial], leaf.wide) && HaveEqualBits(layers[kFirstTrial + 1], leaf.wide);
    if (are_wide) return;
    leaf.trials.assign(layers.begin() + kFirstTrial, layers.begin() + kAfterTrials);
  }

  absl::Status SetMoved(ShadowValue& leaf, const std::vector<Literal>& layers) {
    leaf.wide = layers[kWide];
    HLO_RETURN_IF_ERROR(SetBound(leaf, layers[kBound]));
    if (flag_ && HasPositionOperands(context_.instruction)) {
      HLO_ASSIGN_OR_RETURN(leaf.bound, F64Array(leaf.declared.dims(), kInfinity));
    }
    SetTrials(leaf, layers);
    const bool may_have_low =
        leaf.declared.type() == ElementType::kF64 || leaf.declared.type() == ElementType::kC128;
    if (may_have_low && !IsZero(layers[kLow])) leaf.low = layers[kLow];
    return absl::OkStatus();
  }

  absl::Status SetFolded(Folding folding, ShadowValue& leaf, const std::vector<Literal>& layers) {
    ExchangedLeaf& errors = exchanged_.leaves.emplace_back();
    leaf.wide = layers[kWide];
    errors.local = layers[kLocal];
    if (first_pairs_ > 0) {
      const ElementType type = leaf.declared.type();
      HLO_ASSIGN_OR_RETURN(ExtendedValue value, ExtendedResult(layers, type, /*is_declared=*/false));
      HLO_ASSIGN_OR_RETURN(ExtendedValue local, ExtendedResult(layers, type, /*is_declared=*/true));
      leaf.wide = std::move(value.high);
      if (!IsZero(value.low)) leaf.low = std::move(value.low);
      errors.local = std::move(local.high);
      errors.local_low = std::move(local.low);
    }
    SetTrials(leaf, layers);
    if (folding == Folding::kOther) {
      exchanged_.is_estimated = true;
      return EstimateBound(leaf, absl::MakeConstSpan(layers).subspan(kFirstPerturbed, kPerturbations));
    }
    HLO_ASSIGN_OR_RETURN(leaf.bound, ToF64(layers[kBound]));
    HLO_RETURN_IF_ERROR(leaf.bound.MakeUnique());
    if (folding != Folding::kSum) {
      for (double& bound : MutableDoubles(leaf.bound)) bound = std::fabs(bound);
      if (IsZero(leaf.bound)) leaf.bound = Literal();
      HLO_ASSIGN_OR_RETURN(errors.own_error, F64Array(leaf.declared.dims()));
      return absl::OkStatus();
    }
    HLO_ASSIGN_OR_RETURN(const Literal sizes, ToF64(layers[kSizes]));
    errors.ill_condition = SumCondition(leaf, leaf.bound, sizes);
    AddRounding(leaf, leaf.bound);
    HLO_ASSIGN_OR_RETURN(errors.own_error,
                         SumError(leaf, SumFactor() * PrecisionOf(leaf.declared.type()).epsilon, sizes));
    return absl::OkStatus();
  }

  const ExchangeContext& context_;
  std::vector<Layer> layers_;
  std::vector<Literal> results_;  // By layer.
  bool flag_ = false;             // An integer of a device is uncertain.
  ComplexTable table_;            // Is empty: other devices have no access to it.
  std::unique_ptr<PairCaller> pair_caller_;
  size_t first_pairs_ = 0;  // The number of the first layer of pairs; 0 if there are none.
  ExchangedValue exchanged_;
};

}  // namespace

bool IsExchange(const Instruction& instruction) {
  return spmd::DependsOnDevices(instruction) && !spmd::IsDeviceId(instruction.opcode());
}

absl::StatusOr<ExchangedValue> ApplyExchange(const ExchangeContext& context) {
  HLO_ASSIGN_OR_RETURN(ExchangedValue exchanged, Exchanger(context).Run());
  for (ShadowValue* leaf : ShadowLeaves(exchanged.value)) BoundSpecials(*leaf);
  return exchanged;
}

}  // namespace hlo::debug
