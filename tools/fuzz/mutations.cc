#include "mutations.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "draft.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlo_run/io.h"
#include "hlo_run/module_file.h"
#include "hlo_run/print.h"
#include "integers.h"
#include "judge.h"
#include "random.h"
#include "spmd/device_grid.h"

namespace hlo::fuzz {
namespace {

constexpr size_t kMaxBytes = 60'000;  // The reference takes too long for larger modules.

bool IsArray(const std::string& shape) {
  return !shape.starts_with("(") && shape.find('[') != std::string::npos &&
         shape.find("<=") == std::string::npos;
}

// Returns the text of 1 in the type, or of -1 in s1.
std::string OneText(std::string_view type) {
  if (type == "pred") return "true";
  if (type == "s1") return "-1";  // One bit holds 0 and -1.
  return type == "c64" || type == "c128" ? "(1, 0)" : "1";
}

class Mutator {
 public:
  Mutator(Draft& draft, Random& random) : draft_(draft), random_(random) {}

  bool Run() {
    DraftComputation& entry = draft_.entry();
    for (const DraftLine& line : entry.lines) {
      if (line.parameter >= 0 && !IsArray(line.shape)) return false;
    }
    if (random_.Chance(0.3)) ShareParameters(entry);
    if (!ChooseResults(entry)) return false;
    switch (random_.Below(6)) {
      case 0:
        return Wrap("call");
      case 1:
      case 2:
        return Loop();
      case 3:
        return Branch();
      case 4:
        return Wrap("twice");
      default:
        return true;
    }
  }

 private:
  static std::vector<DraftLine> ParametersOf(const DraftComputation& c) {
    std::vector<DraftLine> parameters;
    for (const DraftLine& line : c.lines) {
      if (line.parameter >= 0) parameters.push_back(line);
    }
    std::sort(parameters.begin(), parameters.end(),
              [](const DraftLine& a, const DraftLine& b) { return a.parameter < b.parameter; });
    return parameters;
  }
  static std::string TupleShape(const std::vector<std::string>& shapes) {
    return fmt::format("({})", fmt::join(shapes, ", "));
  }

  void ShareParameters(DraftComputation& entry) {
    const std::vector<DraftLine> parameters = ParametersOf(entry);
    std::stable_partition(entry.lines.begin(), entry.lines.end(),
                          [](const DraftLine& line) { return line.parameter >= 0; });
    for (const DraftLine& a : parameters) {
      for (const DraftLine& b : parameters) {
        if (a.name >= b.name || a.shape != b.shape || !random_.Chance(0.5)) continue;
        for (DraftLine& line : entry.lines)
          std::replace(line.operands.begin(), line.operands.end(), b.name, a.name);
      }
    }
  }

  // Selects some of the results, and some inner values, as the new results.
  bool ChooseResults(DraftComputation& entry) {
    const DraftLine root = entry.root();
    std::vector<std::string> results, inner;
    if (root.opcode == "tuple") {
      for (const std::string& operand : root.operands) {
        if (IsArray(entry.Find(operand)->shape) && random_.Chance(0.7)) results.push_back(operand);
      }
      entry.lines.erase(entry.lines.begin() + (&entry.root() - entry.lines.data()));
    } else if (IsArray(root.shape)) {
      results.push_back(root.name);
      entry.root().is_root = false;
    } else {
      return false;
    }
    for (const DraftLine& line : entry.lines) {
      if (IsArray(line.shape) && line.opcode != "constant") inner.push_back(line.name);
    }
    if (inner.empty()) return false;
    for (int64_t i = random_.Below(4); i > 0 || results.empty(); --i) results.push_back(random_.Pick(inner));
    random_.Shuffle(results);
    std::vector<std::string> shapes;
    for (const std::string& result : results) shapes.push_back(entry.Find(result)->shape);
    entry.lines.push_back({.name = draft_.NewName("results"),
                           .shape = TupleShape(shapes),
                           .opcode = "tuple",
                           .operands = results,
                           .is_root = true});
    return true;
  }

  // Turns the entry into an inner computation. Returns a new entry with the same parameters.
  DraftComputation NewEntry(std::string* inner) {
    DraftComputation& old = draft_.entry();
    old.is_entry = false;
    *inner = old.name;
    DraftComputation entry{.name = draft_.NewName("wrapped"), .is_entry = true};
    for (const DraftLine& parameter : ParametersOf(old)) {
      entry.lines.push_back(parameter);
      entry.lines.back().name = draft_.NewName("given");
      entry.lines.back().is_root = false;
    }
    return entry;
  }
  static std::vector<std::string> Names(const std::vector<DraftLine>& lines) {
    std::vector<std::string> names;
    for (const DraftLine& line : lines) names.push_back(line.name);
    return names;
  }
  std::vector<std::string> ResultShapes(const std::string& inner) {
    std::vector<std::string> shapes;
    DraftComputation& computation = *draft_.Find(inner);
    for (const std::string& operand : computation.root().operands)
      shapes.push_back(computation.Find(operand)->shape);
    return shapes;
  }
  // Adds the elements of a tuple. Returns their names.
  std::vector<std::string> Elements(std::vector<DraftLine>& lines, std::string tuple,
                                    const std::vector<std::string>& shapes) {
    std::vector<std::string> names;
    for (size_t i = 0; i < shapes.size(); ++i) {
      names.push_back(draft_.NewName("element"));
      lines.push_back({.name = names.back(),
                       .shape = shapes[i],
                       .opcode = "get-tuple-element",
                       .operands = {tuple},
                       .attributes = fmt::format(", index={}", i)});
    }
    return names;
  }
  void AddTuple(std::vector<DraftLine>& lines, const std::vector<std::string>& operands,
                const std::vector<std::string>& shapes, bool is_root) {
    lines.push_back({.name = draft_.NewName("tuple"),
                     .shape = TupleShape(shapes),
                     .opcode = "tuple",
                     .operands = operands,
                     .is_root = is_root});
  }
  void AddConstant(std::vector<DraftLine>& lines, const std::string& type, const std::string& value) {
    lines.push_back(
        {.name = draft_.NewName("c"), .shape = type + "[]", .opcode = "constant", .inside = value});
  }

  bool Wrap(std::string_view how) {
    std::string inner;
    DraftComputation entry = NewEntry(&inner);
    const std::vector<std::string> given = Names(entry.lines), shapes = ResultShapes(inner);
    std::vector<std::string> all, all_shapes;
    for (int k = 0; k < (how == "twice" ? 2 : 1); ++k) {
      DraftLine call{.name = draft_.NewName("call"),
                     .shape = TupleShape(shapes),
                     .opcode = "call",
                     .operands = given,
                     .attributes = ", to_apply=" + inner};
      entry.lines.push_back(call);
      for (const std::string& name : Elements(entry.lines, call.name, shapes)) {
        if (!all.empty() && random_.Chance(0.3)) continue;
        all.push_back(name);
        all_shapes.push_back(
            entry
                .lines[std::distance(entry.lines.begin(),
                                     std::find_if(entry.lines.begin(), entry.lines.end(),
                                                  [&](const DraftLine& l) { return l.name == name; }))]
                .shape);
      }
    }
    AddTuple(entry.lines, all, all_shapes, true);
    draft_.computations.push_back(entry);
    return true;
  }

  // Wraps the module in a loop of one to three iterations, whose state is a counter, the module's parameters
  // and its results.
  bool Loop() {
    std::string inner;
    DraftComputation entry = NewEntry(&inner);
    const std::vector<DraftLine> given = entry.lines;
    const std::vector<std::string> results = ResultShapes(inner);
    std::vector<std::string> shapes = {"s32[]"};
    for (const DraftLine& line : given) shapes.push_back(line.shape);
    shapes.insert(shapes.end(), results.begin(), results.end());
    const std::string init = AddInitialState(entry, given, results, shapes);
    const DraftComputation condition = LoopCondition(shapes), body = LoopBody(inner, given, results, shapes);
    const std::string loop = draft_.NewName("loop");
    entry.lines.push_back({.name = loop,
                           .shape = TupleShape(shapes),
                           .opcode = "while",
                           .operands = {init},
                           .attributes = fmt::format(", condition={}, body={}", condition.name, body.name)});
    const std::vector<std::string> after = Elements(entry.lines, loop, shapes);
    AddTuple(entry.lines, {after.begin() + 1, after.end()}, {shapes.begin() + 1, shapes.end()}, true);
    draft_.computations.insert(draft_.computations.end(), {condition, body, entry});
    return true;
  }

  // Adds the tuple of the initial state, in which the results are constants. Returns its name.
  std::string AddInitialState(DraftComputation& entry, const std::vector<DraftLine>& given,
                              const std::vector<std::string>& results,
                              const std::vector<std::string>& shapes) {
    AddConstant(entry.lines, "s32", "0");
    std::vector<std::string> inits = {entry.lines.back().name};
    for (const DraftLine& line : given) inits.push_back(line.name);
    for (const std::string& shape : results) {
      const std::string type = TypeOf(shape);
      AddConstant(entry.lines, type, type == "pred" ? "false" : OneText(type));
      const std::string constant = entry.lines.back().name;
      entry.lines.push_back({.name = draft_.NewName("init"),
                             .shape = shape,
                             .opcode = "broadcast",
                             .operands = {constant},
                             .attributes = ", dimensions={}"});
      inits.push_back(entry.lines.back().name);
    }
    AddTuple(entry.lines, inits, shapes, false);
    return entry.lines.back().name;
  }

  DraftComputation LoopCondition(const std::vector<std::string>& shapes) {
    DraftComputation condition{.name = draft_.NewName("condition")};
    condition.lines.push_back({.name = draft_.NewName("state"),
                               .shape = TupleShape(shapes),
                               .opcode = "parameter",
                               .parameter = 0});
    condition.lines.push_back({.name = draft_.NewName("i"),
                               .shape = "s32[]",
                               .opcode = "get-tuple-element",
                               .operands = {condition.lines[0].name},
                               .attributes = ", index=0"});
    AddConstant(condition.lines, "s32", fmt::format("{}", random_.Between(1, 3)));
    condition.lines.push_back({.name = draft_.NewName("more"),
                               .shape = "pred[]",
                               .opcode = "compare",
                               .operands = {condition.lines[1].name, condition.lines[2].name},
                               .attributes = ", direction=LT",
                               .is_root = true});
    return condition;
  }

  // The body calls the module. The parameters of the next iteration may be its results, or each other.
  DraftComputation LoopBody(const std::string& inner, const std::vector<DraftLine>& given,
                            const std::vector<std::string>& results, const std::vector<std::string>& shapes) {
    DraftComputation body{.name = draft_.NewName("body")};
    body.lines.push_back({.name = draft_.NewName("state"),
                          .shape = TupleShape(shapes),
                          .opcode = "parameter",
                          .parameter = 0});
    const std::vector<std::string> state = Elements(body.lines, body.lines[0].name, shapes);
    AddConstant(body.lines, "s32", "1");
    body.lines.push_back({.name = draft_.NewName("next"),
                          .shape = "s32[]",
                          .opcode = "add",
                          .operands = {state[0], body.lines.back().name}});
    std::vector<std::string> next = {body.lines.back().name};
    DraftLine call{.name = draft_.NewName("call"),
                   .shape = TupleShape(results),
                   .opcode = "call",
                   .operands = {state.begin() + 1, state.begin() + 1 + static_cast<int64_t>(given.size())},
                   .attributes = ", to_apply=" + inner};
    body.lines.push_back(call);
    const std::vector<std::string> new_results = Elements(body.lines, call.name, results);
    for (size_t i = 0; i < given.size(); ++i) {
      std::string carried = state[1 + i];
      for (size_t k = 0; k < results.size(); ++k) {
        if (results[k] == given[i].shape && random_.Chance(0.3)) carried = new_results[k];
      }
      for (size_t k = 0; k < given.size(); ++k) {
        if (given[k].shape == given[i].shape && random_.Chance(0.2)) carried = state[1 + k];
      }
      next.push_back(carried);
    }
    next.insert(next.end(), new_results.begin(), new_results.end());
    AddTuple(body.lines, next, shapes, true);
    return body;
  }

  // Wraps the module in a branch, with constants or the module again in the other branch.
  bool Branch() {
    std::string inner;
    DraftComputation entry = NewEntry(&inner);
    const std::vector<std::string> given = Names(entry.lines), results = ResultShapes(inner);
    std::vector<std::string> shapes;
    for (const DraftLine& line : entry.lines) shapes.push_back(line.shape);
    if (given.empty()) return false;
    const auto branch = [&](bool calls) {
      DraftComputation made{.name = draft_.NewName("branch")};
      made.lines.push_back({.name = draft_.NewName("given"),
                            .shape = TupleShape(shapes),
                            .opcode = "parameter",
                            .parameter = 0});
      const std::string whole = made.lines[0].name;
      const std::vector<std::string> elements = Elements(made.lines, whole, shapes);
      if (calls) {
        made.lines.push_back({.name = draft_.NewName("call"),
                              .shape = TupleShape(results),
                              .opcode = "call",
                              .operands = elements,
                              .attributes = ", to_apply=" + inner,
                              .is_root = true});
        return made;
      }
      std::vector<std::string> values;
      for (const std::string& shape : results) {
        AddConstant(made.lines, TypeOf(shape), OneText(TypeOf(shape)));
        const std::string constant = made.lines.back().name;
        made.lines.push_back({.name = draft_.NewName("other"),
                              .shape = shape,
                              .opcode = "broadcast",
                              .operands = {constant},
                              .attributes = ", dimensions={}"});
        values.push_back(made.lines.back().name);
      }
      AddTuple(made.lines, values, results, true);
      return made;
    };
    const DraftComputation first = branch(true), second = branch(random_.Chance(0.4));
    const auto number = static_cast<int64_t>(given.size());
    entry.lines.push_back(
        {.name = draft_.NewName("p"), .shape = "pred[]", .opcode = "parameter", .parameter = number});
    const std::string which = entry.lines.back().name;
    AddTuple(entry.lines, given, shapes, false);
    const std::string tuple = entry.lines.back().name;
    entry.lines.push_back(
        {.name = draft_.NewName("chosen"),
         .shape = TupleShape(results),
         .opcode = "conditional",
         .operands = {which, tuple, tuple},
         .attributes = fmt::format(", true_computation={}, false_computation={}", first.name, second.name),
         .is_root = true});
    draft_.computations.insert(draft_.computations.end(), {first, second, entry});
    return true;
  }

  Draft& draft_;
  Random& random_;
};

}  // namespace

const std::vector<std::string>& ModulesIn(const std::vector<std::string>& folders) {
  static std::map<std::vector<std::string>, std::vector<std::string>> known;
  const auto [found, is_new] = known.try_emplace(folders);
  if (!is_new) return found->second;
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder, error)) {
      if (file.is_regular_file() && file.path().extension() == ".hlo") paths.push_back(file.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    const absl::StatusOr<ModuleFiles> file = ModuleFiles::Read(path);
    for (size_t i = 0; file.ok() && i < file->size(); ++i) {
      const ModuleFile module = file->Get(i);
      // Lines before the module are empty.
      std::string_view text = module.text->content();
      text.remove_prefix(std::min(text.size(), text.find_first_not_of('\n')));
      if (text.size() <= kMaxBytes) found->second.emplace_back(text);
    }
  }
  return found->second;
}

std::string RandomMutation(uint64_t seed, const std::vector<std::string>& modules) {
  if (modules.empty()) return "";
  Random random(seed);
  const absl::StatusOr<CheckedModule> module = ReadModule(random.Pick(modules));
  // A draft has no counts of devices.
  if (!module.ok() || spmd::HasSeveralDevices(module->module())) return "";
  Draft draft(module->module());
  // A draft cannot represent text with escapes or nested braces.
  for (const DraftComputation& c : draft.computations) {
    for (const DraftLine& line : c.lines) {
      if (line.opcode.ends_with("-start") || line.opcode.ends_with("-done") || line.opcode == "infeed" ||
          line.opcode == "outfeed" || line.opcode == "after-all")
        return "";
    }
  }
  draft.name = "loose";
  if (random.Chance(0.6)) {
    Draft integers = draft;
    if (MakeIntegers(integers)) {
      integers.name = "exact";
      if (ReadModule(integers.Text()).ok()) draft = integers;
    }
  }
  if (!Mutator(draft, random).Run()) return "";
  return draft.Text();
}

}  // namespace hlo::fuzz
