// Defines the extension module hlo_run._core. The public interface is in hlo_run/*.py.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "hlo_run/version.h"
#include "python/bindings.h"

NB_MODULE(_core, m) {
  namespace python = hlo::python;
  m.doc() = "hlo-run's library: modules, values and runs. See hlo_run for what is meant to be used.";
  python::AddDiagnostics(m);
  python::AddShapes(m);
  python::AddValues(m);
  python::AddInstructions(m);
  python::AddModules(m);
  python::AddExecutables(m);
  python::AddDevices(m);
  python::AddProfiles(m);
  python::AddCompare(m);
  m.attr("version") = std::string(hlo::GetBuildInfo().version);
  m.def(
      "build_info", [] { return ToString(hlo::GetBuildInfo()); },
      "Version, commit, compiler and options of this build.");
}
