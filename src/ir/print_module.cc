// Prints the module header, the source tables and the computations (text-format 9.2).

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "base/append.h"
#include "fmt/format.h"
#include "hlo_run/print.h"
#include "ir/printer.h"

namespace hlo {

PrintOptions PrintOptions::Xla(PrintForm form) {
  PrintOptions options;
  options.form = form;
  options.as_xla = true;
  options.large_constants = form == PrintForm::kShort;
  return options;
}

PrintStyle::PrintStyle(const PrintOptions& options) {
  const PrintForm form = options.form;
  const bool is_long = form == PrintForm::kLong;
  const bool fingerprint = form == PrintForm::kFingerprint || form == PrintForm::kModuleFingerprint;
  const bool names = is_long || form == PrintForm::kShort;
  as_xla = options.as_xla;
  percent = is_long;
  operand_shapes = form == PrintForm::kCanonical || form == PrintForm::kFingerprint;
  index_comments = is_long;
  signatures = is_long;
  bodies = !names;
  module_names = !fingerprint;
  metadata = is_long && options.metadata;
  backend_config = names && options.backend_config;
  // XLA's short form drops control predecessors and so the order of instructions.
  control_predecessors = is_long || (form == PrintForm::kShort && !options.as_xla);
  feed_configs = !fingerprint;
  expand_groups = fingerprint;
  constants = fingerprint               ? Constants::kFingerprint
              : options.large_constants ? Constants::kAll
                                        : Constants::kSmall;
  layouts = options.layouts;
}

namespace {

EntryLayout LayoutOf(const Computation& entry) {
  EntryLayout layout;
  for (const Instruction* parameter : entry.parameters()) {
    layout.parameters.push_back(parameter == nullptr ? Shape() : parameter->shape());
  }
  if (entry.root() != nullptr) layout.result = entry.root()->shape();
  return layout;
}

bool IsJustFalse(const std::vector<bool>& flags) { return flags.empty() || (flags.size() == 1 && !flags[0]); }

}  // namespace

void Printer::PutAliases() {
  const ModuleHeader& header = module_.header();
  if (!header.input_output_alias.empty()) {
    std::vector<InputOutputAlias> aliases = header.input_output_alias;
    std::stable_sort(aliases.begin(), aliases.end(),
                     [](const InputOutputAlias& a, const InputOutputAlias& b) {
                       return std::lexicographical_compare(a.output_index.begin(), a.output_index.end(),
                                                           b.output_index.begin(), b.output_index.end());
                     });
    Put(", input_output_alias={ ");
    PutList(aliases, ", ", [&](const InputOutputAlias& alias) {
      PutInts(alias.output_index);
      Put(": (");
      PutInt(alias.parameter);
      Put(", ");
      PutInts(alias.parameter_index);
      Put(alias.must_alias ? ", must-alias)" : ", may-alias)");
    });
    Put(" }");
  }
  if (!header.buffer_donor.empty()) {
    std::vector<BufferDonor> donors = header.buffer_donor;
    std::stable_sort(donors.begin(), donors.end(), [](const BufferDonor& a, const BufferDonor& b) {
      if (a.parameter != b.parameter) return a.parameter < b.parameter;
      return std::lexicographical_compare(a.parameter_index.begin(), a.parameter_index.end(),
                                          b.parameter_index.begin(), b.parameter_index.end());
    });
    const auto same = [](const BufferDonor& a, const BufferDonor& b) {
      return a.parameter == b.parameter && a.parameter_index == b.parameter_index;
    };
    donors.erase(std::unique(donors.begin(), donors.end(), same), donors.end());
    Put(", buffer_donor={ ");
    PutList(donors, ", ", [&](const BufferDonor& donor) {
      Put('(');
      PutInt(donor.parameter);
      Put(", ");
      PutInts(donor.parameter_index);
      Put(')');
    });
    Put(" }");
  }
}

void Printer::PutEntryLayout() {
  if (module_.entry() == nullptr) return;
  const EntryLayout computed = module_.header().entry_layout ? EntryLayout() : LayoutOf(*module_.entry());
  const EntryLayout& layout = module_.header().entry_layout ? *module_.header().entry_layout : computed;
  Put(", entry_computation_layout={(");
  for (size_t i = 0; i < layout.parameters.size(); ++i) {
    if (i > 0) Put(", ");
    if (i > 0 && i % 5 == 0) Append(&out_, "/*index={}*/", i);
    PutShape(layout.parameters[i]);
  }
  Put(")->");
  PutShape(layout.result);
  Put('}');
}

void Printer::PutRecoveryTable() {
  const auto& table = module_.header().origin_recovery_table;
  if (table.empty()) return;
  Put(", origin_recovery_table={\n");
  for (const OriginRecovery& entry : table) {
    Put("  ");
    PutOriginArray(*entry.from);
    Put(" : ");
    PutOriginArray(*entry.to);
    if (entry.recovery != nullptr) {
      PrintOptions options;
      options.as_xla = style_.as_xla;
      options.metadata = style_.metadata || style_.as_xla;
      options.indent = 2;
      // Escapes only characters that would end the string; line breaks remain.
      Put(",\n  \"\n");
      Put(absl::StrReplaceAll(Print(*entry.recovery, options), {{"\\", "\\\\"}, {"\"", "\\\""}}));
      Put("\n  \"");
    }
    Put('\n');
  }
  Put("}\n");
}

void Printer::PutDebugAttributes() {
  const auto& all = module_.header().debug_attributes;
  const bool any =
      std::any_of(all.begin(), all.end(), [](const DebugAttributes& a) { return !a.sets.empty(); });
  if (!any) return;
  Put(",\ndebug_attributes={\n");
  bool first = true;
  for (const DebugAttributes& entry : all) {
    if (entry.sets.empty()) continue;
    if (!std::exchange(first, false)) Put(",\n");
    Put("  ");
    PutOriginArray(*entry.array);
    Put(":(");
    PutList(entry.sets, ",", [&](const DebugAttribute& set) {
      std::vector<std::string> fields;
      if (set.has_log_mode)
        fields.emplace_back(set.fusion_debugger ? "log_mode=fusion_debugger" : "log_mode=default");
      if (set.has_callback_id) fields.push_back(fmt::format("callback_id={}", set.callback_id));
      if (set.has_partitioned && (set.partitioned || !style_.as_xla)) {
        fields.push_back(fmt::format("partitioned={}", set.partitioned));
      }
      if (set.has_op_id) fields.push_back(fmt::format("op_id={}", set.op_id));
      Append(&out_, "{{{}}}", fmt::join(fields, ","));
    });
    Put(')');
  }
  Put("\n}");
}

void Printer::PutSourceTables() {
  const SourceTables& tables = module_.header().tables;
  if (!style_.metadata || tables.stack_frames.empty()) return;
  auto names = [&](std::string_view title, const std::vector<std::string_view>& list) {
    Append(&out_, "\n{}\n", title);
    for (size_t i = 0; i < list.size(); ++i) {
      Append(&out_, "{} ", i + 1);
      PutQuoted(list[i]);
      Put('\n');
    }
  };
  Put('\n');
  names("FileNames", tables.file_names);
  names("FunctionNames", tables.function_names);
  Put("\nFileLocations\n");
  for (size_t i = 0; i < tables.file_locations.size(); ++i) {
    const FileLocation& l = tables.file_locations[i];
    Append(&out_, "{} {{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}\n",
           i + 1, l.file_name_id, l.function_name_id, l.line, l.end_line, l.column, l.end_column);
  }
  Put("\nStackFrames\n");
  for (size_t i = 0; i < tables.stack_frames.size(); ++i) {
    const StackFrame& f = tables.stack_frames[i];
    Append(&out_, "{} {{file_location_id={} parent_frame_id={}}}\n", i + 1, f.file_location_id,
           int64_t{f.parent_frame_id} + 1);
  }
}

void Printer::PutHeader() {
  const ModuleHeader& header = module_.header();
  Put("HloModule ");
  // The module name has no `%` unless it is a reserved word.
  if (style_.module_names && !style_.as_xla && IsReserved(module_.name())) Put('%');
  if (style_.module_names) Put(module_.name());
  if (header.is_scheduled) Put(", is_scheduled=true");
  PutAliases();
  if (header.alias_passthrough_params) Put(", alias_passthrough_params=true");
  PutEntryLayout();
  auto flags = [&](std::string_view name, const std::vector<bool>& values) {
    if (IsJustFalse(values)) return;
    Append(&out_, ", {}={{", name);
    PutList(values, ",", [&](bool value) { Put(value ? "true" : "false"); });
    Put('}');
  };
  flags("allow_spmd_sharding_propagation_to_parameters", header.spmd_propagation_to_parameters);
  flags("allow_spmd_sharding_propagation_to_output", header.spmd_propagation_to_output);
  if (header.replica_count != 1) Append(&out_, ", replica_count={}", header.replica_count);
  if (header.num_partitions != 1) {
    Append(&out_, ", num_partitions={}", header.num_partitions);
  }
  if (header.frontend_attributes != nullptr && !header.frontend_attributes->entries.empty()) {
    Put(", frontend_attributes=");
    PutFrontendAttributes(*header.frontend_attributes);
  }
  PutRecoveryTable();
  PutDebugAttributes();
  PutSourceTables();
  Put("\n\n");
}

void Printer::PrintModule() {
  FindAsyncCallers();
  PutIndent();
  PutHeader();
  for (const Computation* computation : order_.Computations()) {
    if (IsLeftOut(*computation)) continue;
    PrintComputation(*computation);
    Put("\n\n");
  }
}

std::string Print(const Module& module, const PrintOptions& options) {
  std::string out;
  if (module.source() != nullptr) out.reserve(module.source()->content().size());
  Printer(module, options, &out).PrintModule();
  return out;
}

std::string Print(const Computation& computation, const PrintOptions& options) {
  std::string out;
  Printer(*computation.module(), options, &out).PrintComputation(computation);
  return out;
}

std::string Print(const Instruction& instruction, const PrintOptions& options) {
  std::string out;
  Printer(*instruction.parent()->module(), options, &out).PrintInstruction(instruction);
  return out;
}

}  // namespace hlo
