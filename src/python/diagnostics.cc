// Binds the errors and warnings of parser and checker.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings.h"

namespace hlo::python {
namespace {

std::optional<Place> PlaceOf(SourceRange range, const SourceText& source) {
  if (!range.known()) return std::nullopt;
  const SourcePlace begin = source.Locate(range.begin), end = source.Locate(range.end);
  return Place{begin.line, begin.column, end.line, end.column};
}

template <class T>
std::optional<int64_t> Line(const T& of) {
  return of.place ? std::optional(of.place->line) : std::nullopt;
}
template <class T>
std::optional<int64_t> Column(const T& of) {
  return of.place ? std::optional(of.place->column) : std::nullopt;
}
template <class T>
std::optional<int64_t> EndLine(const T& of) {
  return of.place ? std::optional(of.place->end_line) : std::nullopt;
}
template <class T>
std::optional<int64_t> EndColumn(const T& of) {
  return of.place ? std::optional(of.place->end_column) : std::nullopt;
}

}  // namespace

std::vector<PlacedDiagnostic> WithPlaces(const Diagnostics& diagnostics, const SourceText& source) {
  std::vector<PlacedDiagnostic> placed;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    PlacedDiagnostic& result = placed.emplace_back();
    result.severity = diagnostic.severity == Severity::kError ? "error" : "warning";
    result.message = diagnostic.message;
    result.rule = diagnostic.rule;
    result.file = source.name();
    result.text = Render(diagnostic, source);
    result.place = PlaceOf(diagnostic.range, source);
    for (const Note& note : diagnostic.notes)
      result.notes.push_back({note.message, PlaceOf(note.range, source)});
  }
  return placed;
}

void AddDiagnostics(nb::module_& m) {
  nb::class_<PlacedNote>(m, "Note", "A remark that belongs to a diagnostic.")
      .def_ro("message", &PlacedNote::message)
      .def_prop_ro("line", &Line<PlacedNote>, "Line, from 1; None for a note without a place.")
      .def_prop_ro("column", &Column<PlacedNote>, "Column in bytes, from 1.")
      .def("__repr__", [](const PlacedNote& note) { return fmt::format("<Note: {}>", note.message); });
  nb::class_<PlacedDiagnostic>(m, "Diagnostic", "An error or a warning of the parser or the checker.")
      .def_ro("severity", &PlacedDiagnostic::severity, "'error' or 'warning'.")
      .def_ro("message", &PlacedDiagnostic::message, "What is wrong, in one sentence.")
      .def_ro("rule", &PlacedDiagnostic::rule,
              "The rule that is broken, such as 'shape-rules 3.9'; may be empty.")
      .def_ro("file", &PlacedDiagnostic::file, "The name of the source text.")
      .def_prop_ro("line", &Line<PlacedDiagnostic>, "Line, from 1; None for a diagnostic without a place.")
      .def_prop_ro("column", &Column<PlacedDiagnostic>, "Column in bytes, from 1.")
      .def_prop_ro("end_line", &EndLine<PlacedDiagnostic>, "Line of the end of the marked text.")
      .def_prop_ro("end_column", &EndColumn<PlacedDiagnostic>, "Column after the marked text.")
      .def_ro("notes", &PlacedDiagnostic::notes)
      .def_ro("text", &PlacedDiagnostic::text, "The diagnostic with its line of source and a caret.")
      .def("__str__", [](const PlacedDiagnostic& d) { return d.text; })
      .def("__repr__", [](const PlacedDiagnostic& d) {
        return fmt::format("<Diagnostic {}:{}: {}: {}>", Line(d).value_or(0), Column(d).value_or(0),
                           d.severity, d.message);
      });
}

}  // namespace hlo::python
