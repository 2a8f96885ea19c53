// Computations (text-format 9.5).

#include <utility>

#include "ir/printer.h"

namespace hlo {
namespace {

// Bodies in bodies double the text with every level: past these, canonical text has names in their place.
constexpr int64_t kMaxBodyDepth = 100;
constexpr size_t kMaxBodyText = size_t{256} << 20;

}  // namespace

void Printer::PutSignature(const Computation& computation) {
  Put('(');
  bool first = true;
  for (const Instruction* parameter : computation.parameters()) {
    if (parameter == nullptr) continue;
    if (!std::exchange(first, false)) Put(", ");
    Put(parameter->name());
    Put(": ");
    AppendShape(parameter->shape(), {}, &out_);
  }
  Put(") -> ");
  if (computation.root() != nullptr) AppendShape(computation.root()->shape(), {}, &out_);
  Put(' ');
}

void Printer::PutBody(const Computation& computation, absl::Span<Instruction* const> order) {
  std::vector<int32_t> outer = std::move(numbers_);
  numbers_.clear();
  if (style_.bodies) {
    numbers_.resize(computation.instructions().size());
    for (size_t i = 0; i < order.size(); ++i) numbers_[order[i]->index()] = static_cast<int32_t>(i);
  }
  Put("{\n");
  ++indent_;
  for (const Instruction* i : order) {
    PutIndent();
    if (i == computation.root()) Put("ROOT ");
    PutStatement(*i);
    Put('\n');
  }
  --indent_;
  PutIndent();
  Put('}');
  if (style_.module_names && computation.execution_thread() != "main") {
    Put(", execution_thread=");
    PutQuoted(computation.execution_thread());
  }
  numbers_ = std::move(outer);
}

void Printer::PrintComputation(const Computation& computation) {
  PutIndent();
  if (computation.IsEntry()) Put("ENTRY ");
  if (style_.module_names) {
    if (style_.percent) Put('%');
    Put(computation.name());
    Put(' ');
  }
  if (style_.signatures) PutSignature(computation);
  PutBody(computation, order_.Of(computation, /*nested=*/false));
}

void Printer::PutNested(const Computation& computation) {
  if (depth_ >= kMaxBodyDepth || out_.size() >= kMaxBodyText) {
    PutIndent();
    Put(computation.name());
    return;
  }
  ++depth_;
  PutIndent();
  PutBody(computation, order_.Of(computation, /*nested=*/true));
  --depth_;
}

void Printer::FindAsyncCallers() {
  for (const Computation* c : module_.computations()) {
    for (const Instruction* i : c->instructions()) {
      if (i->opcode() == Opcode::kAsyncStart) async_callers_[i->Get<attr::calls>()].push_back(i);
    }
  }
}

bool Printer::IsLeftOut(const Computation& computation) {
  const auto it = async_callers_.find(&computation);
  if (it == async_callers_.end()) return false;
  for (const Instruction* start : it->second) {
    if (SugarOf(*start) == nullptr) return false;
  }
  return true;
}

}  // namespace hlo
