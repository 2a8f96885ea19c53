// Which custom calls are known (semantics 9): one row each.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/diagnostic.h"
#include "reference/custom/functions.h"
#include "reference/custom/signature.h"
#include "reference/obstacles.h"
#include "reference/op.h"
#include "reference/program.h"
#include "reference/sort.h"

namespace hlo::reference {
namespace custom {
namespace {

struct Target {
  std::string_view pattern;    // ? stands for a letter, * for any part of a name.
  std::string_view signature;  // As signature.h says; empty where `misfit` alone tells.
  ReferenceOp op;
  std::string (*misfit)(const Instruction& call) = nullptr;  // What the signature cannot say; "" if it fits.
};

// clang-format off
constexpr Target kTargets[] = {
    // Markers and identities, markers.cc
    {"Sharding",                              "", Identity, OtherShape},
    {"InspectSharding",                       "_ -> ...", Zeros},
    {"xla.sdy.FuncResultSharding",            "", Identity, OtherShape},
    {"xla.sdy.PropagationBarrier",            "", Identity, OtherShape},
    {"xla.sdy.GlobalToLocalShape",            "", Identity, OtherShape},
    {"xla.sdy.LocalToGlobalShape",            "", Identity, OtherShape},
    {"xla.sdy.ShardingGroup",                 "_ -> ...", Zeros},
    {"SPMDFullToShardShape",                  "", Identity, OtherShape},
    {"SPMDShardToFullShape",                  "", Identity, OtherShape},
    {"CustomSPMDPartitioning",                "", Identity, OtherShape},
    {"LayoutConstraint",                      "", Identity, OtherShape},
    {"ShardBarrierFrom",                      "", Identity, OtherShape},
    {"ShardBarrierTo",                        "", Identity, OtherShape},
    {"MoveToHost",                            "", Identity, OtherShape},
    {"MoveToDevice",                          "", Identity, OtherShape},
    {"PinToDevice",                           "", Identity, OtherShape},
    {"PinToDeviceSram",                       "", Identity, OtherShape},
    {"annotate_device_placement",             "", Identity, OtherShape},
    {"AssumeGatherIndicesInBound",            "", Identity, OtherShape},
    {"GatherScatterIndicesBitpacked",         "", Identity, OtherShape},
    {"__xla_internal_call_marker_before",     "", Identity, OtherShape},
    {"__xla_internal_call_marker_after",      "", Identity, OtherShape},
    {"Pin",                                   "", Identity, OtherShape},
    {"Unpin",                                 "", Identity, OtherShape},
    {"SetBound",                              "", Identity, OtherShape},
    {"AllocateBuffer",                        "... -> ...", Zeros},
    {"CreateBuffer",                          "... -> ...", Zeros},
    {"NopReturnToken",                        "... -> ...", Zeros},
    {"__nop",                                 "... -> ...", Zeros},
    {"xla.debug.Log",                         "... -> ...", Zeros},
    {"__xla_gpu_assert",                      "pred[...] -> _?", Assert},
    {"GetRngSeed",                            "-> u64[]", Seed},
    {"X64SplitLow",                           "I[*] -> u32[*]", SplitLow,  NotWords},
    {"X64SplitHigh",                          "I[*] -> u32[*]", SplitHigh, NotWords},
    {"X64Combine",                            "u32[*], u32[*] -> I[*]", Combine, NotWords},

    // The best of an array, selection.cc
    {"TopK",                                  "X[*,n] -> X[*,k], s32[*,k]", TopkByComparator, NotTopK},
    {"__gpu$TopK",                            "X[*,n] -> X[*,k], s32[*,k]", TopkByComparator, NotTopK},
};

// Code that only its own runtime can execute.
struct Opaque {
  std::string_view pattern;
  std::string_view what;
};
constexpr Opaque kOpaque[] = {
    {"__gpu$xla.gpu.triton",          "a Triton kernel"},
    {"triton_kernel_call*",           "a Triton kernel"},
    {"__gpu$xla.gpu.ptx",             "PTX code"},
    {"mosaic_gpu*",                   "a Mosaic kernel"},
    {"tpu_custom_call",               "a Mosaic kernel"},
    {"te_*",                          "a TransformerEngine kernel"},
    {"xla_*python_*callback",         "a Python callback"},
    {"*HostCallback*",                "a callback of the host"},
    {"cusparse_*",                    "a sparse matrix operation whose arrays are opaque"},
    {"cudnn_rnn*",                    "a recurrent network whose weights are opaque"},
};
// clang-format on

bool Matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    for (size_t skipped = 0; skipped <= name.size(); ++skipped) {
      if (Matches(pattern.substr(1), name.substr(skipped))) return true;
    }
    return false;
  }
  if (name.empty() || (pattern[0] != '?' && pattern[0] != name[0])) return false;
  return Matches(pattern.substr(1), name.substr(1));
}

template <class Row, size_t kCount>
const Row* FindRow(const Row (&rows)[kCount], std::string_view name) {
  const auto* found = std::find_if(std::begin(rows), std::end(rows),
                                   [&](const Row& row) { return Matches(row.pattern, name); });
  return found == std::end(rows) ? nullptr : found;
}

const Target* Find(std::string_view name) { return FindRow(kTargets, name); }

// The known targets with names like this one.
std::string Nearest(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Target& target : kTargets) known.push_back(target.pattern);
  std::string list;
  for (int i = 0; i < 3; ++i) {
    const std::string_view near = ClosestName(name, known);
    if (near.empty()) break;
    list += fmt::format("{}'{}'", list.empty() ? "; did you mean " : ", ", near);
    std::erase(known, near);
  }
  return list;
}

std::string Unknown(const Instruction& call) {
  const std::string_view name = call.Get<attr::custom_call_target>();
  constexpr std::string_view kRemedy =
      "supply it with --custom-call-library LIBRARY or --custom-call '{}=FILE.hlo'";
  const std::string remedy = fmt::format(kRemedy, name);
  if (const Opaque* opaque = FindRow(kOpaque, name)) {
    return fmt::format("the target '{}' is {}, which only its own runtime executes; {}", name, opaque->what,
                       remedy);
  }
  return fmt::format("the target '{}' is not known{}; {}; hlo-run ops --custom-calls lists the {} that are",
                     name, Nearest(name), remedy, std::size(kTargets));
}

// Why the module that a user supplies does not fit the call; "" if it does.
std::string ModuleMisfit(const Instruction& call, const Computation& entry) {
  if (static_cast<size_t>(call.operand_count()) != entry.parameters().size()) {
    return fmt::format("has {} operands, but the module that computes '{}' has {} parameters",
                       call.operand_count(), call.Get<attr::custom_call_target>(), entry.parameters().size());
  }
  for (int64_t i = 0; i < call.operand_count(); ++i) {
    const Shape &given = call.operand(i)->shape(), &taken = entry.parameter(i)->shape();
    if (!Compatible(given, taken)) {
      return fmt::format("operand {} is {}, but parameter {} of the module that computes it is {}", i,
                         ToString(given), i, ToString(taken));
    }
  }
  if (Compatible(call.shape(), entry.root()->shape())) return "";
  return fmt::format("the module that computes it gives {}", ToString(entry.root()->shape()));
}

}  // namespace
}  // namespace custom

std::string CustomCallObstacle(const Instruction& call, const CustomCalls* custom_calls) {
  const std::string_view name = call.Get<attr::custom_call_target>();
  if (const Computation* supplied = SuppliedComputation(call, custom_calls))
    return custom::ModuleMisfit(call, *supplied);
  if (custom_calls != nullptr && custom_calls->FindFunction(name)) return "";
  const custom::Target* target = custom::Find(name);
  if (target == nullptr) return custom::Unknown(call);
  if (!target->signature.empty()) {
    std::string misfit = custom::Misfit(call, target->signature);
    if (!misfit.empty()) return misfit;
  }
  return target->misfit == nullptr ? "" : target->misfit(call);
}

absl::StatusOr<Literal> CustomCall(OpContext& context) {
  const std::string_view name = context.instruction.Get<attr::custom_call_target>();
  const CustomCalls* custom_calls = context.caller.custom_calls();
  if (const Computation* supplied = SuppliedComputation(context.instruction, custom_calls))
    return context.caller.Call(*supplied, context.operands);
  if (custom_calls != nullptr) {
    if (const CustomCallFunction function = custom_calls->FindFunction(name)) {
      HLO_ASSIGN_OR_RETURN(Literal value, function(context.instruction, context.operands));
      if (Compatible(value.shape(), context.shape())) return value;
      return absl::FailedPreconditionError(fmt::format("the function of '{}' gives {}, expected {}", name,
                                                       ToString(value.shape()), ToString(context.shape())));
    }
  }
  const custom::Target* target = custom::Find(name);
  HLO_CHECK(target != nullptr);
  return target->op(context);
}

}  // namespace hlo::reference

namespace hlo {

std::vector<KnownCustomCall> KnownCustomCalls() {
  std::vector<KnownCustomCall> known;
  for (const auto& target : reference::custom::kTargets) known.push_back({target.pattern, target.signature});
  return known;
}

}  // namespace hlo
