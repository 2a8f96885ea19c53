#include "debug/selection.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/pattern.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/opcode.h"
#include "ir/opcode_names.h"

namespace hlo::debug {
namespace {

bool IsFound(std::string_view text, const std::regex& pattern) {
  return std::regex_search(text.begin(), text.end(), pattern);
}

// True if `path` is `wanted` or ends in a slash and `wanted`.
bool IsFile(std::string_view path, std::string_view wanted) {
  if (!path.ends_with(wanted)) return false;
  return path.size() == wanted.size() || path[path.size() - wanted.size() - 1] == '/';
}

// A place that a flag names; line 0 is any line.
struct WantedPlace {
  std::string_view file;
  int64_t line = 0;
};
WantedPlace ParsePlace(std::string_view text) {
  const size_t colon = text.rfind(':');
  int64_t line = 0;
  if (colon == std::string_view::npos) return {text, 0};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, line);
  if (error != std::errc() || stop != end) return {text, 0};
  return {text.substr(0, colon), line};
}

absl::StatusOr<std::vector<Opcode>> Opcodes(const std::vector<std::string>& texts) {
  std::vector<Opcode> opcodes;
  for (const std::string& text : texts) {
    const std::optional<Opcode> opcode = ParseOpcode(text);
    if (!opcode) {
      const std::string_view near = ClosestOpcode(text);
      return absl::InvalidArgumentError(
          fmt::format("--opcode: there is no opcode '{}'{}", text,
                      near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    opcodes.push_back(*opcode);
  }
  return opcodes;
}

// Returns the criteria as the flags that state them.
std::string Criteria(const SelectionOptions& options) {
  std::vector<std::string> flags;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) flags.push_back(fmt::format("--{} '{}'", flag, value));
  };
  add("match", options.match);
  for (const std::string& opcode : options.opcodes) add("opcode", opcode);
  add("op-name", options.op_name);
  add("source", options.source);
  return flags.empty() ? "is selected" : fmt::format("satisfies {}", fmt::join(flags, " "));
}

// Returns a remark if a criterion is about metadata that no instruction has.
std::string MissingMetadata(const Module& module, const SelectionOptions& options) {
  bool has_op_name = false, has_source = false;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      const Metadata* metadata = instruction->Get<attr::metadata>();
      has_op_name |= metadata != nullptr && !metadata->op_name.empty();
      has_source |= !StatedPlace(*instruction).file.empty();
    }
  }
  if (!options.source.empty() && !has_source) return ": its metadata name no source";
  if (!options.op_name.empty() && !has_op_name) return ": its metadata have no op_name";
  return "";
}

}  // namespace

ProgramPlace StatedPlace(const Instruction& instruction) {
  const Metadata* metadata = instruction.Get<attr::metadata>();
  if (metadata == nullptr) return {};
  if (!metadata->source_file.empty()) return {std::string(metadata->source_file), "", metadata->source_line};
  const std::vector<ProgramPlace> places = ProgramPlaces(instruction);
  return places.empty() ? ProgramPlace() : places.front();
}

absl::StatusOr<absl::flat_hash_set<const Instruction*>> Select(const Module& module,
                                                               const SelectionOptions& options) {
  HLO_ASSIGN_OR_RETURN(const std::regex match, ParsePattern("match", options.match));
  HLO_ASSIGN_OR_RETURN(const std::regex op_name, ParsePattern("op-name", options.op_name));
  HLO_ASSIGN_OR_RETURN(const std::vector<Opcode> opcodes, Opcodes(options.opcodes));
  const WantedPlace wanted = ParsePlace(options.source);
  const auto is_selected = [&](const Instruction& instruction) {
    if (!IsFound(instruction.name(), match)) return false;
    if (!opcodes.empty() && std::find(opcodes.begin(), opcodes.end(), instruction.opcode()) == opcodes.end())
      return false;
    const Metadata* metadata = instruction.Get<attr::metadata>();
    if (!IsFound(metadata == nullptr ? std::string_view() : metadata->op_name, op_name)) return false;
    if (options.source.empty()) return true;
    const ProgramPlace place = StatedPlace(instruction);
    return IsFile(place.file, wanted.file) && (wanted.line == 0 || wanted.line == place.line);
  };
  absl::flat_hash_set<const Instruction*> selected;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (is_selected(*instruction)) selected.insert(instruction);
    }
  }
  if (!selected.empty()) return selected;
  return absl::InvalidArgumentError(
      fmt::format("no instruction of the module {}{}", Criteria(options), MissingMetadata(module, options)));
}

}  // namespace hlo::debug
