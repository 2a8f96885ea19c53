// Implements `stats`: prints counts, cost and memory of a module.

#include "cli/commands.h"
#include "cli/flags.h"
#include "fmt/format.h"
#include "hlo_run/cost.h"

namespace hlo::cli {
namespace {

Json ToJson(const ModuleStatistics& s) {
  Json opcodes = Json::object(), types = Json::object();
  for (const auto& [name, count] : s.opcodes) opcodes[std::string(name)] = count;
  for (const auto& [name, count] : s.element_types) types[std::string(name)] = count;
  return {{"instructions", s.instructions},
          {"flops", s.entry.flops},
          {"transcendentals", s.entry.transcendentals},
          {"bytes_read", s.entry.bytes_read},
          {"bytes_written", s.entry.bytes_written},
          {"parameter_bytes", s.parameter_bytes},
          {"result_bytes", s.result_bytes},
          {"constant_bytes", s.constant_bytes},
          {"peak_bytes", s.peak_bytes},
          {"longest_chain", s.longest_chain},
          {"opcodes", opcodes},
          {"element_types", types}};
}

// Formats 7712345678 as "7712345678 (7.71 G)".
std::string Large(int64_t value) {
  constexpr std::string_view kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  double scaled = static_cast<double>(value);
  size_t unit = 0;
  while (scaled >= 1000 && unit + 1 < std::size(kUnits)) {
    scaled /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{}", value) : fmt::format("{} ({:.3g} {})", value, scaled, kUnits[unit]);
}

std::string ToText(const Module& module, const ModuleStatistics& s) {
  std::string text = fmt::format("module {}\n", module.name());
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<24}{}\n", name, value);
  };
  row("computations", fmt::format("{}", module.computations().size()));
  row("instructions", fmt::format("{}", s.instructions));
  row("longest chain", fmt::format("{}", s.longest_chain));
  row("FLOPs", Large(s.entry.flops));
  row("transcendentals", Large(s.entry.transcendentals));
  row("bytes read", Large(s.entry.bytes_read));
  row("bytes written", Large(s.entry.bytes_written));
  row("parameter bytes", Large(s.parameter_bytes));
  row("constant bytes", Large(s.constant_bytes));
  row("result bytes", Large(s.result_bytes));
  row("peak bytes", Large(s.peak_bytes));
  std::vector<std::pair<int64_t, std::string_view>> by_count;
  for (const auto& [name, count] : s.opcodes) by_count.emplace_back(-count, name);
  std::sort(by_count.begin(), by_count.end());
  text += "opcodes\n";
  for (const auto& [count, name] : by_count) row(name, fmt::format("{}", -count));
  text += "element types\n";
  for (const auto& [name, count] : s.element_types) row(name, fmt::format("{}", count));
  return text;
}

}  // namespace

void AddStats(CLI::App& program, int& exit_status) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = program.add_subcommand(
      "stats", "Print the opcodes and types used, FLOPs, bytes, peak memory, and the longest chain");
  AddCommonFlags(*command, *options);
  command->footer(
      "The body of a loop counts once, because its trip count depends on data.\n"
      "Examples:\n  hlo-run stats m.hlo\n  hlo-run stats --format=json dumps/");
  command->callback([options, &exit_status] {
    exit_status = ForEachFile(*options, [&](const std::string& file, FileResult& result) {
      const LoadedModule loaded = Load(file, *options, LoadUntil::kChecked, Exit::kInvalid, result);
      if (loaded.module == nullptr) return;
      const ModuleStatistics statistics = ComputeStatistics(*loaded.module);
      result.extra.update(ToJson(statistics));
      result.text = ToText(*loaded.module, statistics);
    });
  });
}

}  // namespace hlo::cli
