// Implements `docs`: generates man pages and shell completions from the flags of the subcommands.

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/completion.h"
#include "fmt/format.h"
#include "hlo_run/version.h"

namespace hlo::cli {
namespace {

// Escapes text for troff: hyphens, backslashes, and dots or quotes at the start of a line.
std::string Troff(std::string_view text) {
  std::string escaped = absl::StrReplaceAll({text.data(), text.size()}, {{"\\", "\\e"}, {"-", "\\-"}});
  escaped = absl::StrReplaceAll(escaped, {{"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
  return escaped;
}

std::string FlagNames(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& s : option.get_snames()) names.push_back("-" + s);
  for (const std::string& l : option.get_lnames()) names.push_back("--" + l);
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (names.empty()) return option.get_type_name();
  if (option.get_items_expected_max() > 0) text += " " + option.get_type_name();
  return text;
}

void ManFlags(const CLI::App& app, std::string& out) {
  for (const CLI::Option* option : app.get_options()) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", Troff(FlagNames(*option)), Troff(option->get_description()));
    if (!option->get_default_str().empty())
      out += fmt::format("Default: {}.\n", Troff(option->get_default_str()));
  }
}

std::string Preformatted(std::string_view text) {
  return text.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", Troff(text));
}

std::string ManHeader(std::string_view page, std::string_view summary) {
  std::string title = absl::AsciiStrToUpper({page.data(), page.size()});
  return fmt::format(".TH {} 1 \"\" \"hlo\\-run {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", Troff(title),
                     GetBuildInfo().version, Troff(page), Troff(summary));
}

// Returns hlo-run(1), which lists the subcommands and refers to their pages.
std::string ManPage(const CLI::App& program) {
  std::string out = ManHeader("hlo-run", "interpreter and reference evaluator for XLA HLO text");
  out += ".SH SYNOPSIS\n.B hlo\\-run\n.RI [ SUBCOMMAND ] \" FILE\"...\n.RI [ FLAGS ]\n";
  out += fmt::format(".SH DESCRIPTION\n{}\n", Troff(program.get_description()));
  out += Preformatted(program.get_footer());
  out += ".SH SUBCOMMANDS\n";
  for (const CLI::App* command : Subcommands(program)) {
    const std::string name = Troff(command->get_name());
    out += fmt::format(".TP\n\\fB{}\\fR\n{}: see\n.BR hlo\\-run\\-{} (1).\n", name,
                       Troff(command->get_description()), name);
  }
  out += ".SH FLAGS\n";
  ManFlags(program, out);
  return out;
}

// Returns hlo-run-COMMAND(1).
std::string ManPage(const CLI::App& program, const CLI::App& command) {
  std::string out = ManHeader("hlo-run-" + command.get_name(), command.get_description());
  out += fmt::format(".SH SYNOPSIS\n.B hlo\\-run {}\n", Troff(command.get_name()));
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    out += fmt::format(".RI {}{}\n", Troff(option->get_type_name()),
                       option->get_items_expected_max() > 1 ? " ..." : "");
  }
  out += ".RI [ FLAGS ]\n.SH FLAGS\n";
  ManFlags(command, out);
  if (!command.get_footer().empty()) out += ".SH NOTES\n" + Preformatted(command.get_footer());
  return out + fmt::format(".SH SEE ALSO\n.BR {} (1)\n", Troff(program.get_name()));
}

absl::Status Write(const std::filesystem::path& path, std::string_view text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  return WriteOutput(path.string(), text);
}

// Writes all files to their standard places below a prefix's share/.
absl::Status WriteTree(const CLI::App& program, const std::filesystem::path& share) {
  HLO_RETURN_IF_ERROR(Write(share / "man/man1/hlo-run.1", ManPage(program)));
  for (const CLI::App* command : Subcommands(program)) {
    HLO_RETURN_IF_ERROR(
        Write(share / "man/man1" / ("hlo-run-" + command->get_name() + ".1"), ManPage(program, *command)));
  }
  HLO_RETURN_IF_ERROR(Write(share / "bash-completion/completions/hlo-run", BashCompletion(program)));
  HLO_RETURN_IF_ERROR(Write(share / "zsh/site-functions/_hlo-run", ZshCompletion(program)));
  return Write(share / "fish/vendor_completions.d/hlo-run.fish", FishCompletion(program));
}

}  // namespace

std::vector<const CLI::App*> Subcommands(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App* s) { return !s->get_name().empty(); });
}

namespace {

const CLI::App& SubcommandOf(const CLI::App& program, const std::string& name) {
  for (const CLI::App* command : Subcommands(program)) {
    if (command->get_name() == name) return *command;
  }
  throw CLI::ValidationError("name", "there is no subcommand '" + name + "'");
}

}  // namespace

void AddDocs(CLI::App& program, int& exit_status) {
  CLI::App* command =
      program.add_subcommand("docs", "Print a man page or a shell completion, or store all of them");
  auto what = std::make_shared<std::string>();
  auto name = std::make_shared<std::string>();
  command->add_option("what", *what, "man, bash-completion, zsh-completion, fish-completion, or tree")
      ->required()
      ->type_name("WHAT")
      ->check(CLI::IsMember({"man", "bash-completion", "zsh-completion", "fish-completion", "tree"}));
  command
      ->add_option("name", *name, "man: the subcommand; tree: the folder for the files, such as PREFIX/share")
      ->type_name("NAME");
  command->footer(
      "Examples:\n  hlo-run docs man | man -l -\n  hlo-run docs man plan | man -l -\n"
      "  source <(hlo-run docs bash-completion)\n  hlo-run docs tree ~/.local/share");
  command->callback([what, name, &program, &exit_status] {
    exit_status = 0;
    std::string text;
    if (!name->empty() && *what != "man" && *what != "tree")
      throw CLI::ValidationError("name", fmt::format("{} does not take '{}'", *what, *name));
    if (*what == "tree") {
      if (name->empty()) throw CLI::RequiredError("tree: a folder");
      const absl::Status status = WriteTree(program, *name);
      if (status.ok()) return;
      fmt::print(stderr, "hlo-run: error: {}\n", Message(status));
      exit_status = static_cast<int>(ExitFor(status));
      return;
    }
    if (*what == "man" && name->empty())
      text = ManPage(program);
    else if (*what == "man")
      text = ManPage(program, SubcommandOf(program, *name));
    else if (*what == "bash-completion")
      text = BashCompletion(program);
    else if (*what == "zsh-completion")
      text = ZshCompletion(program);
    else
      text = FishCompletion(program);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) RecordOutputError(errno);
  });
}

}  // namespace hlo::cli
