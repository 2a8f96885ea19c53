#include "conform/inline_case.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/counted.h"
#include "base/status.h"
#include "conform/device_case.h"
#include "fmt/format.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"
#include "hlo_run/run.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "plan/print_plan.h"

namespace hlo::conform {
namespace {

absl::Status WrongCase(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::StatusOr<Literal> ParseValue(std::string_view value, const Shape& shape, const std::string& name) {
  return ParseLiteral(SourceText(name, std::string(value)), shape);
}

// Opens the archive beside the case's file: `dot.npz` for `dot.hlo`. Cases of a file run one after the other,
// so the last archive stays open.
absl::StatusOr<std::shared_ptr<Archive>> ArchiveOf(const LoadedCase& loaded) {
  thread_local std::string last_path;
  thread_local std::shared_ptr<Archive> last;
  const std::string path = std::filesystem::path(loaded.source->name()).replace_extension(".npz").string();
  if (path != last_path) {
    HLO_ASSIGN_OR_RETURN(last, Archive::Open(path));
    last_path = path;
  }
  return last;
}

// Reads a value of a device: an array from KEY, the elements of a tuple from KEY.0, KEY.1, ...
absl::StatusOr<Literal> ReadStored(Archive& archive, const std::string& prefix, const DevicePlace& place,
                                   const std::string& key, const Shape& shape) {
  if (shape.IsArray()) {
    const std::string found = KeyFor(archive, prefix, place, key);
    return archive.Read(found.empty() ? prefix + key : found, shape);
  }
  if (!shape.IsTuple()) return Literal::Create(shape);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    HLO_ASSIGN_OR_RETURN(Literal value, ReadStored(archive, prefix, place,
                                                   fmt::format("{}.{}", key, elements.size()), element));
    elements.push_back(std::move(value));
  }
  return Literal::Tuple(std::move(elements));
}

absl::StatusOr<std::vector<Literal>> ReadStoredArguments(const CaseText& text, const LoadedCase& loaded,
                                                         const std::vector<Shape>& shapes,
                                                         const DevicePlace& place) {
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Archive> archive, ArchiveOf(loaded));
  std::vector<Literal> arguments;
  for (const Shape& shape : shapes) {
    HLO_ASSIGN_OR_RETURN(Literal argument, ReadStored(*archive, text.values + "/in/", place,
                                                      fmt::format("{}", arguments.size()), shape));
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

absl::Status CompareArchive(const CaseText& text, const LoadedCase& loaded, const DeviceResults& results,
                            Outcome* outcome) {
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Archive> archive, ArchiveOf(loaded));
  return CompareStored(
      *archive, text.values + "/out/", results, [&](const std::string& key) { return RuleOf(text, key); },
      outcome);
}

// Compares a result with the arrays `NAME/out/KEY` of the archive. The archive must contain exactly these
// arrays.
absl::Status CompareStored(const CaseText& text, const LoadedCase& loaded, const Literal& result,
                           Outcome* outcome) {
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<Archive> archive, ArchiveOf(loaded));
  const std::string prefix = text.values + "/out/";
  const std::vector<LiteralLeaf> leaves = ArrayLeaves(result);
  const auto stored = std::count_if(archive->keys().begin(), archive->keys().end(),
                                    [&](const std::string& key) { return key.starts_with(prefix); });
  if (stored != static_cast<int64_t>(leaves.size())) {
    *outcome = {Verdict::kFailed,
                fmt::format("the result {} has {}, but the archive has {} under {}\n",
                            ToString(result.shape()), Counted(leaves.size(), "array"), stored, prefix)};
    return absl::OkStatus();
  }
  for (const LiteralLeaf& leaf : leaves) {
    HLO_ASSIGN_OR_RETURN(const Literal want, archive->Read(prefix + leaf.key, leaf.value->shape()));
    CompareReport report = CompareArrays(*leaf.value, want, RuleOf(text, leaf.key));
    report.key = leaf.key;
    AddComparison(report, outcome);
  }
  return absl::OkStatus();
}

std::vector<Shape> ParameterShapes(const LoadedCase& loaded) {
  std::vector<Shape> shapes;
  for (const Instruction* parameter : loaded.module->entry()->parameters())
    shapes.push_back(parameter->shape());
  return shapes;
}

absl::StatusOr<std::vector<Literal>> ReadArguments(const CaseText& text, const LoadedCase& loaded,
                                                   const std::vector<size_t>& lines,
                                                   const std::vector<Shape>& shapes,
                                                   const DevicePlace& place = {}) {
  if (!text.values.empty()) return ReadStoredArguments(text, loaded, shapes, place);
  if (shapes.size() != lines.size()) {
    return WrongCase(fmt::format("the entry computation has {}, but the case has {} `// in`",
                                 Counted(shapes.size(), "parameter"), Counted(lines.size(), "line")));
  }
  std::vector<Literal> arguments;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string_view value = ValueOf(text.lines[lines[i]]);
    HLO_ASSIGN_OR_RETURN(Literal argument, ParseValue(value, shapes[i], fmt::format("`in` line {}", i)));
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Outcome Failed(std::string report) { return {Verdict::kFailed, std::move(report)}; }

// Compares arrays with the lines of their expected values, one line per array.
absl::Status CompareValues(const CaseText& text, std::string_view word, const std::vector<size_t>& lines,
                           const std::vector<LiteralLeaf>& leaves, Outcome* outcome) {
  if (leaves.size() != lines.size()) {
    return WrongCase(fmt::format("the values have {}, but the case has {} `// {}`",
                                 Counted(leaves.size(), "array"), Counted(lines.size(), "line"), word));
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::string_view value = ValueOf(text.lines[lines[i]]);
    const Shape& shape = leaves[i].value->shape();
    HLO_ASSIGN_OR_RETURN(const Literal want, ParseValue(value, shape, fmt::format("`{}` line {}", word, i)));
    const CompareRule& rule = word == "out" ? RuleOf(text, leaves[i].key) : text.rule;
    CompareReport report = CompareArrays(*leaves[i].value, want, rule);
    report.key = word == "out" ? leaves[i].key : fmt::format("{} {}", word, i);
    AddComparison(report, outcome);
    if (!report.ok() && leaves[i].value->element_count() <= 64)
      outcome->report += fmt::format("  got   {}\n  want  {}\n", ToString(*leaves[i].value), value);
  }
  return absl::OkStatus();
}

// Sends the arrays of the `// infeed` lines and records what it receives.
class CaseHost : public Host {
 public:
  explicit CaseHost(const CaseText& text) : text_(text) {}

  bool has_values() const override { return !text_.infeed.empty(); }
  absl::StatusOr<Literal> Read(const Instruction& reader, const Shape& shape) override {
    if (!shape.IsTuple()) {
      if (next_ == text_.infeed.size()) return WrongCase("there are too few lines `// infeed`");
      const std::string_view value = ValueOf(text_.lines[text_.infeed[next_++]]);
      return ParseValue(value, shape, fmt::format("`infeed` line {}", next_ - 1));
    }
    std::vector<Literal> elements;
    for (const Shape& element : shape.elements()) {
      HLO_ASSIGN_OR_RETURN(Literal value, Read(reader, element));
      elements.push_back(std::move(value));
    }
    return Literal::Tuple(std::move(elements));
  }
  absl::Status Write(const Instruction& /*writer*/, Literal value) override {
    given_.push_back(std::move(value));
    return absl::OkStatus();
  }

  // Checks after the run that all values were taken and that the received values are as expected.
  absl::Status Compare(Outcome* outcome) const {
    if (next_ != text_.infeed.size()) {
      return WrongCase(fmt::format("the run leaves {} of {} `// infeed`", text_.infeed.size() - next_,
                                   Counted(text_.infeed.size(), "line")));
    }
    std::vector<LiteralLeaf> leaves;
    for (const Literal& value : given_) {
      const std::vector<LiteralLeaf> more = ArrayLeaves(value);
      leaves.insert(leaves.end(), more.begin(), more.end());
    }
    return CompareValues(text_, "outfeed", text_.outfeed, leaves, outcome);
  }

 private:
  const CaseText& text_;
  size_t next_ = 0;
  std::vector<Literal> given_;
};

// Judges a run that must fail with certain words in its message.
Outcome JudgeFailure(const CaseText& text, const absl::Status& status) {
  if (status.ok()) return Failed("the run should fail, but it succeeds\n");
  const std::string message(Message(status));
  for (const std::string& want : text.fails) {
    if (message.find(want) == std::string::npos)
      return Failed(fmt::format("the run fails without saying '{}':\n{}\n", want, message));
  }
  return {};
}

// The lines of a device, or those of all devices.
const std::vector<size_t>& LinesOf(const std::map<int64_t, std::vector<size_t>>& by_device,
                                   const std::vector<size_t>& common, int64_t device) {
  const auto found = by_device.find(device);
  return found == by_device.end() ? common : found->second;
}

absl::Status CheckDeviceLines(const CaseText& text) {
  const int64_t count = text.replicas * text.partitions;
  for (const auto* lines : {&text.in_of, &text.out_of}) {
    if (!lines->empty() && lines->rbegin()->first >= count)
      return WrongCase(fmt::format("there is a line for device {}, but the case has {}",
                                   lines->rbegin()->first, Counted(count, "device")));
  }
  return absl::OkStatus();
}

Outcome RunDevicesCase(const CaseText& text, const LoadedCase& loaded, const EvaluateDevicesFn& evaluate) {
  if (loaded.checked.empty()) return OutcomeOf(loaded.diagnostics.ToStatus(*loaded.source), Verdict::kFailed);
  if (const absl::Status lines = CheckDeviceLines(text); !lines.ok())
    return OutcomeOf(lines, Verdict::kError);
  const DeviceSetting setting{text.replicas, text.partitions, text.shard, text.emulates_xla_cpu};
  const auto arguments_of = [&](const DevicePlace& place, const std::vector<Shape>& shapes) {
    const int64_t device = place.replica * place.partitions + place.partition;
    return ReadArguments(text, loaded, LinesOf(text.in_of, text.in, device), shapes, place);
  };
  Outcome outcome;
  const absl::StatusOr<DeviceResults> results =
      RunOnDevices(loaded.checked[0], setting, arguments_of, evaluate, &outcome);
  if (!text.fails.empty() && evaluate) return JudgeFailure(text, results.status());
  if (!results.ok()) return OutcomeOf(results.status(), Verdict::kFailed);
  const auto compare = [&](size_t index, Outcome* one) {
    return CompareValues(text, "out", LinesOf(text.out_of, text.out, static_cast<int64_t>(index)),
                         ArrayLeaves(results->values[index]), one);
  };
  const absl::Status compared = text.values.empty() ? CompareDevices(*results, compare, &outcome)
                                                    : CompareArchive(text, loaded, *results, &outcome);
  return compared.ok() ? outcome : OutcomeOf(compared, Verdict::kError);
}

Outcome RunRun(const CaseText& text, const LoadedCase& loaded, const CaseEvaluator& evaluator) {
  if (text.HasDevices()) return RunDevicesCase(text, loaded, evaluator.devices);
  Outcome outcome;
  absl::StatusOr<Literal> result = EvaluateCase(text, loaded, evaluator.one, &outcome);
  if (!text.fails.empty()) return JudgeFailure(text, result.status());
  if (!result.ok()) return OutcomeOf(result.status(), Verdict::kFailed);
  const absl::Status compared = text.values.empty()
                                    ? CompareValues(text, "out", text.out, ArrayLeaves(*result), &outcome)
                                    : CompareStored(text, loaded, *result, &outcome);
  return compared.ok() ? outcome : OutcomeOf(compared, Verdict::kError);
}

Outcome RunCheck(const CaseText& text, const LoadedCase& loaded, int64_t first_line) {
  std::vector<DrawnDiagnostic> found = FoundDiagnostics(loaded);
  Outcome outcome;
  for (const size_t position : text.drawn) {
    // Several diagnostics may be drawn under one line.
    size_t above = position;
    while (above > 0 && std::binary_search(text.drawn.begin(), text.drawn.end(), above)) --above;
    const DrawnDiagnostic drawn =
        ReadDrawnDiagnostic(text.lines[position], first_line + static_cast<int64_t>(above));
    const auto match =
        std::find_if(found.begin(), found.end(), [&](const DrawnDiagnostic& f) { return Matches(drawn, f); });
    if (match != found.end()) {
      found.erase(match);
      continue;
    }
    outcome.verdict = Verdict::kFailed;
    outcome.report += fmt::format("line {}: expected, but not reported:\n  {}\n", first_line + position,
                                  text.lines[position]);
  }
  for (const DrawnDiagnostic& drawing : found) {
    outcome.verdict = Verdict::kFailed;
    outcome.report +=
        fmt::format("line {}: reported, but not expected:\n  {}\n", drawing.line, Draw(drawing));
  }
  return outcome;
}

Outcome RunPrint(const CaseText& text, const LoadedCase& loaded) {
  const absl::StatusOr<std::string> printed = PrintOf(text, loaded);
  if (!printed.ok()) return OutcomeOf(printed.status(), Verdict::kError);
  std::string want;
  for (const size_t i : text.prints) {
    std::string_view line = text.lines[i];
    line.remove_prefix(std::min<size_t>(line.size(), 3));
    want.append(line).push_back('\n');
  }
  if (*printed == want) return {};
  return Failed(fmt::format("printed\n{}expected\n{}", *printed, want));
}

}  // namespace

void AddComparison(const CompareReport& report, Outcome* outcome) {
  if (!report.ok()) outcome->verdict = Verdict::kFailed;
  if (!report.ok() || report.worst) outcome->report += ToString(report);
}

Outcome OutcomeOf(const absl::Status& status, Verdict otherwise) {
  const Verdict verdict = absl::IsUnimplemented(status) ? Verdict::kUnsupported
                          : absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status)
                              ? Verdict::kError
                              : otherwise;
  return {verdict, std::string(Message(status)) + "\n"};
}

void Load(const CaseText& text, const std::string& path, int64_t first_line, LoadedCase* out) {
  std::string content(std::max<int64_t>(first_line - 1, 0), '\n');
  content += absl::StrJoin(text.lines, "\n");
  content += '\n';
  out->source = std::make_shared<SourceText>(path, std::move(content));
  const std::shared_ptr<Module> module =
      Parse(out->source, out->diagnostics, {.strict = text.strict, .infer_shape = &InferMissingShape});
  if (module == nullptr) return;
  if (text.HasDevices()) {
    module->mutable_header().replica_count = text.replicas;
    module->mutable_header().num_partitions = text.partitions;
  }
  out->module = module;
  absl::StatusOr<CheckedModule> checked =
      Check(out->module, out->diagnostics, text.strict ? CheckOptions::Strict() : CheckOptions{});
  if (checked.ok()) out->checked.push_back(*std::move(checked));
}

std::vector<DrawnDiagnostic> FoundDiagnostics(const LoadedCase& loaded) {
  std::vector<DrawnDiagnostic> found;
  for (const Diagnostic& diagnostic : loaded.diagnostics.all())
    found.push_back(DrawnDiagnosticOf(diagnostic, *loaded.source));
  return found;
}

absl::StatusOr<std::string> PrintOf(const CaseText& text, const LoadedCase& loaded) {
  if (!loaded.module) return loaded.diagnostics.ToStatus(*loaded.source);
  if (text.verb == Verb::kPlan) {
    if (loaded.checked.empty()) return loaded.diagnostics.ToStatus(*loaded.source);
    HLO_ASSIGN_OR_RETURN(const plan::Plan plan, plan::MakePlan(loaded.checked[0]));
    return plan::ToString(plan);
  }
  PrintOptions options;
  if (text.form == "short")
    options.form = PrintForm::kShort;
  else if (text.form == "canonical")
    options.form = PrintForm::kCanonical;
  else if (text.form == "fingerprint")
    options.form = PrintForm::kFingerprint;
  else if (!text.form.empty() && text.form != "long") {
    return WrongCase(fmt::format("print '{}': expected long, short, canonical or fingerprint", text.form));
  }
  std::string printed = Print(*loaded.module, options);
  while (!printed.empty() && printed.back() == '\n') printed.pop_back();
  return printed + "\n";
}

absl::StatusOr<Literal> EvaluateCase(const CaseText& text, const LoadedCase& loaded,
                                     const EvaluateFn& evaluate, Outcome* outcome) {
  if (loaded.checked.empty()) return loaded.diagnostics.ToStatus(*loaded.source);
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> arguments,
                       ReadArguments(text, loaded, text.in, ParameterShapes(loaded)));
  CaseHost host(text);
  HLO_ASSIGN_OR_RETURN(Literal result, evaluate(loaded.checked[0], std::move(arguments), &host));
  HLO_RETURN_IF_ERROR(host.Compare(outcome));
  return result;
}

Outcome RunInlineCase(const CaseText& text, const std::string& path, int64_t first_line,
                      const CaseEvaluator& evaluator) {
  LoadedCase loaded;
  Load(text, path, first_line, &loaded);
  switch (text.verb) {
    case Verb::kRun:
      return RunRun(text, loaded, evaluator);
    case Verb::kCheck:
      return RunCheck(text, loaded, first_line);
    case Verb::kPrint:
    case Verb::kPlan:
      return RunPrint(text, loaded);
  }
  return {};
}

}  // namespace hlo::conform
