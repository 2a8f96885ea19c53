// Converts serialised modules to text: header, tables and computations (text-format 2, 9.2).

#include "absl/strings/str_cat.h"
#include "base/append.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "io/proto_instruction.h"
#include "io/proto_text.h"
#include "ir/printer.h"

namespace hlo::io {
namespace {

using Computations = absl::flat_hash_map<int64_t, const proto::HloComputationProto*>;

std::string DoublyQuoted(std::string_view text) {
  std::string out = "\"";
  AppendEscaped(text, &out);
  return out + "\"";
}

std::string ArrayText(const proto::OriginalArrayProto& array) {
  const std::string index = array.shape_index_size() > 0 ? " " + IntsText(array.shape_index()) : "";
  return "{" + DoublyQuoted(array.instruction_name()) + index + "}";
}

// Text has words for two of the log modes.
std::string DebugSetText(const proto::DebugAttributesProto& set) {
  std::vector<std::string> fields;
  if (set.log_mode() == proto::DebugAttributesProto::DEFAULT) fields.emplace_back("log_mode=default");
  if (set.log_mode() == proto::DebugAttributesProto::FUSION_DEBUGGER)
    fields.emplace_back("log_mode=fusion_debugger");
  if (set.has_callback_id()) fields.push_back(fmt::format("callback_id={}", set.callback_id()));
  if (set.has_partitioned()) fields.push_back(fmt::format("partitioned={}", set.partitioned()));
  if (set.has_op_id()) fields.push_back(fmt::format("op_id={}", set.op_id()));
  return "{" + absl::StrJoin(fields, ",") + "}";
}

class ModuleText {
 public:
  // `depth` is the number of enclosing modules.
  explicit ModuleText(const proto::HloModuleProto& module, int depth = 0) : module_(module), depth_(depth) {}

  absl::StatusOr<std::string> Make() {
    for (const proto::HloComputationProto& computation : module_.computations()) {
      if (!computations_.emplace(computation.id(), &computation).second) {
        return absl::InvalidArgumentError(
            fmt::format("two computations have the number {}", computation.id()));
      }
    }
    for (const auto& entry : module_.schedule().sequences()) schedules_.emplace(entry.key(), &entry.value());
    HLO_RETURN_IF_ERROR(AppendHeader());
    AppendTables();
    for (const proto::HloComputationProto& computation : module_.computations())
      HLO_RETURN_IF_ERROR(AppendComputation(computation));
    return std::move(out_);
  }

 private:
  template <class... Args>
  void Put(fmt::format_string<Args...> text, Args&&... args) {
    Append(&out_, text, std::forward<Args>(args)...);
  }

  absl::Status PutShape(const proto::ShapeProto& proto) {
    HLO_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(proto));
    AppendShape(shape, {.layouts = true, .index_comments = false}, &out_);
    return absl::OkStatus();
  }

  absl::Status AppendHeader() {
    Put("HloModule %{}", NameText(module_.name()));
    if (module_.schedule().sequences_size() > 0) Put(", is_scheduled=true");
    std::vector<std::string> aliases, donors;
    for (const auto& alias : module_.input_output_alias().entries()) {
      aliases.push_back(fmt::format(
          "{}: ({}, {}, {})", IntsText(alias.output_shape_index()), alias.parameter_number(),
          IntsText(alias.parameter_shape_index()),
          alias.kind() == proto::HloInputOutputAliasProto::MUST_ALIAS ? "must-alias" : "may-alias"));
    }
    if (!aliases.empty()) Put(", input_output_alias={{ {} }}", absl::StrJoin(aliases, ", "));
    for (const auto& donor : module_.buffer_donor().entries())
      donors.push_back(
          fmt::format("({}, {})", donor.parameter_number(), IntsText(donor.parameter_shape_index())));
    if (!donors.empty()) Put(", buffer_donor={{ {} }}", absl::StrJoin(donors, ", "));
    if (module_.has_host_program_shape() && module_.host_program_shape().has_result()) {
      Put(", entry_computation_layout={{(");
      for (int i = 0; i < module_.host_program_shape().parameters_size(); ++i) {
        if (i > 0) Put(", ");
        HLO_RETURN_IF_ERROR(PutShape(module_.host_program_shape().parameters(i)));
      }
      Put(")->");
      HLO_RETURN_IF_ERROR(PutShape(module_.host_program_shape().result()));
      Put("}}");
    }
    if (module_.device_assignment().replica_count() > 1)
      Put(", replica_count={}", module_.device_assignment().replica_count());
    if (module_.device_assignment().computation_count() > 1)
      Put(", num_partitions={}", module_.device_assignment().computation_count());
    if (module_.frontend_attributes().map_size() > 0)
      Put(", frontend_attributes={}", FrontendAttributesText(module_.frontend_attributes()));
    HLO_RETURN_IF_ERROR(AppendRecoveryTable());
    std::vector<std::string> attributes;
    for (const proto::DebugAttributeTableEntryProto& entry : module_.debug_attributes()) {
      std::vector<std::string> sets;
      for (const proto::DebugAttributesProto& set : entry.debug_attributes())
        sets.push_back(DebugSetText(set));
      attributes.push_back(
          fmt::format("{}:({})", ArrayText(entry.original_array()), absl::StrJoin(sets, ",")));
    }
    if (!attributes.empty()) Put(", debug_attributes={{ {} }}", absl::StrJoin(attributes, ", "));
    Put("\n");
    return absl::OkStatus();
  }

  // Nested modules are strings, whose escapes double at each level.
  absl::Status AppendRecoveryTable() {
    constexpr int kDeepest = 4;
    if (module_.original_value_recovery_table().entries_size() == 0) return absl::OkStatus();
    if (depth_ == kDeepest)
      return absl::ResourceExhaustedError(fmt::format("recovery modules nest more than {} deep", kDeepest));
    Put(", origin_recovery_table={{");
    for (const proto::OriginRecoveryProto& entry : module_.original_value_recovery_table().entries()) {
      Put(" {} : {}", ArrayText(entry.old_original_array()), ArrayText(entry.new_original_array()));
      if (!entry.has_recovery_module()) continue;
      HLO_ASSIGN_OR_RETURN(const std::string text, ModuleText(entry.recovery_module(), depth_ + 1).Make());
      Put(", {}", DoublyQuoted(text));
      if (out_.size() > kMaxBytes) return TooLong();
    }
    Put(" }}");
    return absl::OkStatus();
  }

  void AppendTables() {
    const proto::StackFrameIndexProto& tables = module_.stack_frame_index();
    if (tables.stack_frames_size() == 0) return;
    const auto names = [&](std::string_view title, const auto& list) {
      Put("\n{}\n", title);
      for (int i = 0; i < list.size(); ++i) Put("{} {}\n", i + 1, DoublyQuoted(list[i]));
    };
    names("FileNames", tables.file_names());
    names("FunctionNames", tables.function_names());
    Put("\nFileLocations\n");
    for (int i = 0; i < tables.file_locations_size(); ++i) {
      const auto& l = tables.file_locations(i);
      Put("{} {{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}\n", i + 1,
          l.file_name_id(), l.function_name_id(), l.line(), l.end_line(), l.column(), l.end_column());
    }
    Put("\nStackFrames\n");
    for (int i = 0; i < tables.stack_frames_size(); ++i) {
      const auto& f = tables.stack_frames(i);  // In text, a frame without a parent has parent 1.
      Put("{} {{file_location_id={} parent_frame_id={}}}\n", i + 1, f.file_location_id(),
          int64_t{f.parent_frame_id()} + 1);
    }
  }

  bool IsEntry(const proto::HloComputationProto& computation) const {
    if (module_.entry_computation_id() != 0) return computation.id() == module_.entry_computation_id();
    return computation.name() == module_.entry_computation_name();
  }

  absl::Status AppendComputation(const proto::HloComputationProto& computation) {
    ProtoNames names{{}, computations_, module_};
    std::vector<const proto::HloInstructionProto*> order;
    for (const proto::HloInstructionProto& instruction : computation.instructions()) {
      order.push_back(&instruction);
      if (!names.instructions.emplace(instruction.id(), &instruction).second) {
        return absl::InvalidArgumentError(fmt::format("two instructions of '{}' have the number {}",
                                                      NameText(computation.name()), instruction.id()));
      }
    }
    const auto schedule = schedules_.find(computation.id());
    if (schedule != schedules_.end()) {
      HLO_ASSIGN_OR_RETURN(order, Scheduled(*schedule->second, computation, names));
    }
    Put("\n{}%{} {{\n", IsEntry(computation) ? "ENTRY " : "", NameText(computation.name()));
    for (const proto::HloInstructionProto* instruction : order) {
      Put("  {}", instruction->id() == computation.root_id() ? "ROOT " : "");
      HLO_RETURN_IF_ERROR(AppendInstruction(*instruction, names, &out_));
      if (IsEntry(computation)) AppendRecordedSharding(computation, *instruction);
      Put("\n");
      if (out_.size() > kMaxBytes) return TooLong();
    }
    Put("}}");
    if (!computation.execution_thread().empty() && computation.execution_thread() != "main")
      Put(", execution_thread={}", DoublyQuoted(computation.execution_thread()));
    Put("\n");
    return absl::OkStatus();
  }

  // The partitioner removes the shardings of parameters and root, and records them in the module.
  void AppendRecordedSharding(const proto::HloComputationProto& computation,
                              const proto::HloInstructionProto& instruction) {
    if (instruction.has_sharding()) return;
    const int64_t number = instruction.opcode() == "parameter" ? instruction.parameter_number() : -1;
    if (number >= 0 && number < module_.spmd_parameters_shardings_size()) {
      Put(", sharding={}", ShardingText(module_.spmd_parameters_shardings(static_cast<int>(number))));
    } else if (instruction.id() == computation.root_id() && module_.has_spmd_output_sharding()) {
      Put(", sharding={}", ShardingText(module_.spmd_output_sharding()));
    }
  }

  absl::StatusOr<std::vector<const proto::HloInstructionProto*>> Scheduled(
      const proto::HloScheduleProto::InstructionSequence& sequence,
      const proto::HloComputationProto& computation, const ProtoNames& names) const {
    std::vector<const proto::HloInstructionProto*> order;
    for (int64_t id : sequence.instruction_ids()) {
      const auto found = names.instructions.find(id);
      if (found != names.instructions.end()) order.push_back(found->second);
    }
    if (static_cast<int>(order.size()) != computation.instructions_size()) {
      return absl::InvalidArgumentError(fmt::format("the schedule of '{}' has {} of its {}",
                                                    NameText(computation.name()), order.size(),
                                                    Counted(computation.instructions_size(), "instruction")));
    }
    return order;
  }

  static constexpr size_t kMaxBytes = size_t{3} << 30;
  static absl::Status TooLong() {
    return absl::ResourceExhaustedError("the module as text takes more than 3 GiB");
  }

  const proto::HloModuleProto& module_;
  int depth_;
  Computations computations_;
  absl::flat_hash_map<int64_t, const proto::HloScheduleProto::InstructionSequence*> schedules_;
  std::string out_;
};

}  // namespace

std::string NameText(std::string_view name) {
  std::string text(name.substr(0, 10000));
  for (char& c : text) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == '_' || c == '.' || c == '-';
    if (!allowed) c = '_';
  }
  if (text.empty() || (text[0] >= '0' && text[0] <= '9') || text[0] == '.' || text[0] == '-')
    text = absl::StrCat("_", text);
  return text;
}

absl::StatusOr<std::string> TextOf(const proto::HloModuleProto& module) { return ModuleText(module).Make(); }

}  // namespace hlo::io
