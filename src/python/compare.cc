// Binds the comparison of results.

#include "hlo_run/compare.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings.h"
#include "python/errors.h"

namespace hlo::python {
namespace {

CompareReport Compare(const Literal& got, const Literal& want, const std::optional<std::string>& rule) {
  if (!got.shape().IsArray() || !want.shape().IsArray())
    Raise(absl::InvalidArgumentError("only arrays are compared"));
  return CompareArrays(got, want,
                       rule ? ValueOrRaise(ParseCompareRule(*rule)) : DefaultCompareRule(want.type()));
}

std::optional<double> WorstAbs(const CompareReport& report) {
  return report.worst ? std::optional(report.worst->abs) : std::nullopt;
}
std::optional<double> WorstRel(const CompareReport& report) {
  return report.worst ? std::optional(report.worst->rel) : std::nullopt;
}
std::optional<std::vector<int64_t>> WorstIndex(const CompareReport& report) {
  return report.worst ? std::optional(report.worst->index) : std::nullopt;
}

}  // namespace

void AddCompare(nb::module_& m) {
  nb::class_<CompareReport>(m, "CompareReport", "How far an array is from what was expected.")
      .def_prop_ro("ok", &CompareReport::ok, "Whether all elements are as near as the rule wants.")
      .def_prop_ro(
          "rule", [](const CompareReport& r) { return ToString(r.rule); },
          "Such as 'within abs 0.0001 rel 0.0001'.")
      .def_ro("problem", &CompareReport::problem, "Shapes that differ; else empty.")
      .def_ro("element_count", &CompareReport::element_count)
      .def_ro("mismatch_count", &CompareReport::mismatch_count)
      .def_prop_ro("worst_abs", &WorstAbs, "The largest difference; None where all elements are the same.")
      .def_prop_ro("worst_rel", &WorstRel, "The same, relative to what was expected.")
      .def_prop_ro("worst_index", &WorstIndex)
      .def("__bool__", &CompareReport::ok)
      .def("__str__", [](const CompareReport& r) { return ToString(r); });
  m.def("compare", &Compare, nb::arg("got"), nb::arg("want"), nb::arg("rule") = nb::none(),
        "Compares two arrays: within the rule, or as results of another implementation are compared.");
}

}  // namespace hlo::python
