// Makes names unique as XLA does when it builds a module (text-format 3.6).

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/arena.h"
#include "hlo_run/element_type.h"
#include "ir/as_xla.h"

namespace hlo {
namespace {

class Uniquer {
 public:
  explicit Uniquer(Arena& arena) : arena_(arena) {}

  // Returns a unique `root.N`, where N is the number after the last dot of the name; a name without one
  // counts as N = 0.
  std::string_view Take(std::string_view name) {
    std::string_view root = name;
    int64_t number = 0;
    bool has_number = false;
    const size_t dot = name.rfind('.');
    if (dot != std::string_view::npos && dot > 0) {
      const std::string_view tail = name.substr(dot + 1);
      int64_t value;
      if (absl::SimpleAtoi(absl::string_view(tail.data(), tail.size()), &value)) {
        root = name.substr(0, dot);
        number = value;
        has_number = true;
      }
    }
    Used& used = used_[root];
    if (!used.numbers.insert(number).second) {
      while (!used.numbers.insert(used.next).second) ++used.next;
      number = used.next;
      has_number = true;
    }
    if (!has_number) return name;
    const std::string unique = absl::StrCat(absl::string_view(root.data(), root.size()), ".", number);
    return unique == name ? name : arena_.Copy(std::string_view(unique));
  }

 private:
  struct Used {
    absl::flat_hash_set<int64_t> numbers;
    int64_t next = 0;
  };
  Arena& arena_;
  absl::flat_hash_map<std::string_view, Used> used_;
};

bool IsTypeName(std::string_view name) {
  return ParseElementType(name) || name == "token" || name == "opaque";
}

// Text may give a computation any name; XLA renames those that it would not generate.
std::string_view Sanitize(std::string_view name, Arena& arena) {
  std::string text(name);
  if (IsTypeName(name)) text.push_back('_');
  if (name.starts_with("__") && !name.starts_with("__xla_")) text.replace(0, 2, "a_");
  return text == name ? name : arena.Copy(std::string_view(text));
}

// XLA names the computation of a sugared async-start itself.
std::string_view RequestedName(const Instruction& i) {
  if (!i.parent()->is_async_wrapper()) return i.name();
  return i.opcode() == Opcode::kParameter ? "async_param" : Name(i.opcode());
}

}  // namespace

void MakeNamesUniqueAsXla(Module& module) {
  Uniquer computations(module.arena()), instructions(module.arena());
  std::vector<Computation*> order(module.computations().begin(), module.computations().end());
  // Text of a single instruction has an unnamed entry, which XLA creates before the nested bodies.
  if (module.entry() != nullptr && module.source() != nullptr && !module.entry()->name_range().known()) {
    const auto entry = std::find(order.begin(), order.end(), module.entry());
    if (entry != order.end()) std::rotate(order.begin(), entry, entry + 1);
  }
  for (Computation* c : order) {
    const std::string_view wish =
        c->is_async_wrapper() ? "async_wrapped" : Sanitize(c->name(), module.arena());
    InstructionEditor::SetName(*c, computations.Take(wish));
    for (Instruction* i : c->instructions())
      InstructionEditor::SetName(*i, instructions.Take(RequestedName(*i)));
  }
}

}  // namespace hlo
