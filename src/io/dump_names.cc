// Parses the names of files in XLA's dumps.

#include <algorithm>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
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
  return slash == path.npos ? path : path.substr(slash + 1);
}

}  // namespace

std::string_view SideFileKind(std::string_view path) {
  const std::string_view name = io::WithoutCompressionSuffix(FileName(path));
  const auto row = std::find_if(std::begin(kSideFiles), std::end(kSideFiles), [&](const SideFile& side) {
    return side.is_ending ? name.ends_with(side.part) : name.find(side.part) != name.npos;
  });
  // The name of a module may contain any of these words.
  const bool is_module = name.ends_with(".hlo") || name.ends_with(".hlo.pb");
  return row == std::end(kSideFiles) || is_module ? std::string_view() : row->kind;
}

DumpName ParseDumpName(std::string_view path) {
  const std::string name(io::WithoutCompressionSuffix(FileName(path)));
  // The form is [time.]module_NUMBER.NAME.PASS.ENDING.
  static const std::regex* const pattern = new std::regex(
      R"((?:\d+\.)?(module_\d+(?:\.[^.]+)*?)(?:\.(\d{4}\..*?|before_optimizations|[A-Za-z0-9_-]*after_[A-Za-z0-9_-]*|snapshot\..*?|execution_.*?))?)"
      R"((?:\.hlo_unoptimized_snapshot)?(?:\.hlo)?\.(?:txt|hlo|pb|pbtxt))");
  std::smatch match;
  if (std::regex_match(name, match, *pattern)) return {match[1].str(), match[2].str()};
  return {name.substr(0, name.rfind('.')), ""};
}

}  // namespace hlo
