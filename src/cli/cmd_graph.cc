// Implements `graph`: a module as a graph, for Graphviz or as a page for browsers.

#include <filesystem>

#include "absl/strings/str_replace.h"
#include "base/activity.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/flags.h"
#include "cli/graph_page.h"
#include "cli/interrupt.h"
#include "cli/single.h"
#include "debug/graph/graph.h"
#include "debug/process.h"
#include "fmt/format.h"
#include "io/file.h"
#include "observe/profile.h"

namespace hlo::cli {
namespace {

struct GraphFlags {
  CommonOptions common;
  InputOptions inputs;
  DevicesFlags devices;
  std::string output, recorded;
  debug::DiffOptions run;
  bool has_inputs() const { return !inputs.files.empty() || inputs.generates_values || !recorded.empty(); }
};

std::string PagePart(std::string_view name) {
  for (const EmbeddedFile* file = kGraphPageFiles; file->name != nullptr; ++file) {
    if (file->name == name) return file->text;
  }
  return "";
}

// The data is a script, in which `</` would end the script.
std::string Page(const Module& module, const debug::GraphFacts& facts) {
  const std::string data =
      GraphJson(module, facts).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return fmt::format(R"(<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{}</title>
<style>{}</style>
<header><b>{}</b><input type="search" id="search" placeholder="name, opcode, shape, op_name">
<select id="top" title="computation"></select>
<select id="colour"><option>opcode<option>nan<option>time<option>error</select><span id="legend"></span>
<button id="unfold">unfold fusions</button><button id="fold">fold all</button><button id="fit">fit</button></header>
<main id="stage"><canvas id="canvas"></canvas></main>
<aside id="side">Click an instruction. Double-click one that calls computations to unfold it.</aside>
<script>const DATA = {};</script>
<script>{}</script>
<script>{}</script>
</html>
)",
                     module.name(), PagePart("style"), module.name(),
                     absl::StrReplaceAll(data, {{"</", "<\\/"}}), PagePart("layout"), PagePart("view"));
}

// A profile that is interrupted has the times of the steps so far.
absl::Status AddTimes(const CheckedModule& module, const debug::WatchedArguments& arguments,
                      const EvaluateOptions& evaluate, debug::GraphFacts& facts) {
  HLO_ASSIGN_OR_RETURN(Executable executable, Executable::Make(module, Engine::kFast));
  HLO_RETURN_IF_ERROR(RunWatched(executable, arguments, evaluate).status());
  Profile profile;
  absl::Status status =
      RunWatched(executable, arguments, {.cancel = evaluate.cancel, .observer = &profile}).status();
  for (const Profile::Row& row : profile.ByInstruction()) facts[row.instruction].seconds += row.seconds;
  return status;
}

// Adds the facts that a run tells; those known so far if it is interrupted.
absl::Status AddFacts(const GraphFlags& flags, const LoadedModule& loaded, FileResult& result,
                      debug::GraphFacts& facts) {
  if (!flags.has_inputs()) return absl::OkStatus();
  HLO_RETURN_IF_ERROR(RequireElements(loaded));
  HLO_ASSIGN_OR_RETURN(const debug::WatchedArguments arguments,
                       MakeWatchedRun(flags.inputs, flags.common, flags.devices, loaded, result));
  std::unique_ptr<Archive> recorded;
  if (!flags.recorded.empty()) {
    HLO_ASSIGN_OR_RETURN(recorded, Archive::Open(flags.recorded));
  }
  const auto see = [&](const Instruction& instruction, const Literal& value) {
    debug::InstructionFacts& mine = facts[&instruction];
    mine.value = debug::FactsOf(value);
    if (recorded != nullptr) debug::AddErrors(*recorded, instruction, value, mine);
  };
  debug::DiffOptions run = flags.run;
  run.evaluate = {.cancel = &interrupt_flag, .observer = result.progress};
  HLO_RETURN_IF_ERROR(debug::ForEachValue(loaded.checked.front(), arguments, run, see));
  Report({.what = "measuring times"});
  return AddTimes(loaded.checked.front(), arguments, run.evaluate, facts);
}

absl::Status WriteSvg(const std::string& path, const std::string& dot) {
  HLO_ASSIGN_OR_RETURN(const debug::TemporaryFolder folder, debug::TemporaryFolder::Make());
  HLO_RETURN_IF_ERROR(io::WriteText(folder.File("graph.dot"), dot));
  const std::string command =
      debug::FillPlaceholders("command -v dot >/dev/null || exit 127; dot -Tsvg -o {svg} {dot}",
                              {{"{svg}", folder.File("graph.svg")}, {"{dot}", folder.File("graph.dot")}});
  HLO_ASSIGN_OR_RETURN(const debug::CommandOutcome outcome, debug::RunCommand(command, 600));
  if (outcome.exit_status == 127)
    return absl::FailedPreconditionError("SVG needs Graphviz: the command dot is not installed");
  if (!outcome.ok())
    return absl::FailedPreconditionError(
        fmt::format("dot failed: {}\n{}", Describe(outcome), outcome.output));
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<const SourceText> svg,
                       SourceText::Read(folder.File("graph.svg")));
  return WriteOutput(path, svg->content());
}

absl::Status Write(const GraphFlags& flags, const Module& module, const debug::GraphFacts& facts) {
  const std::string ending = std::filesystem::path(flags.output).extension();
  if (ending == ".html") return WriteOutput(flags.output, Page(module, facts));
  if (ending == ".svg") return WriteSvg(flags.output, GraphDot(module, facts));
  return WriteOutput(flags.output, GraphDot(module, facts));
}

// Other endings would promise a format that is not written.
absl::Status CheckEnding(const std::string& output) {
  const std::string ending = std::filesystem::path(output).extension();
  for (const std::string_view known : {"", ".html", ".svg", ".dot", ".gv", ".txt"}) {
    if (ending == known) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("graphs are written as .html, .svg or .dot, not as {}", ending));
}

void RunGraph(const GraphFlags& flags, FileResult& result) {
  const std::string& file = flags.common.files[0];
  if (!result.Accept(CheckEnding(flags.output), flags.output)) return;
  const LoadedModule loaded = Load(file, flags.common, LoadUntil::kChecked, Exit::kInvalid, result);
  if (loaded.module == nullptr) return;
  debug::GraphFacts facts;
  const absl::Status known = AddFacts(flags, loaded, result, facts);
  if (!known.ok() && !absl::IsCancelled(known)) {
    result.Accept(known, file);
    return;
  }
  result.extra["instructions"] = loaded.module->instruction_count();
  result.extra["values"] = facts.size();
  const absl::Status written = Write(flags, *loaded.module, facts);
  if (flags.output == "-" && !written.ok()) return;  // The program reports errors of standard output.
  if (!result.Accept(written, flags.output)) return;
  result.Accept(known, file);
}

}  // namespace

void AddGraph(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<GraphFlags>();
  flags->output = "-";
  CLI::App* command = program.add_subcommand("graph", "Draw a module as an HTML page, DOT, or SVG");
  AddCommonFlags(*command, flags->common);
  AddWatchedRunFlags(*command, flags->common, flags->inputs, flags->devices);
  command
      ->add_option("--against", flags->recorded,
                   "Values that another system recorded (.npz, .safetensors, .json), keyed by instruction "
                   "name; the page shows their errors")
      ->type_name("FILE");
  command
      ->add_option("-o,--output", flags->output,
                   "Output file: .html, a self-contained page; .svg, made by Graphviz; or .dot. Default: DOT "
                   "on standard output")
      ->type_name("FILE");
  command->footer(
      "With inputs, the module runs, and the page shows the values, times and NaNs of its instructions. A "
      "link\n"
      "may end in #select=NAME, #search=TEXT, #colour=nan or #unfold, joined by &.\n"
      "Examples:\n"
      "  hlo-run graph m.hlo -o m.html --random 1\n"
      "  hlo-run graph m.hlo | dot -Tpdf -o m.pdf");
  command->callback([flags, &exit_status] {
    if (flags->common.files.size() != 1) throw CLI::ValidationError("graph", "takes one module");
    exit_status = RunOnce(flags->common, [&](FileResult& result) { RunGraph(*flags, result); });
  });
}

}  // namespace hlo::cli
