#include "debug/trace/origin_tracker.h"

#include <algorithm>
#include <deque>

#include "absl/container/flat_hash_set.h"
#include "debug/contributions.h"
#include "debug/exposed_run.h"
#include "debug/summary.h"

namespace hlo::debug {
namespace {

bool IsSpecialAt(const Literal& array, int64_t position, SpecialKind kind) {
  return kind == SpecialKind::kNan ? IsNanAt(array, position) : IsInfAt(array, position);
}

int64_t FirstSpecial(const Literal& array, SpecialKind kind) {
  for (int64_t i = 0; i < array.element_count(); ++i) {
    if (IsWithinSizes(array, i) && IsSpecialAt(array, i, kind)) return i;
  }
  return -1;
}

// HoldsSpecial is fast, but also true for infinities in complex NaNs.
bool Holds(const Literal& array, SpecialKind kind) {
  return HoldsSpecial(array, kind == SpecialKind::kNan, kind == SpecialKind::kInf) &&
         FirstSpecial(array, kind) >= 0;
}

int64_t CountSpecials(const Literal& array, SpecialKind kind) {
  const Summary summary = Summarize(array);
  return kind == SpecialKind::kNan ? summary.nans : summary.infinities;
}

}  // namespace

absl::Status OriginTracker::AfterStep(const StepView& step) {
  for (const StepValue& write : step.Writes()) {
    for (const SpecialKind kind : {SpecialKind::kInf, SpecialKind::kNan}) {
      if (Holds(write.value, kind)) Note(step, write, kind);
    }
  }
  return absl::OkStatus();
}

void OriginTracker::Note(const StepView& step, const StepValue& write, SpecialKind kind) {
  Chain& chain = ChainOf(kind);
  const LeafId leaf{write.instruction, write.leaf};
  if (const auto known = chain.event_of.find(leaf); known != chain.event_of.end()) {
    const int32_t origin = chain.events[static_cast<size_t>(known->second)].origin;
    if (origin >= 0) ++origins_[static_cast<size_t>(origin)].later_executions;
    return;
  }
  Event event{.leaf = leaf, .parents = Parents(step, write, kind)};
  const Opcode opcode = write.instruction->opcode();
  const int64_t position = CanMakeSpecials(opcode) ? PositionOfOrigin(step, write, kind) : -1;
  if (position < 0 && event.parents.empty()) event.parents = GivenParents(step, write, kind);
  if (position >= 0) {
    event.origin = static_cast<int32_t>(origins_.size());
    AddOrigin(step, write, kind, position);
  } else if (event.parents.empty()) {
    AddGiven(leaf, write.value, kind, event);
  }
  AddEvent(chain, std::move(event));
}

std::vector<int32_t> OriginTracker::Parents(const StepView& step, const StepValue& write, SpecialKind kind) {
  Chain& chain = ChainOf(kind);
  std::vector<int32_t> parents;
  const auto add = [&](int32_t event) {
    if (event >= 0 && std::find(parents.begin(), parents.end(), event) == parents.end())
      parents.push_back(event);
  };
  if (Info(write.instruction->opcode()).has(kStructural)) {
    for (const LeafId& source : dataflow_.Sources({write.instruction, write.leaf}))
      add(FindEvent(chain, source));
    return parents;
  }
  for (const StepValue& read : step.Reads()) {
    if (Holds(read.value, kind)) add(FindEvent(chain, {read.instruction, read.leaf}));
  }
  // An engine may not list constants and arguments among the reads.
  for (const Instruction* operand : write.instruction->operands()) {
    for (int64_t leaf = 0; parents.empty() && leaf < operand->shape().LeafCount(); ++leaf)
      add(FindEvent(chain, {operand, leaf}));
  }
  return parents;
}

std::vector<int32_t> OriginTracker::GivenParents(const StepView& step, const StepValue& write,
                                                 SpecialKind kind) {
  Chain& chain = ChainOf(kind);
  std::vector<int32_t> parents;
  for (int64_t k = 0; k < write.instruction->operand_count(); ++k) {
    const absl::StatusOr<Literal> operand = step.Operand(k);
    if (!operand.ok()) continue;
    for (const Leaf& leaf : LeavesOf(*operand)) {
      if (!Holds(*leaf.value, kind)) continue;
      const LeafId source = GivenSource({write.instruction->operand(k), leaf.leaf});
      if (source.first == nullptr) continue;
      int32_t number = FindEvent(chain, source);
      if (number < 0) {
        Event event{.leaf = source};
        AddGiven(source, *leaf.value, kind, event);
        number = AddEvent(chain, std::move(event));
      }
      if (std::find(parents.begin(), parents.end(), number) == parents.end()) parents.push_back(number);
    }
  }
  return parents;
}

namespace {

// Visits a leaf and all those whose values it may forward, each once. visit(leaf, sources) returns true if
// the search goes on to the sources of the leaf.
template <class Visit>
void VisitSources(const Dataflow& dataflow, const LeafId& leaf, Visit visit) {
  absl::flat_hash_set<LeafId> seen;
  std::deque<LeafId> work = {leaf};
  while (!work.empty()) {
    const LeafId at = work.front();
    work.pop_front();
    if (at.first == nullptr || !seen.insert(at).second) continue;
    const std::vector<LeafId> sources = dataflow.Sources(at);
    if (visit(at, sources)) work.insert(work.end(), sources.begin(), sources.end());
  }
}

}  // namespace

LeafId OriginTracker::GivenSource(const LeafId& leaf) const {
  std::vector<LeafId> given;
  VisitSources(dataflow_, leaf, [&](const LeafId& at, const std::vector<LeafId>& sources) {
    const Opcode opcode = at.first->opcode();
    if (sources.empty() && (opcode == Opcode::kParameter || opcode == Opcode::kConstant)) given.push_back(at);
    return true;
  });
  return given.size() == 1 ? given[0] : LeafId{nullptr, 0};
}

int32_t OriginTracker::FindEvent(const Chain& chain, const LeafId& leaf) const {
  // A loop forwards its initial value or that of the last iteration, which is later.
  int32_t found = -1;
  VisitSources(dataflow_, leaf, [&](const LeafId& at, const std::vector<LeafId>& /*sources*/) {
    const auto event = chain.event_of.find(at);
    if (event == chain.event_of.end()) return true;
    found = std::max(found, event->second);
    return false;
  });
  return found;
}

int32_t OriginTracker::AddEvent(Chain& chain, Event event) {
  const auto number = static_cast<int32_t>(chain.events.size());
  chain.event_of[event.leaf] = number;
  chain.events.push_back(std::move(event));
  return number;
}

int64_t OriginTracker::PositionOfOrigin(const StepView& step, const StepValue& write,
                                        SpecialKind kind) const {
  const Instruction& instruction = *write.instruction;
  // The operands that hold specials, by their numbers.
  std::vector<std::pair<int64_t, Literal>> special;
  for (int64_t k = 0; k < instruction.operand_count(); ++k) {
    absl::StatusOr<Literal> operand = step.Operand(k);
    if (!operand.ok()) continue;
    for (const Leaf& leaf : LeavesOf(*operand)) {
      if (Holds(*leaf.value, kind)) special.emplace_back(k, *leaf.value);
    }
  }
  const int64_t first = FirstSpecial(write.value, kind);
  for (const auto& [k, operand] : special) {
    if (!ContributesInPart(instruction, k, operand, IndexOf(write.value, first))) return -1;
  }
  constexpr int64_t kMaxInspected = 4096;  // The maximal number of elements; each may be a sum of many terms.
  int64_t looks = 0;
  for (int64_t i = first; i < write.value.element_count() && looks < kMaxInspected; ++i) {
    if (!IsWithinSizes(write.value, i) || !IsSpecialAt(write.value, i, kind)) continue;
    ++looks;
    const bool is_given = std::any_of(special.begin(), special.end(), [&](const auto& each) {
      return ContributionHolds(instruction, each.first, each.second, IndexOf(write.value, i),
                               kind == SpecialKind::kNan);
    });
    if (!is_given) return i;
  }
  return -1;
}

void OriginTracker::AddOrigin(const StepView& step, const StepValue& write, SpecialKind kind,
                              int64_t position) {
  const Instruction& instruction = *write.instruction;
  Origin origin{.kind = kind, .instruction = &instruction, .leaf = write.leaf};
  origin.index = IndexOf(write.value, position);
  origin.value = ElementText(write.value, position);
  for (int64_t k = 0; k < instruction.operand_count(); ++k) {
    const absl::StatusOr<Literal> operand = step.Operand(k);
    if (operand.ok()) origin.operands.push_back(ContributionText(instruction, k, *operand, origin.index));
  }
  origin.loops = step.loops();
  origin.callers = dataflow_.CallStack(*instruction.parent());
  origin.count = CountSpecials(write.value, kind);
  bool reads_infinity = false;
  for (int64_t k = 0; kind == SpecialKind::kNan && k < instruction.operand_count(); ++k) {
    const absl::StatusOr<Literal> operand = step.Operand(k);
    reads_infinity = reads_infinity || (operand.ok() && ContributionHolds(instruction, k, *operand,
                                                                          origin.index, /*nans=*/false));
  }
  if (reads_infinity) {
    for (const int32_t event : Parents(step, write, SpecialKind::kInf)) {
      const Event& cause = ChainOf(SpecialKind::kInf).events[static_cast<size_t>(event)];
      origin.causes.push_back(cause.leaf.first);
    }
  }
  origins_.push_back(std::move(origin));
}

void OriginTracker::AddGiven(const LeafId& leaf, const Literal& value, SpecialKind kind, Event& event) {
  event.given = static_cast<int32_t>(given_.size());
  given_.push_back({.kind = kind,
                    .instruction = leaf.first,
                    .leaf = leaf.second,
                    .index = IndexOf(value, FirstSpecial(value, kind))});
}

// Sets the path of each origin that the event descends from: the shortest one, found breadth-first.
void OriginTracker::SetPath(const Chain& chain, int32_t end, int64_t leaf) {
  absl::flat_hash_map<int32_t, int32_t> next = {{end, -1}};
  std::deque<int32_t> work = {end};
  while (!work.empty()) {
    const int32_t at = work.front();
    work.pop_front();
    const Event& event = chain.events[static_cast<size_t>(at)];
    std::vector<const Instruction*> path;
    for (int32_t on = at; on >= 0; on = next.at(on))
      path.push_back(chain.events[static_cast<size_t>(on)].leaf.first);
    if (event.origin >= 0) {
      Origin& origin = origins_[static_cast<size_t>(event.origin)];
      if (origin.path.empty()) origin.path = path, origin.result = leaf;
    } else if (event.given >= 0) {
      GivenSpecial& given = given_[static_cast<size_t>(event.given)];
      if (given.path.empty()) given.path = path, given.result = leaf;
    }
    for (const int32_t parent : event.parents) {
      if (next.emplace(parent, at).second) work.push_back(parent);
    }
  }
}

// Origins that reach no result end at the last event that descends from them.
void OriginTracker::SetEndOfPath(const Chain& chain) {
  std::vector<int32_t> last(chain.events.size());
  for (auto event = static_cast<int32_t>(last.size()) - 1; event >= 0; --event) {
    const auto at = static_cast<size_t>(event);
    last[at] = std::max(last[at], event);
    for (const int32_t parent : chain.events[at].parents) {
      int32_t& end = last[static_cast<size_t>(parent)];
      end = std::max(end, last[at]);
    }
  }
  for (size_t at = 0; at < last.size(); ++at) {
    const Event& event = chain.events[at];
    const bool has_no_path =
        (event.origin >= 0 && origins_[static_cast<size_t>(event.origin)].path.empty()) ||
        (event.given >= 0 && given_[static_cast<size_t>(event.given)].path.empty());
    if (has_no_path) SetPath(chain, last[at], -1);
  }
}

void OriginTracker::SetWays(const Literal& result) {
  const Instruction* root = module_.entry()->root();
  for (const SpecialKind kind : {SpecialKind::kNan, SpecialKind::kInf}) {
    const Chain& chain = ChainOf(kind);
    for (const Leaf& leaf : LeavesOf(result)) {
      if (!Holds(*leaf.value, kind)) continue;
      const int32_t end = FindEvent(chain, {root, leaf.leaf});
      if (end >= 0) SetPath(chain, end, leaf.leaf);
    }
    SetEndOfPath(chain);
  }
}

OriginReport OriginTracker::Report(const Literal& result, const OriginOptions& options) {
  SetWays(result);
  const auto is_wanted = [&](SpecialKind kind) {
    return kind == SpecialKind::kNan ? options.nans : options.infinities;
  };
  OriginReport report;
  for (Origin& origin : origins_) {
    if (is_wanted(origin.kind)) report.origins.push_back(std::move(origin));
  }
  for (GivenSpecial& given : given_) {
    if (is_wanted(given.kind)) report.given.push_back(std::move(given));
  }
  for (const SpecialKind kind : {SpecialKind::kNan, SpecialKind::kInf}) {
    for (const Leaf& leaf : LeavesOf(result)) {
      if (!is_wanted(kind) || !Holds(*leaf.value, kind)) continue;
      report.results.push_back({.kind = kind,
                                .leaf = leaf.leaf,
                                .index = IndexOf(*leaf.value, FirstSpecial(*leaf.value, kind)),
                                .count = CountSpecials(*leaf.value, kind)});
    }
  }
  return report;
}

}  // namespace hlo::debug
