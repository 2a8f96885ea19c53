// Shape rules of collective operations (shape-rules 3.26): result shapes, shards and devices.

#include <algorithm>

#include "base/counted.h"
#include "check/interface.h"
#include "check/replica_groups.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kCollectiveRule = "3.26";

std::string_view OpName(const RuleContext& c) { return Name(c.instruction().opcode()); }

Shape TupleShape(absl::Span<Instruction* const> operands) {
  std::vector<Shape> elements;
  elements.reserve(operands.size());
  for (const Instruction* operand : operands) elements.push_back(operand->shape());
  return Shape::Tuple(std::move(elements));
}

// Returns the shape of a single operand, or the tuple of several.
Shape JoinedShape(absl::Span<Instruction* const> operands) {
  return operands.size() == 1 ? operands[0]->shape() : TupleShape(operands);
}

Inferred JoinedOperands(absl::Span<Instruction* const> operands) {
  return operands.size() == 1 ? Like(operands[0]->shape()) : TupleOf(operands);
}

bool RequireDeclaredTuple(RuleContext& c, size_t least) {
  if (c.declared().IsTuple() && c.declared().elements().size() >= least) [[likely]]
    return true;
  c.Error(c.instruction().shape_range(), kCollectiveRule,
          "{} must declare a tuple of at least {}, but it is {}", OpName(c), Counted(least, "element"),
          Text(c.declared()));
  return false;
}

// True for `((operands...), result, ...)`, which XLA prints for an async-start of a collective.
bool HasGenericForm(const Shape& start, absl::Span<Instruction* const> operands) {
  if (!start.IsTuple() || start.elements().size() < 2 || !start.element(0).IsTuple()) return false;
  const absl::Span<const Shape> bound = start.element(0).elements();
  return bound.size() == operands.size() && std::equal(bound.begin(), bound.end(), operands.begin(),
                                                       [](const Shape& shape, const Instruction* operand) {
                                                         return Compatible(shape, operand->shape());
                                                       });
}

// Accepts a native start that is declared in the generic form if it fits only this form.
bool AcceptsGenericForm(RuleContext& c, bool native_fits) {
  if (native_fits || !HasGenericForm(c.declared(), c.instruction().operands())) return false;
  c.ErrorIfStrict(c.instruction().shape_range(), "3.27",
                  "{} is that of an async-start around {}; XLA reads no such text", Text(c.declared()),
                  OpName(c));
  return true;
}

// True if the operand of `op-done` may have the generic form; element 1 is then the result.
bool IsGenericResult(const RuleContext& c) {
  const Shape& operand = c.operand(0);
  return operand.IsTuple() && operand.elements().size() >= 2 && operand.element(0).IsTuple() &&
         !Compatible(operand, c.declared());
}

bool ElementOne(RuleContext& c) {
  if (c.operand(0).IsTuple() && c.operand(0).elements().size() >= 2) [[likely]]
    return true;
  c.OperandError(0, kCollectiveRule, "{} takes the tuple that its start makes, but operand 0 is {}",
                 OpName(c), Text(c.operand(0)));
  return false;
}

// Requires operands i and j to be equal. A difference of layouts alone is an error if XLA rejects it.
bool SameAs(RuleContext& c, int64_t i, int64_t j) {
  const Shape& a = c.operand(i);
  const Shape& b = c.operand(j);
  if (!Compatible(a, b)) {
    c.NoteOperand(
        c.OperandError(i, kCollectiveRule, "operands {} and {} of {} must be equal, but they are {} and {}",
                       j, i, OpName(c), Text(b), Text(a)),
        j);
    return false;
  }
  if (!Equal(a, b, {.ignore_memory_space = true})) {
    c.ErrorIfStrict(c.operand_range(i), kCollectiveRule,
                    "operands {} and {} of {} must be equal, but they are {} and {}", j, i, OpName(c),
                    LayoutText(b), LayoutText(a));
  }
  return true;
}

// all-gather and reduce-scatter.

// Returns element i of the declared result, which is an array for one operand and a tuple for several.
const Shape* ResultPart(RuleContext& c, const Shape& result, int64_t i) {
  if (c.operand_count() == 1) {
    if (result.IsArray()) return &result;
  } else if (result.IsTuple() && static_cast<int64_t>(result.elements().size()) == c.operand_count() &&
             result.element(i).IsArray()) {
    return &result.element(i);
  }
  c.Error(c.instruction().shape_range(), kCollectiveRule,
          "{} of {} operand{} gives {}, but the instruction declares {}", OpName(c), c.operand_count(),
          c.operand_count() == 1 ? "" : "s",
          c.operand_count() == 1 ? "an array" : "a tuple of as many arrays", Text(result));
  return nullptr;
}

struct Sharding1D {
  int64_t dim = 0;
  int64_t shard_count = 0;  // 0 if unknown because of a size `?`.
};

// Returns the number of shards of size `shard` in `whole`; 0 if a size is unbounded, -1 after an error.
int64_t ShardCount(RuleContext& c, int64_t whole, int64_t shard, int64_t subgroup) {
  if (whole == Shape::kUnbounded || shard == Shape::kUnbounded) return 0;
  const int64_t count = shard == 0 ? 0 : whole / shard + (whole % shard != 0);
  if (count <= 0) {
    c.Error(c.instruction().shape_range(), kCollectiveRule, "{} cannot cut size {} into shards of {}",
            OpName(c), whole, shard);
    return -1;
  }
  if (subgroup != 1 && count != subgroup) {
    c.Error(c.instruction().shape_range(), kCollectiveRule,
            "{} makes {} of size {} from size {}, but a group has {}", OpName(c), Counted(count, "shard"),
            shard, whole, Counted(subgroup, "device"));
    return -1;
  }
  return count;
}

// Sets the dimension, groups and shard count of an all-gather (`gather`) or a reduce-scatter with the
// declared result `result`.
bool ShardingOf(RuleContext& c, const Shape& result, bool gather, Sharding1D* sharding) {
  if (!RequireOneDimension(c, kCollectiveRule, &sharding->dim)) return false;
  const GroupMode mode = ModeOf(c);
  if (!CheckReplicaGroups(c, mode, GroupSizes::kUniform)) return false;
  if (c.operand_count() == 0) {
    c.Error({}, kCollectiveRule, "{} needs at least one operand", OpName(c));
    return false;
  }
  if (!RequireArrays(c, kCollectiveRule)) return false;
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    const Shape* part = ResultPart(c, result, i);
    if (part == nullptr) return false;
    const int64_t rank = std::min(part->rank(), c.operand(i).rank());
    if (InRange(sharding->dim, rank)) continue;
    c.Error(c.range_of<attr::dimensions>(), kCollectiveRule,
            "dimension {} is out of range: operand {} is {} and its result {}", sharding->dim, i,
            Text(c.operand(i)), Text(*part));
    return false;
  }
  const int64_t operand = c.operand(0).dim(sharding->dim);
  const int64_t first = ResultPart(c, result, 0)->dim(sharding->dim);
  sharding->shard_count =
      ShardCount(c, gather ? first : operand, gather ? operand : first, SubgroupSize(c, mode));
  return sharding->shard_count >= 0;
}

// Sets the shape of operand i with its dimension multiplied by the shard count; bounds are dropped, `?`
// remains.
bool GatheredShape(RuleContext& c, int64_t i, const Sharding1D& sharding, Shape* shape) {
  *shape = c.operand(i);
  const int64_t size = shape->dim(sharding.dim);
  int64_t gathered = Shape::kUnbounded;
  if (size == Shape::kUnbounded || sharding.shard_count == 0) {
    shape->set_dim(sharding.dim, gathered, true);
    return true;
  }
  if (__builtin_mul_overflow(size, sharding.shard_count, &gathered)) {
    c.OperandError(i, kCollectiveRule, "{} of {} are too large", Counted(sharding.shard_count, "shard"),
                   Text(c.operand(i)));
    return false;
  }
  shape->set_dim(sharding.dim, gathered, false);
  return true;
}

// Sets the shape of operand i with its dimension divided by the shard count; dynamic dimensions become `?`.
bool ScatteredShape(RuleContext& c, int64_t i, const Sharding1D& sharding, Shape* shape) {
  *shape = c.operand(i);
  const int64_t size = shape->dim(sharding.dim);
  if (size != Shape::kUnbounded && sharding.shard_count != 0 && size % sharding.shard_count != 0) {
    c.OperandError(i, kCollectiveRule, "{} cuts {} into {}, but size {} of dimension {} is not a multiple",
                   OpName(c), Text(c.operand(i)), Counted(sharding.shard_count, "shard"), size, sharding.dim);
    return false;
  }
  if (shape->IsDynamic(sharding.dim) || sharding.shard_count == 0) {
    shape->set_dim(sharding.dim, Shape::kUnbounded, true);
  } else {
    shape->set_dim(sharding.dim, size / sharding.shard_count, false);
  }
  return true;
}

// Returns the result shape that the operands imply.
Inferred ShardedResult(RuleContext& c, const Shape& declared, bool gather) {
  Sharding1D sharding;
  if (!ShardingOf(c, declared, gather, &sharding)) return Failed();
  std::vector<Shape> parts(static_cast<size_t>(c.operand_count()));
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    if (!(gather ? GatheredShape(c, i, sharding, &parts[i]) : ScatteredShape(c, i, sharding, &parts[i])))
      return Failed();
  }
  return parts.size() == 1 ? parts[0] : Shape::Tuple(std::move(parts));
}

// all-reduce.

// Warns about the reducer of an all-reduce, which XLA does not check.
void WarnAboutReducer(RuleContext& c) {
  const Computation* reducer = c.Get<attr::to_apply>();
  if (reducer == nullptr || reducer->root() == nullptr) return;
  const Shape& root = reducer->root()->shape();
  bool fits = root.IsScalar() && reducer->parameters().size() == 2;
  for (const Instruction* parameter : reducer->parameters()) {
    fits = fits && parameter != nullptr && Compatible(parameter->shape(), root);
  }
  if (fits) [[likely]]
    return;
  c.Warning(c.range_of<attr::to_apply>(), kCollectiveRule,
            "'{}' should take two scalars and return one of their type, but it returns {}", reducer->name(),
            Text(root));
}

bool CheckAllReduce(RuleContext& c) {
  const bool arrays = RequireArrays(c, kCollectiveRule);
  const bool groups = CheckReplicaGroups(c, ModeOf(c), GroupSizes::kAny);
  if (c.instruction().Has<attr::channel_id>() && c.Get<attr::channel_id>() == 0) {
    c.ErrorIfStrict(c.range_of<attr::channel_id>(), kCollectiveRule,
                    "channel_id 0 reads as none once the module has been stored");
  }
  if (c.operand_count() == 0) c.Warning({}, kCollectiveRule, "{} has no operands", OpName(c));
  WarnAboutReducer(c);
  return arrays && groups;
}

// all-to-all.

// Checks the form with one operand per device of a group.
bool TupleAllToAll(RuleContext& c, int64_t subgroup) {
  if (c.operand_count() != subgroup) {
    c.Error({}, kCollectiveRule,
            "all-to-all takes one operand for each of the {} devices of a group, but it has {}", subgroup,
            c.operand_count());
    return false;
  }
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    if (!c.operand(i).IsArray() || c.operand(i).HasUnboundedDim()) {
      c.OperandError(i, kCollectiveRule, "all-to-all takes arrays without `?`, but operand {} is {}", i,
                     Text(c.operand(i)));
      return false;
    }
    if (!SameAs(c, i, 0)) return false;
  }
  return true;
}

// Checks the form with one operand that is split along a dimension.
bool SplitAllToAll(RuleContext& c, int64_t subgroup) {
  int64_t dim = 0;
  if (!RequireOneDimension(c, kCollectiveRule, &dim)) return false;
  if (c.operand_count() != 1) {
    c.Error({}, kCollectiveRule, "all-to-all with dimensions takes one operand, but it has {}",
            c.operand_count());
    return false;
  }
  if (!RequireArray(c, 0, kCollectiveRule)) return false;
  const Shape& operand = c.operand(0);
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (!operand.IsDynamic(d) || operand.IsUnbounded(d)) continue;
    c.OperandError(0, kCollectiveRule, "all-to-all takes no bounded dynamic dimensions, but operand 0 is {}",
                   Text(operand));
    return false;
  }
  if (!InRange(dim, operand.rank())) {
    c.Error(c.range_of<attr::dimensions>(), kCollectiveRule, "dimension {} is out of range: operand 0 is {}",
            dim, Text(operand));
    return false;
  }
  if (operand.IsUnbounded(dim) || (subgroup > 0 && operand.dim(dim) % subgroup == 0)) return true;
  c.OperandError(0, kCollectiveRule,
                 "all-to-all cuts dimension {} of {} into {} parts, but its size is not a multiple", dim,
                 Text(operand), subgroup);
  return false;
}

// collective-permute.

// True for one offset per dimension, or a tuple of such tuples.
bool IsOffset(const Shape& offset, const Shape& buffer) {
  if (!offset.IsTuple() || !buffer.IsArray()) return false;
  const auto size = [](const Shape& tuple) { return static_cast<int64_t>(tuple.elements().size()); };
  const absl::Span<const Shape> elements = offset.elements();
  if (std::all_of(elements.begin(), elements.end(), [](const Shape& e) { return e.IsArray(); })) {
    return size(offset) == buffer.rank();
  }
  return std::all_of(elements.begin(), elements.end(),
                     [&](const Shape& e) { return e.IsTuple() && size(e) == buffer.rank(); });
}

bool CheckOffsets(RuleContext& c, int64_t i, const Shape& buffer) {
  const Shape& offsets = c.operand(i);
  bool ok = offsets.IsTuple();
  if (ok && buffer.IsTuple()) {
    ok =
        offsets.elements().size() == buffer.elements().size() &&
        std::equal(offsets.elements().begin(), offsets.elements().end(), buffer.elements().begin(), IsOffset);
  } else {
    ok = ok && IsOffset(offsets, buffer);
  }
  if (ok) return true;
  c.OperandError(i, kCollectiveRule, "operand {} must be a tuple of offsets into {}, but it is {}", i,
                 Text(buffer), Text(offsets));
  return false;
}

// Checks the operands input, output, input offsets and output offsets (attribute slice_sizes).
bool CheckInPlacePermute(RuleContext& c) {
  if (c.operand_count() != 4) {
    c.Error({}, kCollectiveRule, "{} with slice_sizes takes 4 operands, but it has {}", OpName(c),
            c.operand_count());
    return false;
  }
  const Shape& input = c.operand(0);
  const Shape& output = c.operand(1);
  const bool arrays = input.IsArray() && output.IsArray();
  if (!arrays &&
      !(input.IsTuple() && output.IsTuple() && input.elements().size() == output.elements().size())) {
    c.OperandError(1, kCollectiveRule,
                   "input and output must both be arrays or tuples of one arity, but they are {} and {}",
                   Text(input), Text(output));
    return false;
  }
  if (!CheckOffsets(c, 2, input) || !CheckOffsets(c, 3, output)) return false;
  const Shape& offsets = c.operand(2);
  size_t repeats = offsets.elements().size();
  if (!arrays) repeats = repeats == 0 ? 0 : offsets.element(0).elements().size();
  return CheckSourceTargetPairs(c, std::max<int64_t>(1, static_cast<int64_t>(repeats)));
}

bool IsInPlace(const RuleContext& c) { return c.instruction().Has<attr::permute_slice_sizes>(); }

bool CheckPermute(RuleContext& c) {
  if (IsInPlace(c)) return CheckInPlacePermute(c);
  const bool arrays = RequireArrays(c, kCollectiveRule);
  return CheckSourceTargetPairs(c, 1) && arrays;
}

}  // namespace

Inferred AllGather(RuleContext& c) { return ShardedResult(c, c.declared(), /*gather=*/true); }

Inferred AllGatherStart(RuleContext& c) {
  const Shape& declared = c.declared();
  const bool native = declared.IsTuple() && declared.elements().size() == 2 &&
                      (c.operand_count() != 1 || !declared.element(0).IsTuple());
  if (AcceptsGenericForm(c, native)) return AsDeclared();
  if (!RequireDeclaredTuple(c, 2)) return Failed();
  if (declared.elements().size() != 2) {
    c.Error(c.instruction().shape_range(), kCollectiveRule,
            "all-gather-start gives a pair, but the instruction declares {}", Text(declared));
    return Failed();
  }
  const Inferred gathered = ShardedResult(c, declared.element(1), /*gather=*/true);
  if (gathered.form() == Inferred::Form::kFailed) return Failed();
  return Shape::Tuple({JoinedShape(c.instruction().operands()), gathered.shape()});
}

Inferred AllGatherDone(RuleContext& c) { return ElementOne(c) ? Like(c.operand(0).element(1)) : Failed(); }

Inferred ReduceScatter(RuleContext& c) {
  WarnAboutReducer(c);
  return ShardedResult(c, c.declared(), /*gather=*/false);
}

Inferred AllReduce(RuleContext& c) {
  return CheckAllReduce(c) ? JoinedOperands(c.instruction().operands()) : Failed();
}

Inferred AllReduceStart(RuleContext& c) {
  if (!CheckAllReduce(c)) return Failed();
  if (AcceptsGenericForm(c, Compatible(c.declared(), JoinedShape(c.instruction().operands()))))
    return AsDeclared();
  return JoinedOperands(c.instruction().operands());
}

Inferred AllReduceDone(RuleContext& c) {
  return Like(IsGenericResult(c) ? c.operand(0).element(1) : c.operand(0));
}

Inferred AllToAll(RuleContext& c) {
  const GroupMode mode = ModeOf(c);
  if (!CheckReplicaGroups(c, mode, GroupSizes::kUniform)) return Failed();
  const int64_t subgroup = SubgroupSize(c, mode);
  if (c.instruction().Has<attr::dimensions>())
    return SplitAllToAll(c, subgroup) ? Like(c.operand(0)) : Failed();
  return TupleAllToAll(c, subgroup) ? TupleOf(c.instruction().operands()) : Failed();
}

Inferred RaggedAllToAll(RuleContext& c) {
  if (c.operand_count() != 6) {
    c.Error({}, kCollectiveRule, "ragged-all-to-all takes 6 operands, but it has {}", c.operand_count());
    return Failed();
  }
  if (!RequireArrays(c, kCollectiveRule) || !CheckReplicaGroups(c, ModeOf(c), GroupSizes::kUniform))
    return Failed();
  const Shape& offsets = c.operand(2);
  if (offsets.rank() != 1 && offsets.rank() != 2) {
    c.OperandError(2, kCollectiveRule, "offsets and sizes must have rank 1 or 2, but operand 2 is {}",
                   Text(offsets));
    return Failed();
  }
  for (int64_t i = 3; i < 6; ++i) {
    if (!SameAs(c, i, 2)) return Failed();
  }
  return Like(c.operand(1));
}

Inferred CollectiveBroadcast(RuleContext& c) {
  if (c.operand_count() == 0) {
    c.Error({}, kCollectiveRule, "collective-broadcast needs an operand");
    return Failed();
  }
  if (!RequireArray(c, 0, kCollectiveRule)) return Failed();
  if (c.Get<attr::has_dynamic_root>()) {
    const int64_t last = c.operand_count() - 1;
    const Shape& root = c.operand(last);
    if (last < 1 || !root.IsArray(ElementType::kS32) || root.rank() != 1 || !SizesMatch(root.dim(0), last)) {
      c.Warning(c.operand_range(last), kCollectiveRule,
                "with has_dynamic_root the last operand should be s32[{}], but it is {}", last, Text(root));
    }
  }
  return Like(c.operand(0));
}

Inferred CollectiveReduce(RuleContext& c) {
  if (!RequireArrays(c, kCollectiveRule) || !CheckReplicaGroups(c, ModeOf(c), GroupSizes::kAny))
    return Failed();
  WarnAboutReducer(c);
  absl::Span<Instruction* const> data = c.instruction().operands();
  if (c.Get<attr::has_dynamic_root>()) {
    const int64_t last = c.operand_count() - 1;
    if (last < 0) {
      c.Error({}, kCollectiveRule,
              "collective-reduce with has_dynamic_root needs an operand that names the root");
      return Failed();
    }
    const Shape& root = c.operand(last);
    if (!root.IsArray(ElementType::kS32) || root.rank() != 1 || root.dim(0) != last) {
      c.OperandError(last, kCollectiveRule,
                     "with has_dynamic_root the last operand must be s32[{}], but it is {}", last,
                     Text(root));
      return Failed();
    }
    data.remove_suffix(1);
  }
  return JoinedOperands(data);
}

Inferred CollectivePermute(RuleContext& c) {
  if (!CheckPermute(c)) return Failed();
  return IsInPlace(c) ? Like(c.operand(1)) : JoinedOperands(c.instruction().operands());
}

Inferred CollectivePermuteStart(RuleContext& c) {
  if (!CheckPermute(c)) return Failed();
  const absl::Span<Instruction* const> operands = c.instruction().operands();
  const Shape& declared = c.declared();
  const Shape source = IsInPlace(c) ? c.operand(0) : JoinedShape(operands);
  const bool native =
      declared.IsTuple() && declared.elements().size() >= 2 && Compatible(declared.element(0), source);
  if (AcceptsGenericForm(c, native)) return AsDeclared();
  if (!RequireDeclaredTuple(c, 2)) return Failed();
  std::vector<Shape> elements(declared.elements().begin(), declared.elements().end());
  elements[0] = source;
  elements[1] = IsInPlace(c) ? c.operand(1) : source;
  return Shape::Tuple(std::move(elements));
}

Inferred CollectivePermuteDone(RuleContext& c) {
  return ElementOne(c) ? Like(c.operand(0).element(1)) : Failed();
}

}  // namespace hlo::check
