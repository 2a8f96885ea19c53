// Parses the names of files in XLA's dumps.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "hlo_run/module_file.h"
#include "io/compression.h"

namespace hlo {
namespace {

struct SideFile {
  std::string_view part;  // Part of the file name.
  std::string_view kind;
  bool is_ending = false;
};

constexpr SideFile kSideFiles[] = {
    {"-buffer-assignment", "buffer assignments"},
    {"-memory-usage-report", "memory reports"},
    {"-live-range", "live ranges"},
    {"debug_options", "debug options"},
    {"compile_options", "compile options"},
    {"execution_options", "execution options"},
    {"topology", "topologies"},
    {"thunk_sequence", "thunks"},
    {"thunk-sequence", "thunks"},
    {"thunks", "thunks"},
    {"gpu_target_config", "target configurations"},
    {"target_config", "target configurations"},
    {"autotune", "autotuning results"},
    {"latency_hiding", "schedules"},
    {"-schedule.", "schedules"},
    {"ir-with-opt", "LLVM IR"},
    {"ir-no-opt", "LLVM IR"},
    {"xplane", "profiles"},
    {".ll", "LLVM IR", true},
    {".bc", "LLVM IR", true},
    {".mlir", "MLIR", true},
    {".o", "object files", true},
    {".s", "assembly", true},
    {".asm", "assembly", true},
    {".ptx", "assembly", true},
    {".cubin", "object files", true},
    {".hsaco", "object files", true},
    {".dot", "graphs", true},
    {".html", "graphs", true},
    {".url", "graphs", true},
};

std::string_view FileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Removes an ending from the text; returns false if it has another one.
bool Strip(std::string_view ending, std::string_view* text) {
  if (!text->ends_with(ending)) return false;
  text->remove_suffix(ending.size());
  return true;
}

size_t DigitCount(std::string_view text) {
  return std::find_if_not(text.begin(), text.end(), absl::ascii_isdigit) - text.begin();
}

// Returns true if the text names a pass.
bool IsPass(std::string_view text) {
  if (text == "before_optimizations" || text.starts_with("snapshot.") || text.starts_with("execution_"))
    return true;
  if (DigitCount(text.substr(0, 4)) == 4 && text.substr(4).starts_with('.')) return true;
  const auto is_word = [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; };
  return text.find("after_") != std::string_view::npos && absl::c_all_of(text, is_word);
}

// Returns the text without its ending, in all ways in which the ending can be read, the longest ending first;
// empty if it has none.
std::vector<std::string_view> Stems(std::string_view text) {
  if (!Strip(".pbtxt", &text) && !Strip(".txt", &text) && !Strip(".hlo", &text) && !Strip(".pb", &text))
    return {};
  std::vector<std::string_view> stems = {text};
  if (Strip(".hlo", &text)) stems.push_back(text);
  for (size_t i = 0, count = stems.size(); i < count; ++i) {
    std::string_view stem = stems[i];
    if (Strip(".hlo_unoptimized_snapshot", &stem)) stems.push_back(stem);
  }
  absl::c_sort(stems, [](std::string_view a, std::string_view b) { return a.size() < b.size(); });
  return stems;
}

}  // namespace

std::string_view SideFileKind(std::string_view path) {
  const std::string_view name = io::WithoutCompressionSuffix(FileName(path));
  const auto row = std::find_if(std::begin(kSideFiles), std::end(kSideFiles), [&](const SideFile& side) {
    return side.is_ending ? name.ends_with(side.part) : name.find(side.part) != std::string_view::npos;
  });
  // The name of a module may contain any of these words.
  const bool is_module = name.ends_with(".hlo") || name.ends_with(".hlo.pb");
  return row == std::end(kSideFiles) || is_module ? std::string_view() : row->kind;
}

DumpName ParseDumpName(std::string_view path) {
  // The form is [time.]module_NUMBER.NAME.PASS.ENDING.
  constexpr std::string_view kPrefix = "module_";
  const std::string_view name = io::WithoutCompressionSuffix(FileName(path));
  DumpName unknown = {std::string(name.substr(0, name.rfind('.'))), ""};
  std::string_view text = name;
  const size_t time = DigitCount(text);
  if (time > 0 && text.substr(time).starts_with('.')) text.remove_prefix(time + 1);
  if (!text.starts_with(kPrefix)) return unknown;
  const size_t number = DigitCount(text.substr(kPrefix.size()));
  const std::vector<std::string_view> stems = Stems(text);
  if (number == 0 || stems.empty()) return unknown;

  // The module's name has as few components as possible.
  size_t end = kPrefix.size() + number;
  while (end <= stems.back().size()) {
    for (const std::string_view stem : stems) {
      if (stem.size() > end && stem[end] == '.' && IsPass(stem.substr(end + 1)))
        return {std::string(stem.substr(0, end)), std::string(stem.substr(end + 1))};
    }
    for (const std::string_view stem : stems) {
      if (stem.size() == end) return {std::string(stem), ""};
    }
    const size_t next = std::min(text.find('.', end + 1), text.size());
    if (text[end] != '.' || next == end + 1) return unknown;
    end = next;
  }
  return unknown;
}

}  // namespace hlo
