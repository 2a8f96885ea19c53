// Builds collectives. Those of tuples take the elements as operands and return a tuple of results.

#include <numeric>

#include "build/emit.h"

namespace hlo::build {
namespace {

void AddParticipants(const Op& at, const Participants& participants, bool has_global_ids,
                     std::vector<AttrEntry>* attributes) {
  if (at.builder() == nullptr) return;
  Builder& b = *at.builder();
  if (!participants.replica_groups.empty()) {
    const ReplicaGroups groups = {.groups = b.Keep(participants.replica_groups)};
    attributes->push_back(Attr<attr::replica_groups>(b.Keep(groups)));
  }
  if (participants.channel_id) attributes->push_back(Attr<attr::channel_id>(*participants.channel_id));
  if (participants.use_global_device_ids && has_global_ids)
    attributes->push_back(Attr<attr::use_global_device_ids>(true));
}

// Returns the shape with one dimension resized; nullopt if that is impossible.
std::optional<Shape> Resized(const Shape& shape, int64_t dimension, int64_t size) {
  if (!shape.IsArray() || dimension < 0 || dimension >= shape.rank()) return std::nullopt;
  Shape result = shape;
  result.set_dim(dimension, size);
  return result;
}

// Emits one variadic instruction for a tuple operand; its result is a tuple even for one element.
template <class ResultOf>
Op Variadic(const Operand& operand, Opcode opcode, const std::vector<AttrEntry>& attributes,
            ResultOf result_of) {
  if (!Ready(operand.place, {operand})) return operand;
  const bool is_tuple = operand.shape().IsTuple();
  const std::vector<Op> operands = is_tuple ? Elements(operand) : std::vector<Op>{operand};
  if (operands.empty()) return Refuse(operand, operand.place, "{} of an empty tuple", Name(opcode));
  std::vector<Shape> shapes;
  for (const Op& x : operands) {
    const std::optional<Shape> shape = result_of(x.shape());
    if (!shape)
      return Refuse(operand, operand.place, "{} has no result for an operand {}", Name(opcode),
                    ToString(x.shape()));
    shapes.push_back(*shape);
  }
  const Shape shape = shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes);
  const Op result = Emit(operand.place, opcode, operands, attributes, shape);
  return is_tuple && operands.size() == 1 && result.ok() ? operand.builder()->Tuple({result}, operand.place)
                                                         : result;
}

bool EqualTypes(const Operand& operand, std::string_view what) {
  if (!operand.shape().IsTuple()) return true;
  for (const Shape& element : operand.shape().elements()) {
    if (element.type() == operand.shape().element(0).type()) continue;
    Refuse(operand, operand.place, "{} takes elements of one type, but the operand is {}", what,
           ToString(operand.shape()));
    return false;
  }
  return true;
}

std::vector<std::vector<int64_t>> AllOf(int64_t count) {
  std::vector<int64_t> group(static_cast<size_t>(count));
  std::iota(group.begin(), group.end(), 0);
  return {group};
}

}  // namespace

Op AllGather(Operand operand, int64_t dimension, int64_t shard_count, const Participants& participants) {
  std::vector<AttrEntry> attributes;
  AddParticipants(operand, participants, /*has_global_ids=*/true, &attributes);
  attributes.push_back(Attr<attr::dimensions>(KeepDims(operand, {dimension})));
  return Variadic(operand, Opcode::kAllGather, attributes, [&](const Shape& x) -> std::optional<Shape> {
    int64_t size = 0;
    if (!x.IsArray() || dimension < 0 || dimension >= x.rank() || shard_count <= 0 ||
        __builtin_mul_overflow(x.dim(dimension), shard_count, &size))
      return std::nullopt;
    return Resized(x, dimension, size);
  });
}

Op AllReduce(Operand operand, Function computation, const Participants& participants) {
  if (computation.computation == nullptr || !EqualTypes(operand, "all-reduce"))
    return Op(operand.builder(), nullptr);
  std::vector<AttrEntry> attributes;
  AddParticipants(operand, participants, /*has_global_ids=*/true, &attributes);
  attributes.push_back(Attr<attr::to_apply>(computation.computation));
  return Variadic(operand, Opcode::kAllReduce, attributes,
                  [](const Shape& x) { return std::optional<Shape>(x); });
}

Op CrossReplicaSum(Operand operand, const Groups& replica_groups) {
  if (!Ready(operand.place, {operand})) return operand;
  const Shape* shape = &operand.shape();
  if (shape->IsTuple() && !shape->elements().empty()) shape = &shape->element(0);
  if (!shape->IsArray())
    return Refuse(operand, operand.place, "CrossReplicaSum takes arrays, not {}", ToString(operand.shape()));
  const Opcode sum = IsPred(shape->type()) ? Opcode::kOr : Opcode::kAdd;
  return AllReduce(operand, operand.builder()->Scalar(sum, shape->type(), operand.place),
                   {.replica_groups = replica_groups});
}

Op ReduceScatter(Operand operand, Function computation, int64_t dimension, int64_t shard_count,
                 const Participants& participants) {
  if (computation.computation == nullptr || !EqualTypes(operand, "reduce-scatter"))
    return Op(operand.builder(), nullptr);
  std::vector<AttrEntry> attributes;
  AddParticipants(operand, participants, /*has_global_ids=*/true, &attributes);
  attributes.push_back(Attr<attr::dimensions>(KeepDims(operand, {dimension})));
  attributes.push_back(Attr<attr::to_apply>(computation.computation));
  return Variadic(operand, Opcode::kReduceScatter, attributes, [&](const Shape& x) -> std::optional<Shape> {
    if (!x.IsArray() || dimension < 0 || dimension >= x.rank() || shard_count <= 0 ||
        x.dim(dimension) % shard_count != 0)
      return std::nullopt;
    return Resized(x, dimension, x.dim(dimension) / shard_count);
  });
}

// Received blocks are stacked along the split dimension. A reshape and a transpose move them to the concat
// dimension.
Op AllToAll(Operand operand, int64_t split_dimension, int64_t concat_dimension, int64_t split_count,
            const Participants& participants) {
  const Place place = operand.place;
  if (!ReadyArrays(place, "all-to-all", {operand})) return Op(operand.builder(), nullptr);
  const int64_t rank = operand.rank();
  constexpr int64_t kMaxParticipants = 1 << 24;
  const bool fits = split_dimension >= 0 && split_dimension < rank && concat_dimension >= 0 &&
                    concat_dimension < rank && split_count > 0 && split_count <= kMaxParticipants;
  if (!fits || operand.shape().dim(split_dimension) % split_count != 0)
    return Refuse(operand, place,
                  "all-to-all cannot cut dimension {} of {} into {} blocks and join them along {}",
                  split_dimension, ToString(operand.shape()), split_count, concat_dimension);
  Participants groups = participants;
  if (groups.replica_groups.empty()) groups.replica_groups = AllOf(split_count);
  std::vector<AttrEntry> attributes;
  AddParticipants(operand, groups, /*has_global_ids=*/false, &attributes);
  attributes.push_back(Attr<attr::dimensions>(KeepDims(operand, {split_dimension})));
  const Op exchanged = Emit(place, Opcode::kAllToAll, {operand}, attributes, operand.shape());
  if (split_dimension == concat_dimension) return exchanged;

  std::vector<int64_t> cut, permutation, joined(operand.dims().begin(), operand.dims().end());
  for (int64_t i = 0; i < rank; ++i) {
    if (i == split_dimension) cut.push_back(split_count);
    cut.push_back(i == split_dimension ? joined[i] / split_count : joined[i]);
    if (i == concat_dimension) permutation.push_back(split_dimension);
    permutation.push_back(i >= split_dimension ? i + 1 : i);
  }
  joined[split_dimension] /= split_count;
  if (__builtin_mul_overflow(joined[concat_dimension], split_count, &joined[concat_dimension]))
    return Refuse(operand, place, "all-to-all of {}: the sizes overflow", ToString(operand.shape()));
  return Reshape({Transpose({Reshape({exchanged, place}, cut), place}, permutation), place}, joined);
}

Op AllToAllTuple(Operands operands, const Participants& participants) {
  if (operands.ops.empty() || !Ready(operands.place, operands.ops)) return Op();
  std::vector<AttrEntry> attributes;
  AddParticipants(operands.ops[0], participants, /*has_global_ids=*/false, &attributes);
  std::vector<Shape> shapes;
  for (const Op& op : operands.ops) shapes.push_back(op.shape());
  return Emit(operands.place, Opcode::kAllToAll, operands.ops, attributes, Shape::Tuple(shapes));
}

Op CollectiveBroadcast(Operand operand, const Groups& replica_groups, std::optional<int64_t> channel_id) {
  std::vector<AttrEntry> attributes;
  AddParticipants(operand, {.replica_groups = replica_groups, .channel_id = channel_id},
                  /*has_global_ids=*/false, &attributes);
  return Emit(operand.place, Opcode::kCollectiveBroadcast, {operand}, attributes, operand.shape());
}

Op CollectivePermute(Operands operands, Pairs source_target_pairs, std::optional<int64_t> channel_id) {
  if (operands.ops.empty() || !Ready(operands.place, operands.ops)) return Op();
  Groups pairs;
  for (const auto& [source, target] : source_target_pairs) pairs.push_back({source, target});
  std::vector<AttrEntry> attributes;
  if (channel_id) attributes.push_back(Attr<attr::channel_id>(*channel_id));
  attributes.push_back(Attr<attr::source_target_pairs>(operands.ops[0].builder()->Keep(pairs)));
  std::vector<Shape> shapes;
  for (const Op& op : operands.ops) shapes.push_back(op.shape());
  return Emit(operands.place, Opcode::kCollectivePermute, operands.ops, attributes,
              shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes));
}

// The operands of the instruction have a different order than the arguments.
Op RaggedAllToAll(Operand input, Op input_offsets, Op send_sizes, Op output, Op output_offsets, Op recv_sizes,
                  const Participants& participants) {
  std::vector<AttrEntry> attributes;
  AddParticipants(input, participants, /*has_global_ids=*/false, &attributes);
  return Emit(input.place, Opcode::kRaggedAllToAll,
              {input, output, input_offsets, send_sizes, output_offsets, recv_sizes}, attributes,
              output.shape());
}

}  // namespace hlo::build
