// Converts modules to messages: ids, header, tables and computations.

#include "io/write_module.h"

#include <limits>
#include <set>

#include "base/status.h"
#include "google/protobuf/text_format.h"
#include "io/literal_proto.h"
#include "io/proto_json.h"
#include "io/write_instruction.h"

namespace hlo::io {
namespace {

// Returns the computations that fusions call, which schedules omit.
std::set<const Computation*> CalledByFusions(const Module& module) {
  std::set<const Computation*> found;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kFusion) continue;
      found.insert(instruction->called_computations().begin(), instruction->called_computations().end());
    }
  }
  return found;
}

class ModuleWriter {
 public:
  ModuleWriter(const Module& module, proto::HloModuleProto* out) : module_(module), out_(*out) {
    for (const Computation* computation : module.computations()) {
      ids_.computations[computation] = static_cast<int64_t>(ids_.computations.size()) + 1;
      for (const Instruction* instruction : computation->instructions())
        ids_.instructions[instruction] = static_cast<int64_t>(ids_.instructions.size()) + 1;
    }
  }

  absl::Status Write() {
    out_.set_name(Bytes(module_.name()));
    if (const Computation* entry = module_.entry(); entry != nullptr) {
      out_.set_entry_computation_name(Bytes(entry->name()));
      out_.set_entry_computation_id(ids_.computations.at(entry));
      WriteProgramShape(*entry);
    }
    HLO_RETURN_IF_ERROR(WriteHeader());
    WriteTables();
    for (const Computation* computation : module_.computations()) {
      proto::HloComputationProto* added = out_.add_computations();
      added->set_name(Bytes(computation->name()));
      added->set_id(ids_.computations.at(computation));
      if (computation->root() != nullptr) added->set_root_id(ids_.instructions.at(computation->root()));
      added->set_execution_thread(Bytes(computation->execution_thread()));
      for (const Instruction* instruction : computation->instructions())
        HLO_RETURN_IF_ERROR(ToProto(*instruction, ids_, added->add_instructions()));
    }
    return absl::OkStatus();
  }

 private:
  void WriteProgramShape(const Computation& entry) {
    proto::ProgramShapeProto* shape = out_.mutable_host_program_shape();
    for (const Instruction* parameter : entry.parameters())
      shape->add_parameter_names(parameter == nullptr ? "" : Bytes(parameter->name()));
    if (const auto& layout = module_.header().entry_layout; layout != nullptr) {
      for (const Shape& parameter : layout->parameters) ToProto(parameter, shape->add_parameters());
      ToProto(layout->result, shape->mutable_result());
      return;
    }
    for (const Instruction* parameter : entry.parameters()) {
      if (parameter != nullptr) ToProto(parameter->shape(), shape->add_parameters());
    }
    if (entry.root() != nullptr) ToProto(entry.root()->shape(), shape->mutable_result());
  }

  absl::Status WriteHeader() {
    const ModuleHeader& header = module_.header();
    if (header.is_scheduled) WriteSchedule();
    for (const InputOutputAlias& alias : header.input_output_alias) {
      auto* added = out_.mutable_input_output_alias()->add_entries();
      AddAll(alias.output_index, added->mutable_output_shape_index());
      added->set_parameter_number(alias.parameter);
      AddAll(alias.parameter_index, added->mutable_parameter_shape_index());
      added->set_kind(alias.must_alias ? proto::HloInputOutputAliasProto::MUST_ALIAS
                                       : proto::HloInputOutputAliasProto::MAY_ALIAS);
    }
    for (const BufferDonor& donor : header.buffer_donor) {
      auto* added = out_.mutable_buffer_donor()->add_entries();
      added->set_parameter_number(donor.parameter);
      AddAll(donor.parameter_index, added->mutable_parameter_shape_index());
    }
    WriteDevices();
    if (header.frontend_attributes != nullptr)
      ToProto(*header.frontend_attributes, out_.mutable_frontend_attributes());
    for (const OriginRecovery& entry : header.origin_recovery_table) {
      proto::OriginRecoveryProto* added = out_.mutable_original_value_recovery_table()->add_entries();
      if (entry.from != nullptr) ToProto(*entry.from, added->mutable_old_original_array());
      if (entry.to != nullptr) ToProto(*entry.to, added->mutable_new_original_array());
      if (entry.recovery == nullptr) continue;
      HLO_ASSIGN_OR_RETURN(*added->mutable_recovery_module(), ToProto(*entry.recovery));
    }
    for (const DebugAttributes& entry : header.debug_attributes) WriteDebugAttributes(entry);
    return absl::OkStatus();
  }

  void WriteDebugAttributes(const DebugAttributes& entry) {
    proto::DebugAttributeTableEntryProto* added = out_.add_debug_attributes();
    if (entry.array != nullptr) ToProto(*entry.array, added->mutable_original_array());
    for (const DebugAttribute& set : entry.sets) {
      proto::DebugAttributesProto* out = added->add_debug_attributes();
      if (set.has_log_mode) {
        out->set_log_mode(set.fusion_debugger ? proto::DebugAttributesProto::FUSION_DEBUGGER
                                              : proto::DebugAttributesProto::DEFAULT);
      }
      if (set.has_callback_id) out->set_callback_id(set.callback_id);
      if (set.has_partitioned) out->set_partitioned(set.partitioned);
      if (set.has_op_id) out->set_op_id(set.op_id);
    }
  }

  // The schedule is the text order.
  void WriteSchedule() {
    const std::set<const Computation*> fused = CalledByFusions(module_);
    for (const Computation* computation : module_.computations()) {
      if (fused.contains(computation)) continue;
      auto* added = out_.mutable_schedule()->add_sequences();
      added->set_key(ids_.computations.at(computation));
      for (const Instruction* instruction : computation->instructions())
        added->mutable_value()->add_instruction_ids(ids_.instructions.at(instruction));
    }
  }

  // Replica r of partition p runs on device r * partitions + p.
  void WriteDevices() {
    const int64_t replicas = module_.header().replica_count, partitions = module_.header().num_partitions;
    constexpr int64_t kMaxDevices = 1 << 20;
    if (replicas * partitions <= 1 || replicas > kMaxDevices || partitions > kMaxDevices / replicas) return;
    proto::DeviceAssignmentProto* devices = out_.mutable_device_assignment();
    devices->set_replica_count(static_cast<int32_t>(replicas));
    devices->set_computation_count(static_cast<int32_t>(partitions));
    for (int64_t p = 0; p < partitions; ++p) {
      auto* added = devices->add_computation_devices();
      for (int64_t r = 0; r < replicas; ++r) added->add_replica_device_ids(r * partitions + p);
    }
  }

  void WriteTables() {
    const SourceTables& tables = module_.header().tables;
    if (tables.stack_frames.empty() && tables.file_names.empty()) return;
    proto::StackFrameIndexProto* out = out_.mutable_stack_frame_index();
    for (std::string_view name : tables.file_names) out->add_file_names(Bytes(name));
    for (std::string_view name : tables.function_names) out->add_function_names(Bytes(name));
    for (const FileLocation& location : tables.file_locations) {
      auto* added = out->add_file_locations();
      added->set_file_name_id(location.file_name_id);
      added->set_function_name_id(location.function_name_id);
      added->set_line(location.line);
      added->set_end_line(location.end_line);
      added->set_column(location.column);
      added->set_end_column(location.end_column);
    }
    for (const StackFrame& frame : tables.stack_frames) {
      auto* added = out->add_stack_frames();
      added->set_file_location_id(frame.file_location_id);
      added->set_parent_frame_id(frame.parent_frame_id);
    }
  }

  const Module& module_;
  proto::HloModuleProto& out_;
  ProtoIds ids_;
};

}  // namespace

absl::StatusOr<proto::HloModuleProto> ToProto(const Module& module) {
  proto::HloModuleProto message;
  HLO_RETURN_IF_ERROR(ModuleWriter(module, &message).Write());
  return message;
}

absl::StatusOr<std::string> Serialize(const Module& module, MessageForm form) {
  HLO_ASSIGN_OR_RETURN(const proto::HloModuleProto message, ToProto(module));
  if (message.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return absl::ResourceExhaustedError("the module as a message is larger than 2 GiB");
  std::string text;
  if (form == MessageForm::kJson) return MessageToJson(message);
  const bool written = form == MessageForm::kBinary
                           ? message.SerializeToString(&text)
                           : google::protobuf::TextFormat::PrintToString(message, &text);
  return written ? absl::StatusOr<std::string>(std::move(text))
                 : absl::ResourceExhaustedError("the module cannot be written as a message");
}

}  // namespace hlo::io
