// Checks buffers, which are handles to memory that is updated in place: allowed uses and writers (shape-rules
// 4.8).

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "check/interface.h"
#include "check/module_context.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kBufferRule = "4.8";

using BufferPath = std::vector<int64_t>;

// Calls visit(path) for each buffer in `shape`.
template <class F>
void EachBuffer(const Shape& shape, BufferPath* path, const F& visit) {
  if (shape.IsBuffer()) return visit(*path);
  if (!shape.IsTuple()) return;
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    path->push_back(static_cast<int64_t>(i));
    EachBuffer(shape.element(static_cast<int64_t>(i)), path, visit);
    path->pop_back();
  }
}

bool AnyOperandHasBuffer(const Instruction& i) {
  return std::any_of(i.operands().begin(), i.operands().end(),
                     [](const Instruction* operand) { return HasBuffer(operand->shape()); });
}

// True if `buffer` is the buffer of `array`.
bool Wraps(RuleContext& c, const Shape& buffer, const Shape& array) {
  return buffer.IsBuffer() && array.IsArray() &&
         Equal(buffer.element(0), array, {.ignore_layout = !c.options().layout_sensitive});
}

void CheckPin(RuleContext& c, bool pin) {
  const Instruction& call = c.instruction();
  const std::string_view target = call.Get<attr::custom_call_target>();
  const bool fits = call.operand_count() == 1 &&
                    (pin ? Wraps(c, call.shape(), c.operand(0)) : Wraps(c, c.operand(0), call.shape()));
  if (!fits) {
    c.Error(call.shape_range(), kBufferRule,
            "{} takes one {} and gives the {} of its shape, but it gives {}{}", target,
            pin ? "array" : "buffer", pin ? "buffer" : "array", Text(call.shape()),
            call.operand_count() == 1 ? " of " + Text(c.operand(0)) : "");
  }
  const size_t aliases = call.Get<attr::output_to_operand_aliasing>().size();
  if (aliases != 1) {
    c.Error(call.range_of<attr::output_to_operand_aliasing>(), kBufferRule,
            "{} must alias its operand once, but has {} aliases", target, aliases);
  }
}

// Requires each buffer operand and result to be in exactly one alias.
void CheckInputOutputAliases(RuleContext& c) {
  const Instruction& call = c.instruction();
  // The key is an operand number, or -1 for the result.
  std::map<std::pair<int64_t, BufferPath>, int64_t> uses;
  for (const OutputOperandAlias& alias : call.Get<attr::output_to_operand_aliasing>()) {
    ++uses[{-1, {alias.output_index.begin(), alias.output_index.end()}}];
    if (alias.operand >= 0) ++uses[{alias.operand, {alias.operand_index.begin(), alias.operand_index.end()}}];
  }
  BufferPath path;
  for (int64_t i = -1; i < call.operand_count(); ++i) {
    EachBuffer(i < 0 ? call.shape() : c.operand(i), &path, [&](const BufferPath& at) {
      const auto it = uses.find({i, at});
      const int64_t count = it == uses.end() ? 0 : it->second;
      if (count == 1) return;
      c.Error(call.range_of<attr::output_to_operand_aliasing>(), kBufferRule,
              "buffer {} of {} must be in exactly one alias, but it is in {}", Text(at),
              i < 0 ? std::string("the result") : fmt::format("operand {}", i), count);
    });
  }
}

bool IsCreateBuffer(const Instruction& i) {
  return i.opcode() == Opcode::kCustomCall && i.Get<attr::custom_call_target>() == "CreateBuffer";
}

void CheckCustomCall(RuleContext& c) {
  const Instruction& call = c.instruction();
  const std::string_view target = call.Get<attr::custom_call_target>();
  if (target == "Pin") return CheckPin(c, /*pin=*/true);
  if (target == "Unpin") return CheckPin(c, /*pin=*/false);
  if (!IsCreateBuffer(call)) return CheckInputOutputAliases(c);
  if (call.operand_count() == 0 && call.shape().IsBuffer()) return;
  c.Error(call.shape_range(), kBufferRule,
          "CreateBuffer takes no operands and gives a buffer, but it gives {} of {}", Text(call.shape()),
          Counted(call.operand_count(), "operand"));
}

bool HasStreamAnnotation(const Instruction& call) {
  const FrontendAttributes* attributes = call.Get<attr::frontend_attributes>();
  if (attributes == nullptr) return false;
  return std::any_of(attributes->entries.begin(), attributes->entries.end(),
                     [](const KeyValue& entry) { return entry.key == "_xla_stream_annotation"; });
}

void CheckUpdateSlice(RuleContext& c) {
  for (int64_t i = 1; i < c.operand_count(); ++i) {
    if (!HasBuffer(c.operand(i))) continue;
    c.OperandError(i, kBufferRule,
                   "only operand 0 of dynamic-update-slice may be a buffer, but operand {} is {}", i,
                   Text(c.operand(i)));
  }
  if (c.operand_count() > 0 && c.operand(0).IsBuffer() != c.declared().IsBuffer()) {
    c.Error(c.instruction().shape_range(), kBufferRule,
            "dynamic-update-slice of {} gives a buffer, but it declares {}", Text(c.operand(0)),
            Text(c.declared()));
  }
}

// Checks that the instruction is allowed to use buffers.
void CheckUse(ModuleContext& context, const Instruction& instruction) {
  RuleContext c = context.At(instruction);
  switch (instruction.opcode()) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kWhile:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return;
    case Opcode::kCustomCall:
      return CheckCustomCall(c);
    case Opcode::kDynamicUpdateSlice:
      return CheckUpdateSlice(c);
    case Opcode::kParameter:
      if (!instruction.parent()->IsEntry()) return;
      c.Error(instruction.shape_range(), kBufferRule,
              "a parameter of the entry must not hold a buffer, but '{}' is {}", instruction.name(),
              Text(instruction.shape()));
      return;
    case Opcode::kCall:
      if (HasStreamAnnotation(instruction)) return;
      c.Error({}, kBufferRule, "a call with buffers needs the frontend attribute _xla_stream_annotation");
      return;
    default:
      c.Error({}, kBufferRule, "{} must not handle buffers", Name(instruction.opcode()));
  }
}

// Checks that each buffer has a single writer.

struct BufferPlace {
  const Instruction* instruction;
  BufferPath path;
};

class Writers {
 public:
  Writers(ModuleContext& context, const Computation& computation)
      : context_(context),
        users_(context.UsersIn(computation)),
        in_loop_(context.calls.LoopOf(computation) != nullptr) {}

  // Reports the buffer at `path` of `producer` if it has more than one writer.
  void Check(const Instruction& producer, const BufferPath& path) {
    writers_.clear();
    open_ = {{&producer, path}};
    while (!open_.empty() && context_.tracer.Step()) {
      const BufferPlace place = std::move(open_.back());
      open_.pop_back();
      for (const Instruction* user : users_.Of(*place.instruction)) Visit(*user, place);
    }
    if (writers_.size() < 2) return;
    Diagnostic& error = context_.At(producer).Error(
        producer.name_range(), kBufferRule,
        "the buffer that '{}' makes is written {} times, by '{}' and '{}'", producer.name(), writers_.size(),
        writers_[0]->name(), writers_[1]->name());
    for (size_t i = 0; i < 2; ++i) error.Note(writers_[i]->name_range(), "'{}'", writers_[i]->name());
  }

 private:
  void Visit(const Instruction& user, const BufferPlace& place) {
    switch (user.opcode()) {
      case Opcode::kGetTupleElement:
        if (!place.path.empty() && user.Get<attr::index>() == place.path[0]) {
          open_.push_back({&user, BufferPath(place.path.begin() + 1, place.path.end())});
        }
        return;
      case Opcode::kTuple:
        if (in_loop_ && user.parent()->root() == &user) writers_.push_back(&user);
        for (int64_t i = 0; i < user.operand_count(); ++i) {
          if (user.operand(i) != place.instruction) continue;
          BufferPath path = {i};
          path.insert(path.end(), place.path.begin(), place.path.end());
          open_.push_back({&user, std::move(path)});
        }
        return;
      case Opcode::kCall:
      case Opcode::kCustomCall:
      case Opcode::kFusion:
      case Opcode::kWhile:
      case Opcode::kConditional:
      case Opcode::kDynamicUpdateSlice:
        writers_.push_back(&user);
        return;
      default:
        return;
    }
  }

  ModuleContext& context_;
  const Users& users_;
  const bool in_loop_;
  std::vector<BufferPlace> open_;
  std::vector<const Instruction*> writers_;
};

bool MakesBuffer(const Instruction& i) {
  return i.opcode() == Opcode::kCustomCall || i.opcode() == Opcode::kParameter ||
         i.opcode() == Opcode::kWhile || i.opcode() == Opcode::kDynamicUpdateSlice;
}

}  // namespace

void CheckBuffers(ModuleContext& context, const Computation& computation) {
  if (context.calls.IsAsync(computation)) {
    const Instruction& root = *computation.root();
    if (root.opcode() == Opcode::kCustomCall && (HasBuffer(root.shape()) || AnyOperandHasBuffer(root))) {
      CheckUse(context, root);
    }
    return;
  }
  Writers writers(context, computation);
  BufferPath path;
  for (const Instruction* instruction : computation.instructions()) {
    const bool makes = HasBuffer(instruction->shape());
    if (makes || AnyOperandHasBuffer(*instruction) || IsCreateBuffer(*instruction))
      CheckUse(context, *instruction);
    if (!makes || !MakesBuffer(*instruction)) continue;
    EachBuffer(instruction->shape(), &path, [&](const BufferPath& at) { writers.Check(*instruction, at); });
  }
}

}  // namespace hlo::check
