// Implements `devices`: lists the CPU and the GPUs.

#include <thread>

#include "base/isa.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "device/gpu.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

std::string Version(int cuda) { return fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10); }

std::string ToText(const absl::StatusOr<std::vector<device::DeviceProperties>>& gpus) {
  std::string text = fmt::format("cpu     {} threads, {}\n", std::thread::hardware_concurrency(), IsaName());
  if (!gpus.ok()) return text + fmt::format("{}\n", Message(gpus.status()));
  for (size_t i = 0; i < gpus->size(); ++i) {
    const device::DeviceProperties& gpu = (*gpus)[i];
    text += fmt::format(
        "gpu {}   {}: compute capability {}.{}, {} multiprocessors, {:.1f} GiB, driver {}, CUDA {}\n", i,
        gpu.name, gpu.compute_capability / 10, gpu.compute_capability % 10, gpu.multiprocessors,
        static_cast<double>(gpu.memory_bytes) / (1 << 30), Version(gpu.driver), Version(gpu.runtime));
  }
  return text;
}

Json ToJson(const absl::StatusOr<std::vector<device::DeviceProperties>>& gpus) {
  Json json = {{"cpu", {{"threads", std::thread::hardware_concurrency()}, {"instruction_set", IsaName()}}},
               {"gpus", Json::array()}};
  if (!gpus.ok()) {
    json["no_gpu"] = Message(gpus.status());
    return json;
  }
  for (const device::DeviceProperties& gpu : *gpus) {
    json["gpus"].push_back({{"name", gpu.name},
                            {"compute_capability", gpu.compute_capability},
                            {"multiprocessors", gpu.multiprocessors},
                            {"memory_bytes", gpu.memory_bytes},
                            {"driver", gpu.driver},
                            {"runtime", gpu.runtime}});
  }
  return json;
}

}  // namespace

void AddDevices(CLI::App& program, int& exit_status) {
  auto format = std::make_shared<std::string>("text");
  CLI::App* command =
      program.add_subcommand("devices", "List the devices that modules can run on: the CPU and the GPUs");
  command->add_option("--format", *format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer("Examples:\n  hlo-run devices\n  hlo-run m.hlo --random 1 --device=gpu");
  command->callback([format, &exit_status] {
    const absl::StatusOr<std::vector<device::DeviceProperties>> gpus = device::ListGpus();
    fmt::print("{}", *format == "json" ? ToJson(gpus).dump() + "\n" : ToText(gpus));
    exit_status = 0;
  });
}

}  // namespace hlo::cli
