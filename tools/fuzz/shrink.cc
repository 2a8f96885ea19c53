#include "shrink.h"

#include <algorithm>

#include "base/clock.h"
#include "draft.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace hlo::fuzz {
namespace {

enum class Failure : uint8_t { kNone, kRounding, kValues, kStatus, kCrash, kHang };
Failure FailureOf(const Verdict& verdict) {
  if (verdict.judgement != Judgement::kDiffers) return Failure::kNone;
  if (verdict.message.starts_with("the process ended")) return Failure::kCrash;
  if (verdict.message.starts_with("no end")) return Failure::kHang;
  if (verdict.message.find("output") == std::string::npos &&
      verdict.message.find("differ") == std::string::npos)
    return Failure::kStatus;
  return verdict.is_gross ? Failure::kValues : Failure::kRounding;
}

// Returns the element type and the sizes of a shape's text, without its layout; empty for tuples.
std::string ArrayOf(const std::string& shape) {
  if (shape.starts_with("(")) return "";
  const size_t close = shape.find(']');
  return close == std::string::npos ? "" : shape.substr(0, close + 1);
}

void ReplaceUses(DraftComputation& computation, const std::string& old, const std::string& made) {
  for (DraftLine& line : computation.lines)
    std::replace(line.operands.begin(), line.operands.end(), old, made);
}

class Shrinker {
 public:
  Shrinker(const Find& find, double seconds, const std::function<Verdict(const std::string&)>& judge)
      : find_(find), failure_(FailureOf(find.verdict)), end_(SteadySeconds() + seconds), judge_(judge) {}

  Find Run() {
    // Printing again must preserve the failure; otherwise the draft has lost information, or dead
    // instructions matter.
    if (!Try(Current().Text())) {
      keeps_dead_ = true;
      if (!Try(Current().Text(true))) return find_;
    }
    for (bool is_smaller = true; is_smaller && SteadySeconds() < end_;) {
      is_smaller = false;
      for (const auto step : {&Shrinker::DropResults, &Shrinker::DropInstructions, &Shrinker::Inline,
                              &Shrinker::DropState, &Shrinker::LowerConstants, &Shrinker::LowerSizes})
        is_smaller |= (this->*step)();
      if (keeps_dead_ && Try(Current().Text())) keeps_dead_ = false;
    }
    return find_;
  }

 private:
  Draft Current() const { return Draft(ReadModule(find_.text)->module()); }

  // Keeps the text if it fails in the same way.
  bool Try(const std::string& text) {
    if (SteadySeconds() > end_) return false;
    const absl::StatusOr<CheckedModule> module = ReadModule(text);
    if (!module.ok()) return false;
    Verdict verdict = judge_(text);
    if (FailureOf(verdict) != failure_) return false;
    find_.text = text;
    find_.verdict = std::move(verdict);
    return true;
  }
  bool TryIfNew(const std::string& text) { return text != find_.text && Try(text); }

  bool DropResults() {
    bool any = false;
    const auto with = [&](const std::vector<size_t>& kept) {
      Draft draft = Current();
      DraftLine& root = draft.entry().root();
      std::vector<std::string> names, shapes;
      for (const size_t k : kept) {
        names.push_back(root.operands[k]);
        shapes.push_back(draft.entry().Find(names.back())->shape);
      }
      root.operands = names;
      root.shape = fmt::format("({})", fmt::join(shapes, ", "));
      if (kept.size() == 1) {
        const std::string only = names[0];
        draft.entry().root().is_root = false;
        draft.entry().Find(only)->is_root = true;
      }
      return draft.Text(keeps_dead_);
    };
    const auto count = [&] {
      Draft draft = Current();
      const DraftLine& root = draft.entry().root();
      return root.opcode == "tuple" ? root.operands.size() : 0;
    };
    size_t n = count();
    for (size_t k = 0; k < n; ++k) {
      if (Try(with({k}))) return true;
    }
    for (size_t k = 0; k < n && n > 1;) {
      std::vector<size_t> kept;
      for (size_t i = 0; i < n; ++i) {
        if (i != k) kept.push_back(i);
      }
      if (Try(with(kept))) {
        any = true;
        n = count();
      } else {
        ++k;
      }
    }
    return any;
  }

  // Tries each line of each computation, users first. `change` edits the draft and returns false if it does
  // not apply.
  bool ForLines(const std::function<bool(Draft&, DraftComputation&, size_t)>& change) {
    bool any = false;
    const Draft first = Current();
    for (auto c = first.computations.rbegin(); c != first.computations.rend(); ++c) {
      for (auto line = c->lines.rbegin(); line != c->lines.rend() && SteadySeconds() < end_; ++line) {
        Draft draft = Current();
        DraftComputation* computation = draft.Find(c->name);
        DraftLine* found = computation == nullptr ? nullptr : computation->Find(line->name);
        if (found == nullptr) continue;
        if (change(draft, *computation, found - computation->lines.data()))
          any |= TryIfNew(draft.Text(keeps_dead_));
      }
    }
    return any;
  }

  bool DropInstructions() {
    bool any = false;
    // Replacing an instruction by a parameter removes the most.
    any |= ForLines([](Draft& draft, DraftComputation& c, size_t at) {
      DraftLine& line = c.lines[at];
      if (!c.is_entry || line.parameter >= 0 || ArrayOf(line.shape).empty() || line.opcode == "constant")
        return false;
      const std::string old = line.name;
      line = {.name = draft.NewName("p"),
              .shape = line.shape,
              .opcode = "parameter",
              .parameter = 1000,
              .is_root = line.is_root};
      for (const DraftLine& other : c.lines) {
        if (&other != &line && other.parameter >= line.parameter) line.parameter = other.parameter + 1;
      }
      ReplaceUses(c, old, line.name);
      return true;
    });
    for (size_t k = 0; k < 3; ++k) {
      any |= ForLines([k](Draft&, DraftComputation& c, size_t at) {
        DraftLine& line = c.lines[at];
        if (line.operands.size() <= k) return false;
        DraftLine* operand = c.Find(line.operands[k]);
        const bool same = operand->shape == line.shape ||
                          (!ArrayOf(line.shape).empty() && ArrayOf(operand->shape) == ArrayOf(line.shape));
        if (!same) return false;
        if (line.is_root) {
          line.is_root = false;
          operand->is_root = true;
        }
        ReplaceUses(c, line.name, operand->name);
        return true;
      });
    }
    any |= ForLines([](Draft& draft, DraftComputation& c, size_t at) {
      DraftLine& line = c.lines[at];
      const std::string array = ArrayOf(line.shape), type = TypeOf(line.shape);
      if (array.empty() || line.parameter >= 0 || line.opcode == "constant" || type.starts_with("c"))
        return false;
      if (line.opcode == "broadcast" && c.Find(line.operands[0])->opcode == "constant") return false;
      DraftLine constant{.name = draft.NewName("c"),
                         .shape = type + "[]",
                         .opcode = "constant",
                         .inside = type == "pred" ? "true" : "1"};
      line.opcode = "broadcast";
      line.operands = {constant.name};
      line.attributes = ", dimensions={}";
      c.lines.insert(c.lines.begin(), constant);
      return true;
    });
    return any;
  }

  // Inlines calls and fusions.
  bool Inline() {
    return ForLines([](Draft& draft, DraftComputation& c, size_t at) {
      const DraftLine call = c.lines[at];
      if (call.opcode != "call" && call.opcode != "fusion") return false;
      const std::string key = call.opcode == "call" ? "to_apply=" : "calls=";
      const size_t begin = call.attributes.find(key) + key.size();
      const DraftComputation* callee =
          draft.Find(call.attributes.substr(begin, call.attributes.find_first_of(", ", begin) - begin));
      if (callee == nullptr) return false;
      std::map<std::string, std::string> names;
      std::vector<DraftLine> inlined;
      for (DraftLine line : callee->lines) {
        if (line.parameter >= 0) {
          names[line.name] = call.operands[line.parameter];
          if (line.is_root) return false;
          continue;
        }
        names[line.name] = line.is_root ? call.name : draft.NewName(line.name.substr(0, line.name.find('.')));
        line.name = names[line.name];
        for (std::string& operand : line.operands) operand = names[operand];
        line.is_root = line.is_root && call.is_root;
        inlined.push_back(line);
      }
      c.lines.erase(c.lines.begin() + static_cast<int64_t>(at));
      c.lines.insert(c.lines.begin() + static_cast<int64_t>(at), inlined.begin(), inlined.end());
      return true;
    });
  }

  bool DropState();

  bool LowerConstants() {
    bool any = false;
    for (const int way : {0, 1, 2, 3}) {
      any |= ForLines([way](Draft&, DraftComputation& c, size_t at) {
        DraftLine& line = c.lines[at];
        const bool is_integer = line.shape.starts_with("s") || line.shape.starts_with("u");
        if (line.opcode != "constant" || !is_integer || !line.shape.ends_with("[]") || line.inside.size() > 9)
          return false;
        const int64_t value = std::stoll(line.inside), lower = way == 0   ? 0
                                                               : way == 1 ? 1
                                                               : way == 2 ? value / 2
                                                                          : value - 1;
        if (value <= lower || lower < 0) return false;
        line.inside = fmt::format("{}", lower);
        return true;
      });
    }
    return any;
  }

  bool LowerSizes() {
    bool any = false;
    const auto halved = [&] {
      std::map<int64_t, int64_t> change;
      for (const int64_t n : NumbersOf(find_.text)) {
        if (n >= 4) change[n] = n / 2;
      }
      return MapNumbers(find_.text, change);
    };
    while (TryIfNew(halved())) any = true;
    const std::set<int64_t> numbers = NumbersOf(find_.text);
    for (auto n = numbers.rbegin(); n != numbers.rend() && *n >= 2; ++n) {
      for (const int64_t less : {int64_t{1}, int64_t{2}, *n / 2, *n - 1}) {
        if (less >= *n || less < 1) continue;
        if (TryIfNew(MapNumbers(find_.text, {{*n, less}})) || LowersSum(numbers, *n, less)) {
          any = true;
          break;
        }
      }
      if (SteadySeconds() > end_) break;
    }
    return any;
  }
  // Decreases a number together with a larger one of which it is a summand or factor.
  bool LowersSum(const std::set<int64_t>& numbers, int64_t number, int64_t less) {
    if (numbers.size() > 24) return false;
    for (const int64_t sum : numbers) {
      if (sum <= number) continue;
      if (TryIfNew(MapNumbers(find_.text, {{number, less}, {sum, sum - number + less}}))) return true;
      if (sum % number == 0 && TryIfNew(MapNumbers(find_.text, {{number, less}, {sum, sum / number * less}})))
        return true;
    }
    return false;
  }

  Find find_;
  bool keeps_dead_ = false;
  const Failure failure_;
  const double end_;
  const std::function<Verdict(const std::string&)>& judge_;
};

// Returns the computation that an attribute of a loop names.
std::string NameIn(const std::string& attributes, const std::string& key) {
  const size_t begin = attributes.find(key + "=") + key.size() + 1;
  return attributes.substr(begin, attributes.find_first_of(", ", begin) - begin);
}

// Renumbers the elements of `tuple` after element k, and replaces the uses of element k.
void RemoveElement(DraftComputation& computation, const std::string& tuple, int64_t k,
                   const std::function<void(DraftLine&)>& replace) {
  for (DraftLine& line : computation.lines) {
    if (line.opcode != "get-tuple-element" || line.operands[0] != tuple) continue;
    const int64_t index = std::stoll(line.attributes.substr(line.attributes.find('=') + 1));
    if (index == k) replace(line);
    if (index > k) line.attributes = fmt::format(", index={}", index - 1);
  }
}

// Removes array k, of this element type, from the state of a loop's condition or body, which then has shape
// `shape`. The uses of the array read a splat instead.
void RemoveFromState(Draft& draft, DraftComputation& computation, int64_t k, const std::string& type,
                     const std::string& shape) {
  const auto parameter = std::find_if(computation.lines.begin(), computation.lines.end(),
                                      [](const DraftLine& line) { return line.parameter == 0; });
  parameter->shape = shape;
  const DraftLine constant{.name = draft.NewName("c"),
                           .shape = type + "[]",
                           .opcode = "constant",
                           .inside = type == "pred" ? "true"
                                     : type == "s1" ? "-1"
                                                    : "1"};
  RemoveElement(computation, parameter->name, k, [&](DraftLine& line) {
    line.opcode = "broadcast";
    line.operands = {constant.name};
    line.attributes = ", dimensions={}";
  });
  computation.lines.insert(computation.lines.begin(), constant);
}

// Removes array k from the state of the loop at a line; users of its last value read its initial value.
bool DropStateOf(Draft& draft, DraftComputation& c, size_t at, int64_t k) {
  const std::string loop = c.lines[at].name;
  if (c.lines[at].opcode != "while") return false;
  const DraftLine init = *c.Find(c.lines[at].operands[0]);
  const auto n = static_cast<int64_t>(init.operands.size());
  if (init.opcode != "tuple" || k >= n || n < 2) return false;
  std::vector<std::string> shapes;
  for (const std::string& operand : init.operands) shapes.push_back(c.Find(operand)->shape);
  const std::string type = TypeOf(shapes[k]), initial = init.operands[k];
  if (ArrayOf(shapes[k]).empty() || type.starts_with("c")) return false;
  shapes.erase(shapes.begin() + k);
  const std::string shape = fmt::format("({})", fmt::join(shapes, ", "));
  RemoveFromState(draft, *draft.Find(NameIn(c.Find(loop)->attributes, "condition")), k, type, shape);
  DraftComputation& body = *draft.Find(NameIn(c.Find(loop)->attributes, "body"));
  RemoveFromState(draft, body, k, type, shape);
  DraftLine& root = body.root();
  if (root.opcode != "tuple") return false;
  root.operands.erase(root.operands.begin() + k);
  root.shape = shape;
  DraftLine next = init;
  next.name = draft.NewName("tuple");
  next.shape = shape;
  next.is_root = false;
  next.operands.erase(next.operands.begin() + k);
  RemoveElement(c, loop, k, [&](DraftLine& line) {
    line.opcode = "copy";
    line.operands = {initial};
    line.attributes = "";
  });
  DraftLine& line = *c.Find(loop);
  line.shape = shape;
  line.operands = {next.name};
  c.lines.insert(c.lines.begin() + (&line - c.lines.data()), next);
  return true;
}

bool Shrinker::DropState() {
  bool any = false;
  for (int64_t k = 0; k < 8 && SteadySeconds() < end_; ++k) {
    any |=
        ForLines([k](Draft& draft, DraftComputation& c, size_t at) { return DropStateOf(draft, c, at, k); });
  }
  return any;
}

}  // namespace

Find Shrink(const Find& find, double seconds, const std::function<Verdict(const std::string&)>& judge) {
  if (!ReadModule(find.text).ok()) return find;
  return Shrinker(find, seconds, judge).Run();
}

}  // namespace hlo::fuzz
