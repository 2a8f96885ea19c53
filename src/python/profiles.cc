// Binds profiles of runs.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "observe/profile.h"
#include "python/bindings.h"
#include "python/executable.h"

namespace hlo::python {
namespace {

constexpr int64_t kMaxEvents = 1'000'000;

struct Timed {
  double seconds = std::numeric_limits<double>::infinity();
  double watched_seconds = std::numeric_limits<double>::infinity();
  std::vector<Profile::Row> rows;
  std::string trace;
};

double SecondsOf(PlannedModule& planned, const std::vector<Literal>& arguments, Observer* observer,
                 bool can_interrupt) {
  const double start = SteadySeconds();
  RunOrRaise(planned, arguments, {.observer = observer}, can_interrupt);
  return SteadySeconds() - start;
}

nb::dict ToDict(const ModulePtr& module, const Profile::Row& row) {
  nb::dict dict;
  dict["instruction"] = InstructionView{module, row.instruction};
  dict["kernel"] = nb::str(row.kernel.data(), row.kernel.size());
  dict["runs"] = row.runs;
  dict["seconds"] = row.seconds;
  dict["flops"] = static_cast<double>(row.runs) * static_cast<double>(row.cost.flops);
  dict["bytes"] = static_cast<double>(row.runs) *
                  (static_cast<double>(row.cost.bytes_read) + static_cast<double>(row.cost.bytes_written));
  return dict;
}

// Measures the fastest of `repeat` runs, and profiles the fastest of as many observed runs.
nb::dict MakeProfile(PlannedModule& planned, const std::vector<Literal>& arguments, int64_t repeat,
                     bool can_interrupt) {
  Timed best;
  for (int64_t i = 0; i < repeat; ++i)
    best.seconds = std::min(best.seconds, SecondsOf(planned, arguments, nullptr, can_interrupt));
  for (int64_t i = 0; i < repeat; ++i) {
    Profile profile(kMaxEvents);
    const double seconds = SecondsOf(planned, arguments, &profile, can_interrupt);
    if (seconds >= best.watched_seconds) continue;
    best.watched_seconds = seconds;
    best.rows = profile.ByInstruction();
    best.trace = ChromeTrace({&profile, 1});
  }
  nb::list rows;
  for (const Profile::Row& row : best.rows) rows.append(ToDict(planned.module, row));
  nb::dict dict;
  dict["seconds"] = best.seconds;
  dict["watched_seconds"] = best.watched_seconds;
  dict["rows"] = rows;
  dict["chrome_trace"] = best.trace;
  return dict;
}

}  // namespace

void AddProfiles(nb::module_& m) {
  m.def("profile", &MakeProfile, nb::arg("planned"), nb::arg("arguments"), nb::arg("repeat"),
        nb::arg("can_interrupt"));
}

}  // namespace hlo::python
