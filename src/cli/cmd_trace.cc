// Implements `trace`: the values of instructions during a run, the origins of NaNs and infinities, and values
// that narrower types cannot represent.

#include <algorithm>
#include <filesystem>
#include <optional>

#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/value_text.h"
#include "debug/exposed_run.h"
#include "debug/loops.h"
#include "debug/selection.h"
#include "debug/trace/origins.h"
#include "debug/trace/trace.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "io/npz.h"

namespace hlo::cli {
namespace {

struct TraceFlags {
  CommonOptions common;
  InputOptions inputs;
  EngineOptions engine;
  DevicesFlags devices;
  CustomCallOptions custom_calls;
  debug::SelectionOptions selection;
  std::string iteration, output;
  bool values = false, full = false;
  std::string range_text;          // The value of --range; empty without it.
  std::vector<ElementType> range;  // Its types.
  debug::OriginOptions origins{.nans = false, .infinities = false};
  int64_t max_records = 1000;
  EvaluateOptions evaluate = {.cancel = &interrupt_flag};

  bool finds_origins() const { return origins.nans || origins.infinities; }
  bool traces_values() const {
    return !finds_origins() || !selection.empty() || !range.empty() || values || !iteration.empty() ||
           !output.empty();
  }
};

// Returns " (first at {1,2})", followed by the element if it is finite.
std::string FirstText(const Literal& value, int64_t position) {
  const bool finite = !debug::IsNanAt(value, position) && !debug::IsInfAt(value, position);
  return fmt::format(" (first at {{{}}}{})", fmt::join(debug::IndexOf(value, position), ","),
                     finite ? ": " + debug::ElementText(value, position) : "");
}

std::string RangeText(const Literal& value, const debug::Summary& summary,
                      absl::Span<const ElementType> types) {
  std::string text;
  // A value that overflowed its own type is not in the range of any other one.
  if (summary.nans + summary.infinities > 0) {
    text += fmt::format("  as {}, its own type:", Name(value.type()));
    if (summary.infinities > 0) text += fmt::format(" {} Inf", summary.infinities);
    if (summary.nans > 0) text += fmt::format(" {} NaN", summary.nans);
    text += FirstText(value, summary.first_bad) + "\n";
  }
  for (const debug::NarrowRange& range : debug::NarrowRanges(value, types)) {
    if (range.overflows + range.underflows + range.subnormals == 0) continue;
    text += fmt::format("  as {}:", Name(range.type));
    const auto add = [&](std::string_view what, int64_t count, int64_t first) {
      if (count == 0) return;
      text += fmt::format(" {} {}{}", count, what, first >= 0 ? FirstText(value, first) : "");
    };
    add("overflow", range.overflows, range.first_overflow);
    add("underflow to 0", range.underflows, range.first_underflow);
    add("subnormal", range.subnormals, -1);
    text += "\n";
  }
  return text;
}

Json RangeJson(const Literal& value, absl::Span<const ElementType> types) {
  Json json = Json::object();
  for (const debug::NarrowRange& range : debug::NarrowRanges(value, types))
    json[std::string(Name(range.type))] = Json{
        {"overflows", range.overflows}, {"underflows", range.underflows}, {"subnormals", range.subnormals}};
  return json;
}

// Collects the records of a run as text, as JSON and for an archive.
class Records {
 public:
  explicit Records(const TraceFlags& flags) : flags_(flags) {}

  absl::Status Add(const debug::TraceRecord& record) {
    if (!flags_.output.empty()) HLO_RETURN_IF_ERROR(Keep(record));
    const debug::Summary summary = debug::Summarize(record.value);
    Json json = {{"key", debug::KeyOf(record)},
                 {"instruction", record.instruction->name()},
                 {"opcode", Name(record.instruction->opcode())},
                 {"shape", ToString(record.value.shape())},
                 {"kernel", record.kernel}};
    json["loops"] = debug::LoopsJson(record.loops);
    json["summary"] = debug::ToJson(summary, record.value);
    if (flags_.values) json["value"] = Json::parse(ToJson(record.value));
    const bool has_range = !flags_.range.empty();
    if (has_range) json["range"] = RangeJson(record.value, flags_.range);
    json_.push_back(std::move(json));
    const std::string range = has_range ? RangeText(record.value, summary, flags_.range) : "";
    if (has_range && range.empty()) return absl::OkStatus();
    text_ += debug::HeadingOf(record) + "\n";
    text_ += has_range ? range : fmt::format("  {}\n", debug::ToString(summary, record.value));
    if (flags_.values)
      text_ += "  " +
               (flags_.full ? ToString(record.value, {.shapes = true, .layouts = false})
                            : SummarisedText(record.value)) +
               "\n";
    return absl::OkStatus();
  }

  absl::Status Write() const {
    std::vector<LiteralLeaf> arrays;
    for (const auto& [key, value] : kept_) arrays.push_back({key, &value});
    return io::WriteNpz(flags_.output, arrays);
  }
  const std::string& text() const { return text_; }
  Json TakeJson() { return std::move(json_); }

 private:
  // The engine may change the memory of a record's value once it continues.
  absl::Status Keep(const debug::TraceRecord& record) {
    HLO_ASSIGN_OR_RETURN(Literal copy, Literal::Create(record.value.shape()));
    std::copy_n(record.value.data(), record.value.byte_count(), copy.mutable_data());
    for (int64_t d = 0; record.value.has_dynamic_sizes() && d < copy.rank(); ++d)
      copy.set_dynamic_size(d, record.value.dynamic_size(d));
    kept_.emplace_back(debug::KeyOf(record), std::move(copy));
    return absl::OkStatus();
  }

  const TraceFlags& flags_;
  std::string text_;
  Json json_ = Json::array();
  std::vector<std::pair<std::string, Literal>> kept_;
};

absl::Status TraceValues(const TraceFlags& flags, const CheckedModule& module,
                         const debug::WatchedArguments& arguments, FileResult& result) {
  debug::TraceOptions options{.max_records = flags.max_records};
  HLO_ASSIGN_OR_RETURN(options.selected, debug::Select(module.module(), flags.selection));
  HLO_ASSIGN_OR_RETURN(options.iteration, debug::ParseIteration(flags.iteration));
  Records records(flags);
  const absl::StatusOr<debug::TraceOutcome> outcome =
      debug::Trace(module, arguments, flags.engine.engine, flags.evaluate, options,
                   [&](const debug::TraceRecord& record) { return records.Add(record); });
  // A run that ends early has records, too.
  if (!flags.output.empty()) HLO_RETURN_IF_ERROR(records.Write());
  result.text += records.text();
  result.extra["records"] = records.TakeJson();
  HLO_RETURN_IF_ERROR(outcome.status());
  if (outcome->left_out > 0 && !outcome->has_more)
    result.text += fmt::format("{} more records are left out (see --max-records)\n", outcome->left_out);
  else if (outcome->has_more)
    result.text += fmt::format(
        "there are more than {} records; the others are left out (see --max-records)\n", flags.max_records);
  result.extra["left_out"] = outcome->left_out;
  result.extra["has_more"] = outcome->has_more;
  if (!flags.iteration.empty()) result.extra["last_iteration"] = outcome->last_iteration;
  if (!flags.range.empty() && records.text().empty() && outcome->missing.empty())
    result.text += "no traced value overflows or underflows\n";
  if (!flags.iteration.empty() && flags.range.empty() && outcome->left_out == 0 && !outcome->has_more &&
      records.text().empty() && outcome->missing.empty())
    result.text += fmt::format("no selected instruction ran in iteration {}; {}\n", flags.iteration,
                               outcome->last_iteration == 0
                                   ? "none is in a loop"
                                   : fmt::format("the last one is {}", outcome->last_iteration));
  if (!outcome->missing.empty() && records.text().empty() && !outcome->has_more)
    result.text += fmt::format(
        "%{}{} did not run\n", outcome->missing.front()->name(),
        outcome->missing.size() == 1 ? "" : fmt::format(" and {} others", outcome->missing.size() - 1));
  return absl::OkStatus();
}

absl::Status TraceOrigins(const TraceFlags& flags, const CheckedModule& module,
                          const debug::WatchedArguments& arguments, FileResult& result) {
  HLO_ASSIGN_OR_RETURN(
      const debug::OriginReport report,
      debug::FindOrigins(module, arguments, flags.engine.engine, flags.evaluate, flags.origins));
  result.extra["origins"] = debug::ToJson(report);
  const std::string text = debug::ToString(report, module.module());
  result.text += text.empty() ? "no instruction produces a NaN or an infinity\n" : text;
  if (!report.origins.empty()) result.exit = std::max(result.exit, Exit::kFailed);
  return absl::OkStatus();
}

void Trace(const TraceFlags& flags, const std::string& file, FileResult& result) {
  const LoadedModule loaded = Load(file, flags.common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  CustomCalls custom_calls;
  if (!AddCustomCalls(flags.custom_calls, flags.common, custom_calls, result)) return;
  TraceFlags local = flags;
  local.evaluate.observer = result.progress;
  if (!flags.custom_calls.empty()) local.evaluate.custom_calls = &custom_calls;
  if (!result.Accept(RequireElements(loaded), file)) return;
  const absl::StatusOr<debug::WatchedArguments> arguments =
      MakeWatchedRun(flags.inputs, flags.common, flags.devices, loaded, result);
  if (!result.Accept(arguments.status(), file)) return;
  const CheckedModule& module = loaded.checked.front();
  if (flags.finds_origins() && !result.Accept(TraceOrigins(local, module, *arguments, result), file)) return;
  if (flags.traces_values()) result.Accept(TraceValues(local, module, *arguments, result), file);
}

void AddSelectionFlags(CLI::App& command, debug::SelectionOptions& selection) {
  command.add_option("--match", selection.match, "Instructions whose name this regular expression matches")
      ->type_name("REGEX");
  command.add_option("--opcode", selection.opcodes, "Instructions of this opcode; may be repeated")
      ->type_name("OPCODE")
      ->allow_extra_args(false);
  command
      .add_option("--op-name", selection.op_name,
                  "Instructions whose metadata op_name this regular expression matches")
      ->type_name("REGEX");
  command
      .add_option("--source", selection.source, "Instructions whose metadata name this source file and line")
      ->type_name("FILE[:LINE]");
}

// Returns the types of a list such as f16,f8e5m2, or the usual ones for `all`; nothing unless all are floats
// of at most 16 bits.
std::vector<ElementType> NarrowTypes(const std::string& text) {
  if (text == "all")
    return {ElementType::kBF16, ElementType::kF16, ElementType::kF8E5M2, ElementType::kF8E4M3FN};
  std::vector<ElementType> types;
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::optional<ElementType> type = ParseElementType(name);
    if (!type || !IsFloat(*type) || BitWidth(*type) > 16) return {};
    types.push_back(*type);
  }
  return types;
}

// Adds the report of values that narrower types cannot represent. Its flag replaces the one for the range of
// random arguments, which remains as --random-range.
void AddRangeFlags(CLI::App& command, TraceFlags& flags) {
  command.remove_option(command.get_option("--range"));
  AddRandomRangeFlag(command, flags.inputs, "--random-range");
  command.add_flag(
      "--range{all}", flags.range_text,
      "Print which values would overflow or underflow if they were stored as bf16, f16, f8e5m2 or f8e4m3fn, "
      "or as the types of --range=TYPE[,TYPE], and which are infinite or NaN already");
}

void ReadRangeFlag(TraceFlags& flags) {
  if (flags.range_text.empty()) return;
  flags.range = NarrowTypes(flags.range_text);
  if (flags.range.empty())
    throw CLI::ValidationError("--range",
                               fmt::format("'{}' is not a list of float types of at most 16 bits; the "
                                           "range of random arguments is --random-range LO:HI",
                                           flags.range_text));
  for (const std::string& file : flags.common.files) {
    if (std::filesystem::exists(file)) continue;
    if (!NarrowTypes(file).empty())
      throw CLI::ValidationError("--range",
                                 fmt::format("'{}' is taken as a file: write --range={}", file, file));
    if (ParseInputRange(file).ok())
      throw CLI::ValidationError(
          "--range",
          fmt::format("'{}' is taken as a file: the range of random arguments is --random-range {}", file,
                      file));
  }
}

}  // namespace

void AddTrace(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<TraceFlags>();
  CLI::App* command = program.add_subcommand(
      "trace", "Print the values of instructions during a run; find the origin of NaNs and infinities");
  AddCommonFlags(*command, flags->common);
  AddWatchedRunFlags(*command, flags->common, flags->inputs, flags->devices);
  AddCustomCallFlags(*command, flags->custom_calls);
  AddEngineFlag(*command, flags->engine.engine);
  AddSelectionFlags(*command, flags->selection);
  command
      ->add_option("--iteration", flags->iteration,
                   "Only this iteration of the innermost loop, from 1; 2.3 is iteration 3 in iteration 2 of "
                   "the loop around it")
      ->type_name("N");
  command->add_flag("--values", flags->values, "Print the elements, too; large arrays are abbreviated");
  command->add_flag("--full", flags->full, "With --values, print all elements of large arrays")
      ->needs("--values");
  command->add_option("-o,--output", flags->output, "Store the values in an archive")->type_name("FILE.npz");
  command->add_option("--max-records", flags->max_records, "Maximum number of records to report")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--nans", flags->origins.nans,
                    "Find the instructions that produce NaNs, and how these reach the results; exit with "
                    "status 1 if there are any");
  command->add_flag("--infs", flags->origins.infinities, "The same for infinities");
  command
      ->add_option("--repeat", flags->origins.repeat,
                   "With --nans and --infs, check this many runs and report the time of the fastest as "
                   "watched_s in JSON")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  AddRangeFlags(*command, *flags);
  AddMaxSecondsFlag(*command, flags->evaluate.max_seconds);
  command->footer(
      "An instruction is traced if it satisfies all criteria; without criteria, all instructions are "
      "traced.\n"
      "The fast engine runs the module with each instruction as a separate step. Instructions that it does "
      "not\n"
      "compute separately, such as parameters and the instructions of reducers, are traced on the "
      "reference,\n"
      "and come last.\n"
      "Examples:\n"
      "  hlo-run trace m.hlo --random 1 --opcode dot\n"
      "  hlo-run trace m.hlo --input args.npz --match 'add.*' --iteration 3 --output values.npz\n"
      "  hlo-run trace m.hlo --input args.npz --nans");
  command->callback([flags, &exit_status] {
    if (!flags->output.empty() && flags->common.files.size() > 1)
      throw CLI::ValidationError("--output", "takes a single input file");
    if (!flags->output.empty() && FileFormatOf(flags->output) != FileFormat::kNpz)
      throw CLI::ValidationError("--output", "takes an archive: FILE.npz");
    ReadRangeFlag(*flags);
    exit_status = ForEachFile(
        flags->common, [&](const std::string& file, FileResult& result) { Trace(*flags, file, result); });
  });
}

}  // namespace hlo::cli
