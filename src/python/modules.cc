// Binds reading, checking and printing modules.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "hlo_run/cost.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"
#include "python/bindings.h"
#include "python/errors.h"

namespace hlo::python {
namespace {

struct ReadOptions {
  bool strict;
  int64_t max_errors, max_nesting, max_literal_bytes, max_instructions;
};

[[noreturn]] void RaiseInvalid(const Diagnostics& diagnostics, const SourceText& source) {
  const nb::object type = nb::module_::import_("hlo_run.errors").attr("InvalidModule");
  const std::string text = Render(diagnostics, source, {}, false);
  const nb::object error = type(nb::str(text.data(), text.size()), nb::cast(WithPlaces(diagnostics, source)));
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

ParsedModule Read(absl::StatusOr<ModuleFile> (*read)(const std::string&, const std::string&),
                  const std::string& name, const std::string& content, const ReadOptions& options) {
  Diagnostics diagnostics(options.max_errors);
  ParsedModule parsed;
  parsed.options = {.strict = options.strict,
                    .infer_shape = InferMissingShape,
                    .max_nesting = options.max_nesting,
                    .max_literal_bytes = options.max_literal_bytes,
                    .max_instructions = options.max_instructions};
  absl::Status status;
  {
    const nb::gil_scoped_release no_gil;
    absl::StatusOr<ModuleFile> file = read(name, content);
    status = file.status();
    if (file.ok()) {
      parsed.source = std::move(file->text);
      parsed.arguments = std::move(file->arguments);
      parsed.module = Parse(parsed.source, diagnostics, parsed.options);
    }
  }
  RaiseUnlessOk(status);
  if (parsed.module == nullptr) RaiseInvalid(diagnostics, *parsed.source);
  parsed.warnings = WithPlaces(diagnostics, *parsed.source);
  return parsed;
}

ParsedModule ParseContent(const nb::bytes& content, const std::string& name, bool strict, int64_t max_errors,
                          int64_t max_nesting, int64_t max_literal_bytes, int64_t max_instructions) {
  const auto from_memory = [](const std::string& name, const std::string& content) {
    return ParseModuleFile(std::make_shared<SourceText>(name, content));
  };
  return Read(from_memory, name, {content.c_str(), content.size()},
              {strict, max_errors, max_nesting, max_literal_bytes, max_instructions});
}

ParsedModule Load(const std::string& path, bool strict, int64_t max_errors, int64_t max_nesting,
                  int64_t max_literal_bytes, int64_t max_instructions) {
  const auto from_file = [](const std::string& name, const std::string&) { return ReadModuleFile(name); };
  return Read(from_file, path, "", {strict, max_errors, max_nesting, max_literal_bytes, max_instructions});
}

std::vector<PlacedDiagnostic> Verify(const ParsedModule& parsed, bool strict, bool layout_sensitive,
                                     bool allow_mixed_precision, int64_t max_errors) {
  Diagnostics diagnostics(max_errors);
  {
    const nb::gil_scoped_release no_gil;
    const CheckOptions options = {.layout_sensitive = layout_sensitive,
                                  .allow_mixed_precision = allow_mixed_precision,
                                  .strict = strict};
    (void)Check(parsed.module, diagnostics, options);
  }
  return WithPlaces(diagnostics, *parsed.source);
}

std::string PrintModule(const ParsedModule& parsed, const std::string& form, bool metadata, bool layouts,
                        bool large_constants, bool backend_config) {
  PrintOptions options = {.metadata = metadata,
                          .layouts = layouts,
                          .large_constants = large_constants,
                          .backend_config = backend_config};
  if (form == "short") {
    options.form = PrintForm::kShort;
  } else if (form == "canonical") {
    options.form = PrintForm::kCanonical;
  } else if (form == "fingerprint") {
    options.form = PrintForm::kFingerprint;
  } else if (form != "long") {
    Raise(absl::InvalidArgumentError(
        fmt::format("'{}' is not one of long, short, canonical, fingerprint", form)));
  }
  options.own_order = options.form == PrintForm::kLong || options.form == PrintForm::kShort;
  return Print(*parsed.module, options);
}

nb::dict Counts(const std::map<std::string_view, int64_t>& counts) {
  nb::dict dict;
  for (const auto& [name, count] : counts) dict[nb::str(name.data(), name.size())] = count;
  return dict;
}

nb::dict Statistics(const ParsedModule& parsed) {
  const ModuleStatistics s = ComputeStatistics(*parsed.module);
  nb::dict dict;
  dict["computations"] = parsed.module->computations().size();
  dict["instructions"] = s.instructions;
  dict["flops"] = s.entry.flops;
  dict["transcendentals"] = s.entry.transcendentals;
  dict["bytes_read"] = s.entry.bytes_read;
  dict["bytes_written"] = s.entry.bytes_written;
  dict["parameter_bytes"] = s.parameter_bytes;
  dict["result_bytes"] = s.result_bytes;
  dict["constant_bytes"] = s.constant_bytes;
  dict["peak_bytes"] = s.peak_bytes;
  dict["longest_chain"] = s.longest_chain;
  dict["opcodes"] = Counts(s.opcodes);
  dict["element_types"] = Counts(s.element_types);
  return dict;
}

nb::tuple Computations(const ParsedModule& parsed) {
  nb::list views;
  for (const Computation* computation : parsed.module->computations())
    views.append(ComputationView{parsed.module, computation});
  return nb::tuple(views);
}

std::vector<Literal> Inputs(const ParsedModule& parsed, const std::string& fill, uint64_t seed) {
  const std::optional<InputFill> known = ParseInputFill(fill);
  if (!known)
    Raise(absl::InvalidArgumentError("'" + fill + "' is not one of uniform, normal, zeros, ones, iota"));
  return ValueOrRaise(MakeInputs(*parsed.module, *known, seed));
}

void Fill(ParsedModule& parsed, const std::string& text) {
  ElidedValues values;
  RaiseUnlessOk(AddElidedValues(text, &values));
  RaiseUnlessOk(FillElided(values, *parsed.module));
  parsed.elided.push_back(text);
}

// Returns the module that the same text gives, for callers that change it.
ParsedModule Reread(const ParsedModule& parsed) {
  ParsedModule copy;
  copy.source = parsed.source;
  copy.arguments = parsed.arguments;
  copy.options = parsed.options;
  Diagnostics diagnostics;
  {
    const nb::gil_scoped_release no_gil;
    copy.module = Parse(copy.source, diagnostics, copy.options);
  }
  if (copy.module == nullptr) RaiseInvalid(diagnostics, *copy.source);
  for (const std::string& text : parsed.elided) Fill(copy, text);
  return copy;
}

void AddReaders(nb::module_& m) {
  const ParseOptions defaults;
  m.def("parse", &ParseContent, nb::arg("content"), nb::arg("name"), nb::arg("strict") = false,
        nb::arg("max_errors") = 20, nb::arg("max_nesting") = defaults.max_nesting,
        nb::arg("max_literal_bytes") = defaults.max_literal_bytes,
        nb::arg("max_instructions") = defaults.max_instructions,
        "Reads HLO text, or a serialised module, from memory.");
  m.def("load", &Load, nb::arg("path"), nb::arg("strict") = false, nb::arg("max_errors") = 20,
        nb::arg("max_nesting") = defaults.max_nesting,
        nb::arg("max_literal_bytes") = defaults.max_literal_bytes,
        nb::arg("max_instructions") = defaults.max_instructions, "Reads a module file.");
}

}  // namespace

CheckedModule CheckOrRaise(const ParsedModule& parsed) {
  Diagnostics diagnostics;
  const absl::StatusOr<CheckedModule> checked = [&] {
    const nb::gil_scoped_release no_gil;
    return Check(parsed.module, diagnostics);
  }();
  if (!checked.ok()) RaiseInvalid(diagnostics, *parsed.source);
  return *checked;
}

void AddModules(nb::module_& m) {
  AddReaders(m);
  nb::class_<ParsedModule>(m, "ParsedModule", "A module as it was read.")
      .def_prop_ro("name", [](const ParsedModule& p) { return std::string(p.module->name()); })
      .def_prop_ro("file", [](const ParsedModule& p) { return p.source->name(); })
      .def_prop_ro("computations", &Computations)
      .def_prop_ro("entry",
                   [](const ParsedModule& p) {
                     return ComputationView{p.module, p.module->entry()};
                   })
      .def_prop_ro("instruction_count", [](const ParsedModule& p) { return p.module->instruction_count(); })
      .def_ro("warnings", &ParsedModule::warnings, "Warnings of the parser.")
      .def_ro("arguments", &ParsedModule::arguments, "The arguments that a snapshot has kept.")
      .def("verify", &Verify, nb::arg("strict"), nb::arg("layout_sensitive"),
           nb::arg("allow_mixed_precision"), nb::arg("max_errors"))
      .def("print", &PrintModule, nb::arg("form"), nb::arg("metadata"), nb::arg("layouts"),
           nb::arg("large_constants"), nb::arg("backend_config"))
      .def("reread", &Reread, "Reads the text again, into another module.")
      .def("stats", &Statistics)
      .def("inputs", &Inputs, nb::arg("fill"), nb::arg("seed"))
      .def("fill_elided", &Fill, nb::arg("values"));
}

}  // namespace hlo::python
