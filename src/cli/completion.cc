#include "cli/completion.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// Returns the possible values of a flag from its description or type: `{cpu,gpu}`.
std::vector<std::string> ValueWords(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(type.substr(open + 1, close - open - 1), ',')) {
    words.emplace_back(absl::StripAsciiWhitespace(word));
  }
  return words;
}

std::string AllNames(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : Subcommands(program)) names.push_back(command->get_name());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string ZshText(const std::string& text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}
std::string FishText(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}});
}

std::string ZshFlag(const CLI::Option& option, const std::string& flag) {
  std::string spec =
      fmt::format("{}{}[{}]", TakesValue(option) ? "*" : "", flag, ZshText(option.get_description()));
  if (!TakesValue(option)) return spec;
  const std::vector<std::string> words = ValueWords(option);
  return spec + (words.empty() ? ":value:_files" : fmt::format(":value:({})", fmt::join(words, " ")));
}

}  // namespace

std::string BashCompletion(const CLI::App& program) {
  std::string cases, values;
  for (const CLI::App* command : Subcommands(program)) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& l : option->get_lnames()) flags.push_back("--" + l);
      const std::vector<std::string> words = ValueWords(*option);
      if (words.empty() || option->get_lnames().empty()) continue;
      values += fmt::format("    \"{} --{}\") words=\"{}\" ;;\n", command->get_name(),
                            option->get_lnames().front(), fmt::join(words, " "));
    }
    cases += fmt::format("    {}) flags=\"{}\" ;;\n", command->get_name(), fmt::join(flags, " "));
  }
  std::string out =
      "# bash completion for hlo-run\n_hlo_run() {\n  local word=${COMP_WORDS[COMP_CWORD]} flags words "
      "command\n"
      "  local before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  if [[ $word == = ]]; then word= before=${COMP_WORDS[COMP_CWORD-1]}; fi\n";
  out += fmt::format(
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"{} --help --version\" -- "
      "\"$word\") "
      "$(compgen -f -- \"$word\"))\n    return\n  fi\n",
      AllNames(program));
  // `hlo-run FILE` means `run FILE`.
  out += fmt::format(
      "  command=${{COMP_WORDS[1]}}\n  case \" {} \" in\n    *\" $command \"*) ;;\n    *) command=run ;;\n  "
      "esac\n",
      AllNames(program));
  out +=
      fmt::format("  case $command in\n{}  esac\n  case \"$command $before\" in\n{}  esac\n", cases, values);
  out +=
      "  if [[ -n $words ]]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  elif [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\ncomplete -o filenames -F _hlo_run hlo-run\n";
  return out;
}

std::string ZshCompletion(const CLI::App& program) {
  std::string list, cases;
  for (const CLI::App* command : Subcommands(program)) {
    list += fmt::format("    '{}:{}'\n", command->get_name(), ZshText(command->get_description()));
    cases += fmt::format("    {})\n      _arguments \\\n", command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& l : option->get_lnames())
        cases += fmt::format("        '{}' \\\n", ZshFlag(*option, "--" + l));
      for (const std::string& s : option->get_snames())
        cases += fmt::format("        '{}' \\\n", ZshFlag(*option, "-" + s));
    }
    cases += "        '*:file:_files'\n      ;;\n";
  }
  return fmt::format(
      "#compdef hlo-run\n# zsh completion for hlo-run\n_hlo_run() {{\n  local -a commands\n  commands=(\n{}  "
      ")\n"
      "  if (( CURRENT == 2 )); then\n    _describe command commands\n    _files\n    return\n  fi\n"
      "  local command=${{words[2]}}\n  if (( ${{commands[(I)$command:*]}} )); then\n    shift words\n    (( "
      "CURRENT-- ))\n"
      "  else\n    command=run\n  fi\n  case $command in\n{}  esac\n}}\n"
      "if [ \"$funcstack[1]\" = _hlo-run ]; then\n  _hlo_run \"$@\"\nelse\n  compdef _hlo_run hlo-run\nfi\n",
      list, cases);
}

std::string FishCompletion(const CLI::App& program) {
  std::string out = "# fish completion for hlo-run\n";
  const std::string names = AllNames(program);
  for (const CLI::App* command : Subcommands(program)) {
    out += fmt::format("complete -c hlo-run -n __fish_use_subcommand -a {} -d '{}'\n", command->get_name(),
                       FishText(command->get_description()));
  }
  for (const CLI::App* command : Subcommands(program)) {
    // `hlo-run FILE` means `run FILE`.
    const std::string condition =
        command->get_name() == "run"
            ? fmt::format("not __fish_seen_subcommand_from {}", absl::StrReplaceAll(names, {{"run ", ""}}))
            : fmt::format("__fish_seen_subcommand_from {}", command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      std::string flags;
      for (const std::string& s : option->get_snames()) flags += " -s " + s;
      for (const std::string& l : option->get_lnames()) flags += " -l " + l;
      if (flags.empty()) continue;
      const std::vector<std::string> words = ValueWords(*option);
      if (TakesValue(*option)) flags += " -r";
      if (!words.empty()) flags += fmt::format(" -f -a '{}'", fmt::join(words, " "));
      out += fmt::format("complete -c hlo-run -n '{}'{} -d '{}'\n", condition, flags,
                         FishText(option->get_description()));
    }
  }
  return out;
}

}  // namespace hlo::cli
