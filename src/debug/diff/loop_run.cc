#include "debug/diff/loop_run.h"

#include "base/status.h"

namespace hlo::debug {
namespace {

// Rebuilds a value from its leaves.
Literal FromLeaves(const Shape& shape, const std::vector<Literal>& leaves, size_t& next) {
  if (!shape.IsTuple()) return leaves[next++];
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(FromLeaves(element, leaves, next));
  return Literal::Tuple(std::move(elements));
}

}  // namespace

std::vector<Literal> LeavesIn(const Literal& value) {
  if (!value.shape().IsTuple()) return {value};
  std::vector<Literal> leaves;
  for (const Literal& element : value.elements()) {
    for (Literal& leaf : LeavesIn(element)) leaves.push_back(std::move(leaf));
  }
  return leaves;
}

std::vector<LeafId> SourcesOf(const Instruction& value) {
  std::vector<LeafId> sources;
  for (int64_t leaf = 0; leaf < value.shape().LeafCount(); ++leaf)
    sources.push_back(ForwardedLeaf({&value, leaf}));
  return sources;
}

absl::StatusOr<LoopRun> LoopRun::Make(const FlatModule& flat, const Instruction& loop, const Literal& state,
                                      const DiffOptions& options) {
  const auto make = [&](const Computation& computation) {
    return Function::Make(flat.source(), computation, options.engine, options.evaluate);
  };
  HLO_ASSIGN_OR_RETURN(Function condition, make(*loop.Get<attr::condition>()));
  HLO_ASSIGN_OR_RETURN(Function body, make(*loop.Get<attr::body>()));
  return LoopRun(flat, loop, std::move(condition), std::move(body), LeavesIn(state), options);
}

LoopRun::LoopRun(const FlatModule& flat, const Instruction& loop, Function condition, Function body,
                 std::vector<Literal> state, const DiffOptions& options)
    : state(std::move(state)),
      flat_(flat),
      loop_(loop),
      condition_(std::move(condition)),
      body_(std::move(body)),
      options_(options) {}

absl::StatusOr<bool> LoopRun::Runs() {
  HLO_ASSIGN_OR_RETURN(const Literal runs, condition_.Call(State(), options_.evaluate));
  return IsTrue(runs);
}

absl::StatusOr<std::vector<Literal>> LoopRun::Next() {
  HLO_ASSIGN_OR_RETURN(const Literal next, body_.Call(State(), options_.evaluate));
  return LeavesIn(next);
}

Callee LoopRun::ConditionOf() const {
  return {flat_, *loop_.Get<attr::condition>(), SourcesOf(*loop_.operand(0))};
}

Callee LoopRun::BodyOf() const { return {flat_, *loop_.Get<attr::body>(), SourcesOf(*loop_.operand(0))}; }

Literal LoopRun::State() const {
  size_t next = 0;
  return FromLeaves(loop_.shape(), state, next);
}

}  // namespace hlo::debug
