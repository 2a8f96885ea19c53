// Implements `stats`: prints counts, cost and memory of a module.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "fmt/format.h"
#include "hlo_run/cost.h"
#include "spmd/collective_cost.h"

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

struct StatsOptions {
  CommonOptions common;
  bool collectives = false;
  std::optional<int64_t> replicas, partitions;
  spmd::NetworkModel network;
};

// Collectives of one kind and the same groups.
struct CollectiveRow {
  std::string_view opcode;
  std::string groups;
  int64_t instructions = 0, executions = 0, messages = 0, bytes = 0;
  double seconds = 0;

  void Add(const spmd::CollectiveCost& cost) {
    ++instructions;
    executions += cost.executions;
    messages += cost.executions * cost.messages;
    bytes += cost.executions * cost.bytes;
    seconds += static_cast<double>(cost.executions) * cost.seconds;
  }
  Json ToJson() const {
    return {{"instructions", instructions},
            {"executions", executions},
            {"messages", messages},
            {"bytes", bytes},
            {"seconds", seconds}};
  }
};

std::string_view KindOf(const Instruction& collective) {
  return collective.opcode() == Opcode::kCustomCall ? collective.Get<attr::custom_call_target>()
                                                    : Name(collective.opcode());
}

std::vector<CollectiveRow> CollectiveRows(const std::vector<spmd::CollectiveCost>& costs) {
  std::vector<CollectiveRow> rows;
  for (const spmd::CollectiveCost& cost : costs) {
    const std::string_view opcode = KindOf(*cost.instruction);
    auto row = std::find_if(rows.begin(), rows.end(), [&](const CollectiveRow& r) {
      return r.opcode == opcode && r.groups == cost.groups;
    });
    if (row == rows.end()) row = rows.insert(row, {.opcode = opcode, .groups = cost.groups});
    row->Add(cost);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CollectiveRow& a, const CollectiveRow& b) { return a.seconds > b.seconds; });
  return rows;
}

std::string Seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

void AddCollectives(const StatsOptions& options, const Module& module, const std::string& file,
                    FileResult& result) {
  const absl::StatusOr<spmd::DeviceGrid> grid =
      spmd::ChooseGrid(module, options.replicas, options.partitions);
  if (!result.Accept(grid.status(), file)) return;
  const auto costs = spmd::CollectiveCosts(module, *grid, options.network);
  if (!result.Accept(costs.status(), file)) return;
  const std::vector<CollectiveRow> rows = CollectiveRows(*costs);
  CollectiveRow total;
  for (const spmd::CollectiveCost& cost : *costs) total.Add(cost);

  Json json = {{"replicas", grid->replicas},
               {"partitions", grid->partitions},
               {"latency", options.network.latency},
               {"bandwidth", options.network.bandwidth},
               {"total", total.ToJson()}};
  for (const char* key : {"kinds", "instructions"}) json[key] = Json::array();
  for (const CollectiveRow& row : rows) {
    json["kinds"].push_back({{"collective", std::string(row.opcode)}, {"groups", row.groups}});
    json["kinds"].back().update(row.ToJson());
  }
  for (const spmd::CollectiveCost& cost : *costs) {
    json["instructions"].push_back({{"name", std::string(cost.instruction->name())},
                                    {"collective", std::string(KindOf(*cost.instruction))},
                                    {"groups", cost.groups},
                                    {"executions", cost.executions},
                                    {"messages", cost.messages},
                                    {"bytes", cost.bytes},
                                    {"seconds", cost.seconds}});
  }
  result.extra["collectives"] = std::move(json);

  std::string& text = result.text;
  text += fmt::format("collectives of {} of {}, {} + bytes / ({:.4g} GB/s) a message\n",
                      Counted(grid->replicas, "replica"), Counted(grid->partitions, "partition"),
                      Seconds(options.network.latency), options.network.bandwidth * 1e-9);
  text += fmt::format("  {:<24}{:>10}{:>16}{:>26}{:>10}  groups\n", "", "runs", "messages", "bytes", "time");
  const auto add = [&](std::string_view name, const CollectiveRow& row) {
    text += fmt::format("  {:<24}{:>10}{:>16}{:>26}{:>10}{}\n", name, row.executions, row.messages,
                        Large(row.bytes), Seconds(row.seconds), row.groups.empty() ? "" : "  " + row.groups);
  };
  for (const CollectiveRow& row : rows) add(row.opcode, row);
  add("all", total);
}

// Adds the flags that need --collectives.
void AddNetworkFlags(CLI::App& command, CLI::Option& collectives,
                     const std::shared_ptr<StatsOptions>& options) {
  command
      .add_option("--replicas", options->replicas,
                  "With --collectives, the number of replicas; default: as in the module's header, or as its "
                  "groups need")
      ->check(CLI::PositiveNumber)
      ->needs(&collectives);
  command
      .add_option("--partitions", options->partitions,
                  "With --collectives, the number of partitions; default: as for --replicas")
      ->check(CLI::PositiveNumber)
      ->needs(&collectives);
  command.add_option("--latency", options->network.latency, "Latency of a message, in seconds")
      ->check(CLI::NonNegativeNumber)
      ->check(FiniteReal())
      ->type_name("SECONDS")
      ->capture_default_str()
      ->needs(&collectives);
  command.add_option("--bandwidth", options->network.bandwidth, "Bytes per second that a device sends")
      ->check(PositiveReal())
      ->type_name("BYTES")
      ->capture_default_str()
      ->needs(&collectives);
  command
      .add_option_function<std::string>(
          "--algorithm",
          [options](const std::string& word) {
            options->network.algorithm =
                word == "ring" ? spmd::CollectiveAlgorithm::kRing : spmd::CollectiveAlgorithm::kCentral;
          },
          "How groups exchange values: ring, by rings, direct exchange and trees, as libraries do; or "
          "central, "
          "through one member, as hlo-run does between processes")
      ->check(CLI::IsMember({"ring", "central"}))
      ->default_str("ring")
      ->needs(&collectives);
}

}  // namespace

void AddStats(CLI::App& program, int& exit_status) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App* command = program.add_subcommand(
      "stats", "Print the opcodes and types used, FLOPs, bytes, peak memory, and the longest chain");
  AddCommonFlags(*command, options->common);
  CLI::Option* collectives = command->add_flag("--collectives", options->collectives,
                                               "Print what collectives exchange between devices: executions, "
                                               "messages and bytes of all devices, and the "
                                               "predicted time, by kind and groups");
  AddNetworkFlags(*command, *collectives, options);
  command->footer(
      "The body of a loop counts once, because its trip count depends on data. With --collectives it counts "
      "as often as the loop's known_trip_count says, or as it counts up from one constant to another.\n"
      "With n members and b bytes, a ring reduces in 2(n-1) messages of b/n bytes from each member, gathers, "
      "scatters\nand exchanges in n-1; a tree broadcasts in log2(n) messages, one after the other.\n"
      "Examples:\n  hlo-run stats m.hlo\n  hlo-run stats --format=json dumps/\n"
      "  hlo-run stats m.hlo --collectives --partitions 8 --latency 2e-6 --bandwidth 50e9");
  command->callback([options, &exit_status] {
    exit_status = ForEachFile(options->common, [&](const std::string& file, FileResult& result) {
      const LoadedModule loaded = Load(file, options->common, LoadUntil::kChecked, Exit::kInvalid, result);
      if (loaded.module == nullptr) return;
      if (options->collectives) return AddCollectives(*options, *loaded.module, file, result);
      const ModuleStatistics statistics = ComputeStatistics(*loaded.module);
      result.extra.update(ToJson(statistics));
      result.text = ToText(*loaded.module, statistics);
    });
  });
}

}  // namespace hlo::cli
