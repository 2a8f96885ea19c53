#include "reference/exchange.h"

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/fold.h"
#include "types/view.h"

namespace hlo::reference {
namespace {

using spmd::Values;
using Members = absl::Span<const Values>;  // The operands of the members of a group, by position.

absl::StatusOr<Literal> OwnCopy(const Literal& value) {
  Literal copy = value;
  HLO_RETURN_IF_ERROR(copy.MakeUnique());
  return copy;
}

Values Operands(const OpContext& context) { return {context.operands.begin(), context.operands.end()}; }

// Returns the start of a part along a dimension.
Index StartOf(int64_t rank, int64_t dimension, int64_t at) {
  Index start = Zeros(rank);
  start[dimension] = at;
  return start;
}

// Copies a box of one array to a box of another; both have these sizes.
void CopyBox(const Literal& source, const Index& from, Literal& target, const Index& to, const Index& sizes) {
  CopyElements(ByteCount(source.type()), source.data(), View::Dense(source.dims()).Window(from, sizes),
               target.mutable_data(), View::Dense(target.dims()).Window(to, sizes));
}

// Returns the fold of operand k over all members.
absl::StatusOr<Literal> FoldOperand(OpContext& context, Members members, size_t k) {
  std::vector<const Literal*> values;
  for (const Values& member : members) values.push_back(&member[k]);
  return FoldMembers(context, values);
}

// Returns the position of the root of each operand: 0, or with has_dynamic_root the numbers in the last
// operand, on which all members must agree.
absl::StatusOr<std::vector<int64_t>> Roots(const OpContext& context, Members members) {
  const bool is_dynamic = context.instruction.Get<attr::has_dynamic_root>();
  const size_t count = members[0].size() - (is_dynamic ? 1 : 0);
  std::vector<int64_t> roots(count, 0);
  if (!is_dynamic) return roots;
  for (size_t j = 0; j < members.size(); ++j) {
    HLO_ASSIGN_OR_RETURN(const Literal read, AsIndices(members[j].back()));
    const auto given = read.span<int64_t>();
    if (given.size() != count) {
      return absl::FailedPreconditionError(
          fmt::format("it has {} for {}", Counted(given.size(), "root"), Counted(count, "operand")));
    }
    for (size_t k = 0; k < count; ++k) {
      if (given[k] < 0 || given[k] >= static_cast<int64_t>(members.size())) {
        return absl::FailedPreconditionError(fmt::format("the root is number {} of its group, which has {}",
                                                         given[k], Counted(members.size(), "member")));
      }
      if (j > 0 && given[k] != roots[k]) {
        return absl::FailedPreconditionError(
            fmt::format("the members of a group name different roots: number 0 names {}, number {} names {}",
                        roots[k], j, given[k]));
      }
      roots[k] = given[k];
    }
  }
  return roots;
}

// Returns zeros for each operand except the vector of roots.
absl::StatusOr<Values> ZerosOfOperands(const OpContext& context) {
  const size_t count = context.operands.size() - (context.instruction.Get<attr::has_dynamic_root>() ? 1 : 0);
  Values values;
  for (const Literal& operand : context.operands.first(count)) {
    HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(operand.shape()));
    values.push_back(std::move(zeros));
  }
  return values;
}

bool IsMember(const OpContext& context) {
  const spmd::Collectives& collectives = *context.caller.collectives();
  const spmd::Groups* groups = collectives.table().groups(context.instruction);
  return groups == nullptr || groups->places[collectives.device()].group >= 0;
}

// Adds a value to the results of each member.
absl::Status GiveAll(Literal value, std::vector<Values>& results) {
  for (size_t j = 1; j < results.size(); ++j) {
    HLO_ASSIGN_OR_RETURN(Literal copy, OwnCopy(value));
    results[j].push_back(std::move(copy));
  }
  results[0].push_back(std::move(value));
  return absl::OkStatus();
}

// Returns the dimensions of one of `count` equal parts.
absl::StatusOr<Index> PartDims(const Shape& shape, int64_t dimension, int64_t count) {
  if (shape.dim(dimension) % count != 0) {
    return absl::FailedPreconditionError(
        fmt::format("dimension {} of {} has no {} equal parts", dimension, ToString(shape), count));
  }
  Index sizes(shape.dims());
  sizes[dimension] /= count;
  return sizes;
}

absl::StatusOr<Values> Meet(OpContext& context, spmd::Collectives::Combine combine) {
  return context.caller.collectives()->Meet(context.instruction, Operands(context), combine);
}

}  // namespace

// Every member gets the fold of the operands in the order of the group.
absl::StatusOr<Values> ReduceGroup(OpContext& context) {
  return Meet(context, [&](Members members) -> absl::StatusOr<std::vector<Values>> {
    std::vector<Values> results(members.size());
    for (size_t k = 0; k < members[0].size(); ++k) {
      HLO_ASSIGN_OR_RETURN(Literal sum, FoldOperand(context, members, k));
      HLO_RETURN_IF_ERROR(GiveAll(std::move(sum), results));
    }
    return results;
  });
}

// The root of each group gets the fold, all other devices zeros.
absl::StatusOr<Values> ReduceToRoots(OpContext& context) {
  if (!IsMember(context)) return ZerosOfOperands(context);
  return Meet(context, [&](Members members) -> absl::StatusOr<std::vector<Values>> {
    HLO_ASSIGN_OR_RETURN(const std::vector<int64_t> roots, Roots(context, members));
    std::vector<Values> results(members.size());
    for (size_t k = 0; k < roots.size(); ++k) {
      HLO_ASSIGN_OR_RETURN(Literal sum, FoldOperand(context, members, k));
      for (size_t j = 0; j < members.size(); ++j) {
        HLO_ASSIGN_OR_RETURN(Literal zeros, Literal::CreateZeros(sum.shape()));
        results[j].push_back(std::move(zeros));
      }
      results[roots[k]][k] = std::move(sum);
    }
    return results;
  });
}

// Member j gets part j of the fold along the dimension.
absl::StatusOr<Values> ReduceAndScatter(OpContext& context) {
  const int64_t dimension = context.instruction.Get<attr::dimensions>()[0];
  return Meet(context, [&](Members members) -> absl::StatusOr<std::vector<Values>> {
    const auto count = static_cast<int64_t>(members.size());
    std::vector<Values> results(members.size());
    for (size_t k = 0; k < members[0].size(); ++k) {
      HLO_ASSIGN_OR_RETURN(const Literal sum, FoldOperand(context, members, k));
      HLO_ASSIGN_OR_RETURN(const Index sizes, PartDims(sum.shape(), dimension, count));
      for (int64_t j = 0; j < count; ++j) {
        HLO_ASSIGN_OR_RETURN(Literal part, Literal::Create(Shape::Array(sum.type(), sizes)));
        CopyBox(sum, StartOf(sum.rank(), dimension, j * sizes[dimension]), part, Zeros(sum.rank()), sizes);
        results[j].push_back(std::move(part));
      }
    }
    return results;
  });
}

// Every member gets the operands concatenated along the dimension.
absl::StatusOr<Values> GatherGroup(OpContext& context) {
  const int64_t dimension = context.instruction.Get<attr::dimensions>()[0];
  return Meet(context, [&](Members members) -> absl::StatusOr<std::vector<Values>> {
    const auto count = static_cast<int64_t>(members.size());
    std::vector<Values> results(members.size());
    for (size_t k = 0; k < members[0].size(); ++k) {
      const Literal& first = members[0][k];
      const Index sizes(first.dims());
      Index all = sizes;
      all[dimension] *= count;
      HLO_ASSIGN_OR_RETURN(Literal gathered, Literal::Create(Shape::Array(first.type(), all)));
      for (int64_t j = 0; j < count; ++j)
        CopyBox(members[j][k], Zeros(first.rank()), gathered,
                StartOf(first.rank(), dimension, j * sizes[dimension]), sizes);
      HLO_RETURN_IF_ERROR(GiveAll(std::move(gathered), results));
    }
    return results;
  });
}

// With a dimension, part i of member j's result is part j of member i's operand; without one, operand i of
// member j's result is operand j of member i.
absl::StatusOr<Values> ExchangeParts(OpContext& context) {
  const IntList dimensions = context.instruction.Get<attr::dimensions>();
  return Meet(context, [&](Members members) -> absl::StatusOr<std::vector<Values>> {
    const auto count = static_cast<int64_t>(members.size());
    std::vector<Values> results(members.size());
    if (dimensions.empty()) {
      if (static_cast<int64_t>(members[0].size()) != count) {
        return absl::FailedPreconditionError(fmt::format("it has {}, but the group has {}",
                                                         Counted(members[0].size(), "operand"),
                                                         Counted(count, "member")));
      }
      for (int64_t j = 0; j < count; ++j) {
        for (int64_t i = 0; i < count; ++i) {
          HLO_ASSIGN_OR_RETURN(Literal part, OwnCopy(members[i][j]));
          results[j].push_back(std::move(part));
        }
      }
      return results;
    }
    const int64_t d = dimensions[0];
    const Literal& first = members[0][0];
    HLO_ASSIGN_OR_RETURN(const Index sizes, PartDims(first.shape(), d, count));
    for (int64_t j = 0; j < count; ++j) {
      HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(Shape::Array(first.type(), first.dims())));
      for (int64_t i = 0; i < count; ++i)
        CopyBox(members[i][0], StartOf(first.rank(), d, j * sizes[d]), result,
                StartOf(first.rank(), d, i * sizes[d]), sizes);
      results[j].push_back(std::move(result));
    }
    return results;
  });
}

// Every member gets the operand of the root, devices in no group get zeros.
absl::StatusOr<Values> BroadcastFromRoots(OpContext& context) {
  if (!IsMember(context)) return ZerosOfOperands(context);
  return Meet(context, [&](Members members) -> absl::StatusOr<std::vector<Values>> {
    HLO_ASSIGN_OR_RETURN(const std::vector<int64_t> roots, Roots(context, members));
    std::vector<Values> results(members.size());
    for (size_t k = 0; k < roots.size(); ++k) {
      for (Values& result : results) {
        HLO_ASSIGN_OR_RETURN(Literal copy, OwnCopy(members[roots[k]][k]));
        result.push_back(std::move(copy));
      }
    }
    return results;
  });
}

void CopyRows(const Literal& input, const spmd::RowMove& move, Literal& output) {
  if (move.count == 0) return;
  const int64_t row = output.byte_count() / output.dim(0);
  std::copy_n(input.data() + move.from * row, move.count * row, output.mutable_data() + move.to * row);
}

absl::StatusOr<spmd::RaggedMember> RaggedMemberOf(absl::Span<const Literal> lists, int64_t input_rows,
                                                  int64_t output_rows) {
  spmd::RaggedMember member{.input_rows = input_rows, .output_rows = output_rows};
  std::vector<int64_t>* parts[] = {&member.input_offsets, &member.send_sizes, &member.output_offsets,
                                   &member.receive_sizes};
  for (size_t k = 0; k < 4; ++k) {
    HLO_ASSIGN_OR_RETURN(const Literal list, AsIndices(lists[k]));
    parts[k]->assign(list.span<int64_t>().begin(), list.span<int64_t>().end());
  }
  return member;
}

// Member k sends, for its peer j and update u, the rows input_offsets[j,u], ..., + send_sizes[j,u] - 1 of its
// input to the rows from output_offsets[j,u] on of j's result, which starts as j's `output`.
absl::StatusOr<Values> ExchangeRows(OpContext& context) {
  return Meet(context, [&](Members members) -> absl::StatusOr<std::vector<Values>> {
    std::vector<Values> results(members.size());
    std::vector<spmd::RaggedMember> lists;
    for (size_t j = 0; j < members.size(); ++j) {
      HLO_ASSIGN_OR_RETURN(Literal result, OwnCopy(members[j][1]));
      results[j].push_back(std::move(result));
      HLO_ASSIGN_OR_RETURN(spmd::RaggedMember own,
                           RaggedMemberOf(absl::MakeConstSpan(members[j]).subspan(2), members[j][0].dim(0),
                                          members[j][1].dim(0)));
      lists.push_back(std::move(own));
    }
    HLO_ASSIGN_OR_RETURN(const spmd::RaggedExchange exchange, spmd::RaggedExchangeOf(lists));
    for (const spmd::RowMove& move : exchange.moves)
      CopyRows(members[move.source][0], move, results[move.target][0]);
    for (int64_t i = 0; i < exchange.overlaps; ++i)
      context.caller.collectives()->Warn(context.instruction, "two updates write the same rows");
    return results;
  });
}

namespace {

bool IsSliced(const Instruction& permute) { return permute.Has<attr::permute_slice_sizes>(); }

// Reads a tuple of scalar offsets, clamped so that the box is within the array.
absl::StatusOr<Index> OffsetsIn(const Literal& tuple, const Literal& array, const Index& sizes) {
  Index offsets;
  for (const Literal& element : tuple.elements()) {
    HLO_ASSIGN_OR_RETURN(const Literal read, AsIndices(element));
    offsets.push_back(read.span<int64_t>()[0]);
  }
  return Clamp(Zeros(array.rank()), offsets, Index(array.dims()) - sizes);
}

Index SliceSizes(const OpContext& context) {
  return Index(context.instruction.Get<attr::permute_slice_sizes>()[0]);
}

// Returns the box of the operand `input` at its offsets.
absl::StatusOr<Literal> SentBox(const OpContext& context) {
  const Literal& input = context.operands[0];
  const Index sizes = SliceSizes(context);
  HLO_ASSIGN_OR_RETURN(const Index from, OffsetsIn(context.operands[2], input, sizes));
  HLO_ASSIGN_OR_RETURN(Literal box, Literal::Create(Shape::Array(input.type(), sizes)));
  CopyBox(input, from, box, Zeros(input.rank()), sizes);
  return box;
}

// Returns the operand `output`, with the received box at its offsets.
absl::StatusOr<Literal> OutputWith(const OpContext& context, const Literal& box) {
  const Index sizes = SliceSizes(context);
  HLO_ASSIGN_OR_RETURN(Literal output, OwnCopy(context.operands[1]));
  HLO_ASSIGN_OR_RETURN(const Index to, OffsetsIn(context.operands[3], output, sizes));
  CopyBox(box, Zeros(output.rank()), output, to, sizes);
  return output;
}

absl::StatusOr<Values> SentValues(const OpContext& context) {
  Values sent;
  if (IsSliced(context.instruction)) {
    HLO_ASSIGN_OR_RETURN(Literal box, SentBox(context));
    sent.push_back(std::move(box));
    return sent;
  }
  for (const Literal& operand : context.operands) {
    HLO_ASSIGN_OR_RETURN(Literal copy, OwnCopy(operand));
    sent.push_back(std::move(copy));
  }
  return sent;
}

// Returns the result of a device that is no target.
absl::StatusOr<Values> UnsentResult(const OpContext& context) {
  if (!IsSliced(context.instruction)) return ZerosOfOperands(context);
  HLO_ASSIGN_OR_RETURN(Literal output, OwnCopy(context.operands[1]));
  return Values{std::move(output)};
}

absl::StatusOr<Values> ReceivedResult(const OpContext& context, Values received) {
  if (!IsSliced(context.instruction)) return received;
  HLO_ASSIGN_OR_RETURN(Literal output, OutputWith(context, received[0]));
  return Values{std::move(output)};
}

}  // namespace

absl::StatusOr<Values> PermuteWithinDevice(OpContext& context, bool is_target) {
  if (!is_target) return UnsentResult(context);
  HLO_ASSIGN_OR_RETURN(Values sent, SentValues(context));
  return ReceivedResult(context, std::move(sent));
}

// A target gets the operands of its source. Other devices get zeros; with slices they keep `output`.
absl::StatusOr<Values> PermuteValues(OpContext& context) {
  spmd::Collectives& collectives = *context.caller.collectives();
  const spmd::Routes* routes = collectives.table().routes(context.instruction);
  if (routes == nullptr) return absl::InternalError("its pairs are not known");
  const int64_t device = collectives.device(), source = routes->sources[device];
  for (const int64_t target : routes->targets[device]) {
    HLO_ASSIGN_OR_RETURN(Values sent, SentValues(context));
    HLO_RETURN_IF_ERROR(collectives.Send({&context.instruction, "", device, target}, std::move(sent)));
  }
  if (source < 0) return UnsentResult(context);
  HLO_ASSIGN_OR_RETURN(Values received, collectives.Receive({&context.instruction, "", source, device}));
  return ReceivedResult(context, std::move(received));
}

}  // namespace hlo::reference
