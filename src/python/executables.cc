// Binds the compilation and execution of modules.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "hlo_run/execute.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/executable.h"
#include "python/interrupt.h"

namespace hlo::python {
namespace {

Engine ParseEngine(const std::string& name) {
  if (name == "fast") return Engine::kFast;
  if (name == "reference") return Engine::kReference;
  Raise(absl::InvalidArgumentError(fmt::format("engine '{}' is not one of fast, reference", name)));
}

// Parses `cpu`, `gpu`, `gpu:1`, `gpu:0,1` or `emulated-gpu`.
Device ParseDevice(const std::string& name) {
  if (name == "cpu") return {};
  if (name == "emulated-gpu") return {Device::Kind::kEmulatedGpu, 0};
  if (name == "gpu") return {Device::Kind::kGpu, 0};
  absl::string_view list = name;
  std::vector<int> numbers;
  bool is_valid = absl::ConsumePrefix(&list, "gpu:");
  for (const absl::string_view word : absl::StrSplit(list, ',')) {
    int number = 0;
    is_valid = is_valid && absl::SimpleAtoi(word, &number);
    numbers.push_back(number);
  }
  if (is_valid) return {Device::Kind::kGpu, numbers.front(), {numbers.begin() + 1, numbers.end()}};
  Raise(absl::InvalidArgumentError(
      fmt::format("device '{}' is not one of cpu, gpu, gpu:NUMBER, gpu:NUMBER,NUMBER, emulated-gpu", name)));
}

PlannedModule Compile(const ParsedModule& parsed, const std::string& engine, const std::string& device,
                      const std::vector<std::string>& disabled_passes) {
  const CheckedModule checked = CheckOrRaise(parsed);
  const Engine wanted = ParseEngine(engine);
  const Device where = ParseDevice(device);
  absl::StatusOr<Executable> executable = [&] {
    const nb::gil_scoped_release no_gil;
    return Executable::Make(checked, wanted, {}, where,
                            {.disabled_passes = disabled_passes, .replan_if_refused = true});
  }();
  return {parsed.module, ValueOrRaise(std::move(executable))};
}

Literal Run(PlannedModule& planned, const std::vector<Literal>& arguments, double max_seconds,
            int64_t max_steps, uint64_t seed, bool emulate_dot_algorithms, bool can_interrupt) {
  return RunOrRaise(planned, arguments,
                    {.max_steps = max_steps,
                     .max_seconds = max_seconds,
                     .seed = seed,
                     .emulate_dot_algorithms = emulate_dot_algorithms},
                    can_interrupt);
}

nb::list Fallbacks(const PlannedModule& planned) {
  nb::list list;
  for (const Fallback& fallback : planned.executable.fallbacks()) {
    list.append(nb::make_tuple(InstructionView{planned.module, fallback.instruction}, fallback.reason));
  }
  return list;
}

}  // namespace

Literal RunOrRaise(PlannedModule& planned, const std::vector<Literal>& arguments, EvaluateOptions options,
                   bool can_interrupt) {
  absl::StatusOr<Literal> result = [&] {
    const InterruptGuard guard(can_interrupt);
    options.cancel = guard.flag();
    const nb::gil_scoped_release no_gil;
    // Passes copies, which share elements with the caller's values and are therefore not updated in place.
    return planned.executable.Run(arguments, options);
  }();
  if (absl::IsCancelled(result.status()) && PyErr_CheckSignals() != 0) throw nb::python_error();
  return ValueOrRaise(std::move(result));
}

void AddExecutables(nb::module_& m) {
  m.def("compile", &Compile, nb::arg("module"), nb::arg("engine"), nb::arg("device"),
        nb::arg("disabled_passes"), "Checks and plans a module.");
  m.def("set_memory_limit", &SetMemoryLimit, nb::arg("byte_count"),
        "Limits the bytes that all values of the process take together; 0: the machine's memory.");
  nb::class_<PlannedModule>(m, "PlannedModule",
                            "A module that is ready to run. Not for several threads at once.")
      .def_prop_ro(
          "engine",
          [](const PlannedModule& p) {
            return p.executable.engine() == Engine::kFast ? "fast" : "reference";
          },
          "The engine that runs.")
      .def_prop_ro(
          "fallback_reason",
          [](const PlannedModule& p) { return std::string(p.executable.fallback_reason()); },
          "The reason why it is not the requested engine.")
      .def("fallbacks", &Fallbacks, "Instructions that the GPU left to the CPU so far, with reasons.")
      .def("run", &Run, nb::arg("arguments"), nb::arg("max_seconds"), nb::arg("max_steps"), nb::arg("seed"),
           nb::arg("emulate_dot_algorithms"), nb::arg("can_interrupt"));
}

}  // namespace hlo::python
