// docs: the man page and the bash completion, made from the flags that the subcommands define.

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

std::vector<const CLI::App*> Subcommands(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App* s) { return !s->get_name().empty(); });
}

// Text for troff: dashes that stay dashes, backslashes and leading dots that mean nothing.
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

void ManSection(const CLI::App& app, std::string& out) {
  for (const CLI::Option* option : app.get_options()) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", Troff(FlagNames(*option)), Troff(option->get_description()));
    if (!option->get_default_str().empty())
      out += fmt::format("Default: {}.\n", Troff(option->get_default_str()));
  }
  if (!app.get_footer().empty()) out += fmt::format(".PP\n.nf\n{}\n.fi\n", Troff(app.get_footer()));
}

std::string ManPage(const CLI::App& program) {
  std::string out = fmt::format(".TH HLO\\-RUN 1 \"\" \"hlo\\-run {}\" \"User Commands\"\n", HLO_RUN_VERSION);
  out += ".SH NAME\nhlo\\-run \\- interpreter and reference evaluator for XLA HLO text\n";
  out += ".SH SYNOPSIS\n.B hlo\\-run\n.RI [ SUBCOMMAND ] \" FILE\"...\n.RI [ FLAGS ]\n";
  out += fmt::format(".SH DESCRIPTION\n{}\n.PP\n.nf\n{}\n.fi\n", Troff(program.get_description()),
                     Troff(program.get_footer()));
  for (const CLI::App* command : Subcommands(program)) {
    out += fmt::format(".SH \"HLO\\-RUN {}\"\n{}\n", Troff(command->get_name()),
                       Troff(command->get_description()));
    ManSection(*command, out);
  }
  return out;
}

std::string Completion(const CLI::App& program) {
  std::string out =
      "# bash completion for hlo-run\n_hlo_run() {\n  local word=${COMP_WORDS[COMP_CWORD]} flags\n";
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : Subcommands(program)) {
    names.push_back(command->get_name());
    std::vector<std::string> flags;
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& l : option->get_lnames()) flags.push_back("--" + l);
    }
    cases += fmt::format("    {}) flags=\"{}\" ;;\n", command->get_name(), fmt::join(flags, " "));
  }
  out += fmt::format(
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"{} --help --version\" -- "
      "\"$word\") "
      "$(compgen -f -- \"$word\"))\n    return\n  fi\n",
      fmt::join(names, " "));
  out += fmt::format("  case ${{COMP_WORDS[1]}} in\n{}    *) flags=\"\" ;;\n  esac\n", cases);
  out +=
      "  if [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\ncomplete -o filenames -F _hlo_run hlo-run\n";
  return out;
}

}  // namespace

void AddDocs(CLI::App& program, int& exit_status) {
  CLI::App* command = program.add_subcommand("docs", "Print the man page or the bash completion");
  auto what = std::make_shared<std::string>();
  command->add_option("what", *what, "man or bash-completion")
      ->required()
      ->type_name("WHAT")
      ->check(CLI::IsMember({"man", "bash-completion"}));
  command->footer("Examples:\n  hlo-run docs man | man -l -\n  source <(hlo-run docs bash-completion)");
  command->callback([what, &program, &exit_status] {
    const std::string text = *what == "man" ? ManPage(program) : Completion(program);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) NoteOutputError(errno);
    exit_status = 0;
  });
}

}  // namespace hlo::cli
