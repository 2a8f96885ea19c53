// Checks chains of async-start, async-update and async-done and their computations (shape-rules 3.27, 4.7).

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/counted.h"
#include "check/interface.h"
#include "check/module_context.h"
#include "check/support.h"
#include "ir/async.h"

namespace hlo::check {
namespace {

constexpr std::string_view kShapes = "3.27";
constexpr std::string_view kPairs = "4.7";

bool IsOpen(const Instruction& i) {
  return i.opcode() == Opcode::kAsyncStart || i.opcode() == Opcode::kAsyncUpdate;
}

bool IsAsyncShape(const Shape& shape) {
  return shape.IsTuple() && shape.elements().size() >= 2 && shape.element(0).IsTuple();
}

class Chains {
 public:
  Chains(ModuleContext& context, InstructionSpan async) : context_(context), async_(async) {}

  void Check() {
    for (const Instruction* instruction : async_) {
      if (context_.diagnostics.full()) return;
      if (IsOpen(*instruction)) CheckUsers(*instruction);
      if (instruction->opcode() == Opcode::kAsyncStart)
        CheckBody(*instruction);
      else
        CheckLink(*instruction);
    }
    for (const Instruction* instruction : async_) {
      if (IsOpen(*instruction) && !finished_.contains(instruction)) CheckIsCarried(*instruction);
    }
  }

 private:
  // Checks that all users of a start or update forward or finish it.
  void CheckUsers(const Instruction& open) {
    for (const Instruction* user : context_.UsersIn(*open.parent()).Of(open)) {
      const auto extra = user->operands().empty() ? user->operands() : user->operands().subspan(1);
      if (MayUse(*user) && !(Info(user->opcode()).has(kAsync) &&
                             std::find(extra.begin(), extra.end(), &open) != extra.end())) {
        continue;
      }
      context_.At(open)
          .ErrorIfStrict(open.name_range(), kPairs, "'{}' is not finished yet, but {} '{}' uses it",
                         open.name(), Name(user->opcode()), user->name())
          .Note(user->name_range(), "'{}'", user->name());
    }
  }

  static bool MayUse(const Instruction& user) {
    const Opcode opcode = user.opcode();
    return opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone || opcode == Opcode::kCall ||
           opcode == Opcode::kConditional || opcode == Opcode::kDomain || IsIntermediary(user);
  }

  // On the main thread XLA requires exactly one instruction that is not a parameter.
  void CheckBody(const Instruction& start) {
    const Computation* body = start.Get<attr::calls>();
    if (body == nullptr) return;
    const std::string_view thread = start.Get<attr::async_execution_thread>("main");
    if (thread != "main" || HasGroupMarker(start) || !checked_bodies_.insert(body).second) return;
    bool only_parameters = true, only_elements = true;
    for (const Instruction* instruction : body->instructions()) {
      if (instruction == body->root() || instruction->opcode() == Opcode::kParameter) continue;
      only_parameters = false;
      only_elements &= instruction->opcode() == Opcode::kGetTupleElement;
    }
    if (only_parameters || only_elements) return;
    context_.At(start).ErrorIfStrict(
        start.range_of<attr::calls>(), kPairs,
        "'{}' runs on thread 'main' and so should be one instruction with its parameters", body->name());
  }

  static bool HasGroupMarker(const Instruction& start) {
    const FrontendAttributes* attributes = start.Get<attr::frontend_attributes>();
    if (attributes == nullptr) return false;
    return std::any_of(attributes->entries.begin(), attributes->entries.end(),
                       [](const KeyValue& entry) { return entry.key == "_collectives_group"; });
  }

  // Checks the operand of an update or done and finds the start of its chain.
  void CheckLink(const Instruction& link) {
    if (link.operand_count() == 0) return;
    const Instruction* producer = context_.tracer.FindProducer(*link.operand(0));
    if (producer == nullptr && context_.tracer.exhausted()) return;
    if (producer == nullptr || !IsOpen(*producer)) {
      context_.At(link).OperandError(0, kPairs, "{} must take what an async-start makes, but '{}' is a {}",
                                     Name(link.opcode()), link.operand(0)->name(),
                                     Name(link.operand(0)->opcode()));
      return;
    }
    const Instruction* start = FindStart(link, *producer);
    const Computation* called = start != nullptr ? start->Get<attr::calls>() : nullptr;
    if (called == nullptr || called->root() == nullptr) return;
    CheckNamedComputation(link, *start, *called);
    if (!IsAsyncShape(producer->shape())) return;
    if (link.opcode() == Opcode::kAsyncDone)
      CheckDone(link, *producer, *called);
    else
      CheckUpdate(link, *called);
  }

  const Instruction* FindStart(const Instruction& link, const Instruction& producer) {
    const bool is_done = link.opcode() == Opcode::kAsyncDone;
    const Instruction* at = &producer;
    while (at != nullptr && IsOpen(*at) && context_.tracer.Step()) {
      if (is_done) finished_.insert(at);
      if (at->opcode() == Opcode::kAsyncStart) break;
      at = at->operand_count() == 0 ? nullptr : context_.tracer.FindProducer(*at->operand(0));
    }
    if (at == nullptr || at->opcode() != Opcode::kAsyncStart) return nullptr;
    if (is_done) {
      const auto [it, fresh] = done_of_.emplace(at, &link);
      if (!fresh) {
        context_.At(link)
            .ErrorIfStrict(link.name_range(), kPairs, "'{}' finishes '{}', but so does '{}'", link.name(),
                           at->name(), it->second->name())
            .Note(it->second->name_range(), "'{}'", it->second->name());
      }
    }
    return at;
  }

  // Checks `calls` of an update or done, which is optional in text.
  void CheckNamedComputation(const Instruction& link, const Instruction& start, const Computation& called) {
    const Computation* named = link.Get<attr::calls>();
    if (named == nullptr || named == &called || named->root() == nullptr) return;
    RuleContext c = context_.At(link);
    const SourceRange at = link.range_of<attr::calls>();
    if (!SameSignature(*named, called)) {
      c.Error(at, kShapes, "{} names '{}', but its start '{}' calls '{}'", Name(link.opcode()), named->name(),
              start.name(), called.name())
          .Note(start.name_range(), "'{}'", start.name());
    } else if (start.parent() == link.parent()) {
      c.ErrorIfStrict(at, kShapes, "{} names '{}', but its start '{}' calls '{}': that one runs",
                      Name(link.opcode()), named->name(), start.name(), called.name())
          .Note(start.name_range(), "'{}'", start.name());
    } else {
      c.Warning(at, kShapes, "{} names '{}', but its start '{}' calls '{}' of the same signature",
                Name(link.opcode()), named->name(), start.name(), called.name());
    }
  }

  void CheckDone(const Instruction& done, const Instruction& producer, const Computation& called) {
    RuleContext c = context_.At(done);
    switch (MatchOf(done.shape(), called.root()->shape(), context_.options)) {
      case Fit::kSame:
        break;
      case Fit::kLayoutDiffers:
        c.ErrorIfStrict(done.shape_range(), kShapes, "'{}' returns {}, but async-done declares {}",
                        called.name(), LayoutText(called.root()->shape()), LayoutText(done.shape()));
        break;
      case Fit::kDiffers:
        c.Error(done.shape_range(), kShapes, "'{}' returns {}, but async-done declares {}", called.name(),
                Text(called.root()->shape()), Text(done.shape()))
            .Note(called.root()->name_range(), "the root of '{}'", called.name());
    }
    const absl::Span<const Shape> bound = producer.shape().element(0).elements();
    const bool complete =
        std::equal(bound.begin(), bound.end(), called.parameters().begin(), called.parameters().end(),
                   [](const Shape& shape, const Instruction* parameter) {
                     return Compatible(shape, parameter->shape());
                   });
    if (complete) return;
    c.OperandError(0, kShapes, "'{}' takes {}, but those bound so far are {}", called.name(),
                   Counted(called.parameters().size(), "parameter"), Text(producer.shape().element(0)));
  }

  void CheckUpdate(const Instruction& update, const Computation& called) {
    const Shape& before = update.operand(0)->shape();
    const Shape& after = update.shape();
    if (!IsAsyncShape(before) || !IsAsyncShape(after)) return;
    RuleContext c = context_.At(update);
    if (!IsPrefix(before.element(0), after.element(0)) || !IsPrefix(before.element(1), after.element(1))) {
      c.Error(update.shape_range(), kShapes, "async-update declares {}, which does not extend {}",
              Text(after), Text(before));
      return;
    }
    const absl::Span<const Shape> bound = after.element(0).elements();
    bool fits =
        bound.size() <= called.parameters().size() && IsPrefix(after.element(1), called.root()->shape());
    for (size_t i = 0; fits && i < bound.size(); ++i)
      fits = IsPrefix(bound[i], called.parameters()[i]->shape());
    if (!fits) {
      c.Error(update.shape_range(), kShapes, "async-update declares {}, which does not fit '{}'", Text(after),
              called.name())
          .Note(called.name_range(), "'{}' is defined here", called.name());
      return;
    }
    const size_t old_count = before.element(0).elements().size();
    if (bound.size() - old_count + 1 != static_cast<size_t>(update.operand_count())) {
      c.Error({}, kShapes, "async-update binds {} more parameters, but has {} more operands",
              bound.size() - old_count, update.operand_count() - 1);
      return;
    }
    for (int64_t i = 1; i < update.operand_count(); ++i) {
      const Shape& slot = bound[old_count + static_cast<size_t>(i) - 1];
      if (Compatible(c.operand(i), slot)) continue;
      c.OperandError(i, kShapes, "operand {} is {}, but async-update binds {}", i, Text(c.operand(i)),
                     Text(slot));
    }
  }

  // Checks that a start without a done is passed to a loop or to the next iteration of one.
  void CheckIsCarried(const Instruction& open) {
    const Users& users = context_.UsersIn(*open.parent());
    const bool in_loop = context_.calls.LoopOf(*open.parent()) != nullptr;
    absl::flat_hash_set<const Instruction*> seen = {&open};
    std::vector<const Instruction*> next = {&open};
    while (!next.empty() && context_.tracer.Step()) {
      const Instruction* at = next.back();
      next.pop_back();
      if (at->opcode() == Opcode::kWhile || (in_loop && at == at->parent()->root())) return;
      for (const Instruction* user : users.Of(*at)) {
        if (ForwardsHandle(*user) && seen.insert(user).second) next.push_back(user);
      }
    }
    if (context_.tracer.exhausted()) return;
    context_.At(open).ErrorIfStrict(open.name_range(), kPairs, "nothing finishes {} '{}'",
                                    Name(open.opcode()), open.name());
  }

  static bool ForwardsHandle(const Instruction& user) {
    const Opcode opcode = user.opcode();
    return opcode == Opcode::kAsyncUpdate || opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement ||
           opcode == Opcode::kOptBarrier || opcode == Opcode::kDomain || opcode == Opcode::kCall ||
           opcode == Opcode::kConditional || opcode == Opcode::kWhile;
  }

  ModuleContext& context_;
  InstructionSpan async_;
  absl::flat_hash_set<const Instruction*> finished_;
  absl::flat_hash_map<const Instruction*, const Instruction*> done_of_;
  absl::flat_hash_set<const Computation*> checked_bodies_;
};

}  // namespace

void CheckAsyncChains(ModuleContext& context, InstructionSpan async) { Chains(context, async).Check(); }

}  // namespace hlo::check
