// Binds runs on several devices, and the shardings of their arguments and results.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "hlo_run/execute.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/executable.h"
#include "python/interrupt.h"
#include "spmd/device_grid.h"
#include "spmd/entry_shards.h"

namespace hlo::python {
namespace {

using spmd::EntryShards;

std::pair<int64_t, int64_t> ChooseCounts(const ParsedModule& parsed, std::optional<int64_t> replicas,
                                         std::optional<int64_t> partitions, bool is_sharded) {
  const spmd::DeviceGrid grid =
      ValueOrRaise(spmd::ChooseGrid(*parsed.module, replicas, partitions, is_sharded));
  parsed.module->mutable_header().replica_count = grid.replicas;
  parsed.module->mutable_header().num_partitions = grid.partitions;
  return {grid.replicas, grid.partitions};
}

EntryShards ShardsOf(const ParsedModule& parsed) {
  return ValueOrRaise(EntryShards::Make(*parsed.module, parsed.module->header().num_partitions));
}

std::vector<Literal> Split(const EntryShards& shards, const std::vector<Literal>& arguments,
                           int64_t partition) {
  return ValueOrRaise(shards.Split(arguments, partition));
}

std::pair<Literal, std::vector<std::string>> Join(const EntryShards& shards,
                                                  const std::vector<Literal>& results) {
  spmd::JoinedResult joined = ValueOrRaise(shards.Join(results));
  return {std::move(joined.value), std::move(joined.disagreements)};
}

// Returns the results of the devices, and the warnings.
std::pair<std::vector<Literal>, std::vector<std::string>> RunDevices(
    PlannedModule& planned, const std::vector<std::vector<Literal>>& arguments, double max_seconds,
    int64_t max_steps, uint64_t seed, bool strict_match, double collective_timeout, bool emulate_xla_cpu,
    bool can_interrupt) {
  std::vector<std::string> warnings;
  absl::StatusOr<std::vector<Literal>> results = [&] {
    const InterruptGuard guard(can_interrupt);
    const nb::gil_scoped_release no_gil;
    // Copies share elements with the caller's values, which are therefore not updated in place.
    return planned.executable.RunDevices(
        arguments, {.max_steps = max_steps, .max_seconds = max_seconds, .cancel = guard.flag(), .seed = seed},
        {.strict_match = strict_match,
         .collective_timeout = collective_timeout,
         .emulate_xla_cpu = emulate_xla_cpu,
         .warn = [&](const std::string& warning) { warnings.push_back(warning); }});
  }();
  if (absl::IsCancelled(results.status()) && PyErr_CheckSignals() != 0) throw nb::python_error();
  return {ValueOrRaise(std::move(results)), std::move(warnings)};
}

}  // namespace

void AddDevices(nb::module_& m) {
  m.def("choose_counts", &ChooseCounts, nb::arg("module"), nb::arg("replicas"), nb::arg("partitions"),
        nb::arg("is_sharded"), "Sets the module's counts of replicas and partitions, and returns them.");
  m.def("run_devices", &RunDevices, nb::arg("planned"), nb::arg("arguments"), nb::arg("max_seconds"),
        nb::arg("max_steps"), nb::arg("seed"), nb::arg("strict_match"), nb::arg("collective_timeout"),
        nb::arg("emulate_xla_cpu"), nb::arg("can_interrupt"),
        "Runs a module on all devices; returns their results and the warnings.");
  nb::class_<EntryShards>(m, "EntryShards", "The shardings of a module's parameters and result.")
      .def_prop_ro("parameters", &EntryShards::parameters, "The shapes of whole arguments.")
      .def_prop_ro("can_join", &EntryShards::CanJoin, "Whether results are parts of one value.")
      .def("split", &Split, nb::arg("arguments"), nb::arg("partition"), "Returns a partition's arguments.")
      .def("join", &Join, nb::arg("results"), "Returns the whole result, and the copies that differ.");
  m.def("entry_shards", &ShardsOf, nb::arg("module"), "Reads the shardings of the entry.");
}

}  // namespace hlo::python
