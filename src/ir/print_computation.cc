// Prints computations (text-format 9.5).

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "ir/printer.h"

namespace hlo {
namespace {

// Nested bodies can double the text at every level; beyond these limits canonical text uses names instead.
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
  // The reader accepts no thread after a nested body, but XLA prints it.
  const bool can_have_thread = style_.module_names && (depth_ == 0 || style_.as_xla);
  if (can_have_thread && computation.execution_thread() != "main") {
    Put(", execution_thread=");
    PutQuoted(computation.execution_thread());
  }
  numbers_ = std::move(outer);
}

void Printer::PrintComputation(const Computation& computation) {
  PutIndent();
  if (computation.IsEntry()) Put("ENTRY ");
  if (style_.module_names) {
    PutName(NameOf(computation));
    Put(' ');
  }
  if (style_.signatures) PutSignature(computation);
  PutBody(computation, order_.Of(computation, /*nested=*/false));
}

void Printer::PutNested(const Computation& computation) {
  if (depth_ >= kMaxBodyDepth || out_.size() >= kMaxBodyText) {
    PutIndent();
    PutName(NameOf(computation));
    return;
  }
  ++depth_;
  PutIndent();
  PutBody(computation, order_.Of(computation, /*nested=*/true));
  --depth_;
}

void Printer::NameBodies() {
  const auto unnamed = [](const Computation* c) { return c->is_nested() || c->is_async_wrapper(); };
  absl::Span<Computation* const> all = module_.computations();
  if (std::none_of(all.begin(), all.end(), unnamed)) return;
  absl::flat_hash_set<std::string> taken;
  for (const Computation* c : all) {
    if (!unnamed(c)) taken.emplace(c->name());
  }
  absl::flat_hash_map<std::string_view, int64_t> next;
  for (const Computation* c : all) {
    if (!unnamed(c) || taken.emplace(c->name()).second) continue;
    std::string name;
    do name = fmt::format("{}.{}", c->name(), ++next[c->name()]);
    while (!taken.insert(name).second);
    body_names_.emplace(c, std::move(name));
  }
}

std::string_view Printer::NameOf(const Computation& computation) {
  if (!std::exchange(has_body_names_, true)) NameBodies();
  const auto it = body_names_.find(&computation);
  return it == body_names_.end() ? computation.name() : std::string_view(it->second);
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
