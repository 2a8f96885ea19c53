#include "io/write_instruction.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "io/literal_proto.h"

namespace hlo::io {
namespace {

// Sets the value of a message's enumeration whose name is the prefix and this word in capitals.
template <class Parse, class Enum>
void SetWord(Parse parse, std::string_view prefix, std::string_view word, Enum* out) {
  parse(Bytes(prefix) + absl::AsciiStrToUpper(absl::string_view(word.data(), word.size())), out);
}

void WindowToProto(const Window& window, proto::Window* out) {
  for (const WindowDim& dim : window) {
    proto::WindowDimension* added = out->add_dimensions();
    added->set_size(dim.size);
    added->set_stride(dim.stride);
    added->set_padding_low(dim.padding_low);
    added->set_padding_high(dim.padding_high);
    added->set_window_dilation(dim.window_dilation);
    added->set_base_dilation(dim.base_dilation);
    added->set_window_reversal(dim.reversed);
  }
}

void DimLabelsToProto(const DimLabels& labels, proto::ConvolutionDimensionNumbers* out) {
  out->set_input_batch_dimension(std::max<int64_t>(labels.input_batch, 0));
  out->set_input_feature_dimension(std::max<int64_t>(labels.input_feature, 0));
  AddAll(labels.input_spatial, out->mutable_input_spatial_dimensions());
  out->set_kernel_input_feature_dimension(std::max<int64_t>(labels.kernel_input_feature, 0));
  out->set_kernel_output_feature_dimension(std::max<int64_t>(labels.kernel_output_feature, 0));
  AddAll(labels.kernel_spatial, out->mutable_kernel_spatial_dimensions());
  out->set_output_batch_dimension(std::max<int64_t>(labels.output_batch, 0));
  out->set_output_feature_dimension(std::max<int64_t>(labels.output_feature, 0));
  AddAll(labels.output_spatial, out->mutable_output_spatial_dimensions());
}

// Adds the leaves of an origin tree with their paths.
void OriginToProto(const OriginNode& node, std::vector<int64_t>* path, proto::OriginalValueProto* out) {
  if (!node.is_tuple) {
    proto::OriginalValueElementProto* added = out->add_elements();
    AddAll(*path, added->mutable_shape_index());
    if (node.has_value) ToProto(node, added->mutable_original_array());
    return;
  }
  path->push_back(0);
  for (const OriginNode* element : node.elements) {
    OriginToProto(*element, path, out);
    ++path->back();
  }
  path->pop_back();
}

void SparsityToProto(const SparsitySide& side, proto::SparsityConfig::TensorSparsityConfig* out) {
  out->set_num_non_zero(side.nonzeros);
  out->set_block_size(side.block);
  out->set_dimension(side.dimension);
  out->set_stride(side.stride);
  out->set_idx(static_cast<int32_t>(side.operand));
}

class InstructionWriter {
 public:
  InstructionWriter(const Instruction& instruction, const ProtoIds& ids, proto::HloInstructionProto* out)
      : i_(instruction), ids_(ids), out_(*out) {}

  absl::Status Write() {
    out_.set_name(Bytes(i_.name()));
    out_.set_opcode(Bytes(Name(i_.opcode())));
    ToProto(i_.shape(), out_.mutable_shape());
    out_.set_id(ids_.instructions.at(&i_));
    for (const Instruction* operand : i_.operands()) out_.add_operand_ids(ids_.instructions.at(operand));
    WriteCalled();
    WriteDefaults();
    for (const AttrEntry& entry : i_.attributes()) HLO_RETURN_IF_ERROR(WriteAttribute(entry));
    return absl::OkStatus();
  }

 private:
  void AddCalled(const Computation* computation) {
    if (computation != nullptr) out_.add_called_computation_ids(ids_.computations.at(computation));
  }

  // Writes the called computations in the message's order.
  void WriteCalled() {
    switch (i_.opcode()) {
      case Opcode::kWhile:
        AddCalled(i_.Get<attr::body>());
        AddCalled(i_.Get<attr::condition>());
        break;
      case Opcode::kSelectAndScatter:
        AddCalled(i_.Get<attr::select>());
        AddCalled(i_.Get<attr::scatter>());
        break;
      case Opcode::kConditional:
        AddCalled(i_.Get<attr::true_computation>());
        AddCalled(i_.Get<attr::false_computation>());
        for (const Computation* branch : i_.Get<attr::branch_computations>()) AddCalled(branch);
        break;
      default:
        for (const Computation* called : i_.called_computations()) AddCalled(called);
    }
  }

  // Writes fields that messages contain even if the text omits the attribute.
  void WriteDefaults() {
    if (i_.opcode() == Opcode::kConvolution) out_.mutable_window();
    if (i_.opcode() == Opcode::kOutfeed && i_.operand_count() > 0)
      ToProto(i_.operand(0)->shape(), out_.mutable_outfeed_shape());
    if (i_.opcode() == Opcode::kTopk) {
      out_.set_largest(true);
      out_.set_is_stable(true);
    }
    if (i_.opcode() == Opcode::kTriangularSolve)
      out_.mutable_triangular_solve_options()->set_transpose_a(proto::TriangularSolveOptions::NO_TRANSPOSE);
    if (i_.opcode() == Opcode::kConvolution || i_.opcode() == Opcode::kCustomCall) {
      out_.set_feature_group_count(1);
      out_.set_batch_group_count(1);
    }
  }

  template <class A>
  typename A::Type Get() const {
    return i_.Get<A>();
  }
  // The messages that proto_fields.def names.
  proto::HloInstructionProto* instruction() { return &out_; }
  proto::RaggedDotDimensionNumbers* ragged_dot() { return out_.mutable_ragged_dot_dimension_numbers(); }
  proto::TriangularSolveOptions* triangular() { return out_.mutable_triangular_solve_options(); }
  auto* rotation() { return out_.mutable_shuffle_mode()->mutable_rotate(); }
  proto::GatherDimensionNumbers* gather() { return out_.mutable_gather_dimension_numbers(); }
  proto::ScatterDimensionNumbers* scatter() { return out_.mutable_scatter_dimension_numbers(); }
  proto::DotDimensionNumbers* dot() {
    return i_.opcode() == Opcode::kRaggedDot
               ? out_.mutable_ragged_dot_dimension_numbers()->mutable_dot_dimension_numbers()
               : out_.mutable_dot_dimension_numbers();
  }

  void WriteSlices() {
    for (const SliceRange& range : Get<attr::slice>()) {
      auto* added = out_.add_slice_dimensions();
      added->set_start(range.start);
      added->set_limit(range.limit);
      added->set_stride(range.stride);
    }
  }
  void WritePadding() {
    for (const PaddingDim& dim : Get<attr::padding>()) {
      auto* added = out_.mutable_padding_config()->add_dimensions();
      added->set_edge_padding_low(dim.low);
      added->set_edge_padding_high(dim.high);
      added->set_interior_padding(dim.interior);
    }
  }
  void WriteAliases() {
    for (const OutputOperandAlias& alias : Get<attr::output_to_operand_aliasing>()) {
      auto* added = out_.add_output_operand_aliasing();
      AddAll(alias.output_index, added->mutable_output_shape_index());
      added->set_operand_index(alias.operand);
      AddAll(alias.operand_index, added->mutable_operand_shape_index());
    }
  }
  void WriteAccuracy() {
    const ResultAccuracy& accuracy = *Get<attr::result_accuracy>();
    if (accuracy.has_tolerance) {
      auto* tolerance = out_.mutable_result_accuracy()->mutable_tolerance();
      tolerance->set_atol(accuracy.atol);
      tolerance->set_rtol(accuracy.rtol);
      tolerance->set_ulps(accuracy.ulps);
    } else {
      out_.mutable_result_accuracy()->set_mode(accuracy.mode == AccuracyMode::kHighest
                                                   ? proto::ResultAccuracy::HIGHEST
                                                   : proto::ResultAccuracy::DEFAULT);
    }
  }
  void WriteStatistics() {
    const Statistics& statistics = *Get<attr::statistics>();
    out_.mutable_statistics_viz()->set_stat_index_to_visualize(statistics.visualizing_index);
    for (const Statistic& entry : statistics.entries) {
      proto::Statistic* added = out_.mutable_statistics_viz()->add_statistics();
      added->set_stat_name(Bytes(entry.name));
      added->set_stat_val(entry.value);
    }
  }
  void WriteOrigin() {
    const Origin& origin = *Get<attr::origin>();
    std::vector<int64_t> path;
    proto::OriginalValueProto* out = out_.mutable_original_value();
    if (origin.tree != nullptr) OriginToProto(*origin.tree, &path, out);
    out->set_is_synthetic_call(origin.has_call_hierarchy && origin.call_hierarchy.empty());
    out->set_call_hierarchy(Bytes(origin.call_hierarchy));
  }

  // The message swaps entry and exit.
  void WriteDomain(const Domain* domain) {
    if (domain == nullptr) return;
    if (domain->exit != nullptr) ToProto(*domain->exit, out_.mutable_domain_entry_sharding());
    if (domain->entry != nullptr) ToProto(*domain->entry, out_.mutable_domain_exit_sharding());
  }
  void WriteSparsity() {
    const SparsityConfig& config = *Get<attr::sparsity_config>();
    if (config.lhs.present) SparsityToProto(config.lhs, out_.mutable_sparsity_config()->mutable_lhs());
    if (config.rhs.present) SparsityToProto(config.rhs, out_.mutable_sparsity_config()->mutable_rhs());
  }
  void WriteBlockScaling() {
    const BlockScalingConfig& config = *Get<attr::block_scaling_config>();
    auto* out = out_.mutable_block_scaling_config();
    if (config.lhs.present) out->mutable_lhs()->set_scale_idx(static_cast<int32_t>(config.lhs.scale_operand));
    if (config.rhs.present) out->mutable_rhs()->set_scale_idx(static_cast<int32_t>(config.rhs.scale_operand));
  }

  absl::Status WriteAttribute(const AttrEntry& entry) {
    switch (entry.id) {
#define PROTO_FLAG(name, message, field)       \
  case AttrId::name:                           \
    message()->set_##field(Get<attr::name>()); \
    break;
#define PROTO_INT(name, message, field)                                                   \
  case AttrId::name:                                                                      \
    message()->set_##field(static_cast<decltype(message()->field())>(Get<attr::name>())); \
    break;
#define PROTO_COUNT PROTO_INT
#define PROTO_INTS(name, message, field)                     \
  case AttrId::name:                                         \
    AddAll(Get<attr::name>(), message()->mutable_##field()); \
    break;
#define PROTO_SOME_INTS PROTO_INTS
#include "io/proto_fields.def"
      default:
        return WriteStructure(entry);
    }
    return absl::OkStatus();
  }

  absl::Status WriteStructure(const AttrEntry& entry) {
    switch (entry.id) {
      case AttrId::slice:
        WriteSlices();
        break;
      case AttrId::padding:
        WritePadding();
        break;
      case AttrId::output_to_operand_aliasing:
        WriteAliases();
        break;
      case AttrId::literal: {
        const Literal* literal = Get<attr::literal>();
        if (literal != nullptr && !i_.is_elided()) return ToProto(*literal, out_.mutable_literal());
        break;
      }
      case AttrId::window:
        WindowToProto(Get<attr::window>(), out_.mutable_window());
        break;
      case AttrId::dim_labels:
        DimLabelsToProto(*Get<attr::dim_labels>(), out_.mutable_convolution_dimension_numbers());
        break;
      case AttrId::replica_groups:
        ToProto(*Get<attr::replica_groups>(), &out_);
        break;
      case AttrId::source_target_pairs:
        for (const IntList& pair : Get<attr::source_target_pairs>()) {
          proto::SourceTarget* added = out_.add_source_target_pairs();
          added->set_source(!pair.empty() ? pair[0] : 0);
          added->set_target(pair.size() > 1 ? pair[1] : 0);
        }
        break;
      case AttrId::permute_slice_sizes:
        for (const IntList& sizes : Get<attr::permute_slice_sizes>())
          out_.mutable_dynamic_slice_sizes()->Add(sizes.begin(), sizes.end());
        break;
      case AttrId::domain:
        WriteDomain(entry.value.As<const Domain*>());
        break;
      case AttrId::operand_layout_constraints:
        out_.set_constrain_layout(true);
        for (const Shape* shape : Get<attr::operand_layout_constraints>())
          ToProto(*shape, out_.add_operand_shapes_with_layout());
        break;
      case AttrId::outfeed_shape:
        out_.clear_outfeed_shape();
        ToProto(*Get<attr::outfeed_shape>(), out_.mutable_outfeed_shape());
        break;
      case AttrId::result_accuracy:
        WriteAccuracy();
        break;
      case AttrId::sparsity_config:
        WriteSparsity();
        break;
      case AttrId::block_scaling_config:
        WriteBlockScaling();
        break;
      default:
        WriteCommon(entry);
    }
    return absl::OkStatus();
  }

  // Writes an attribute that all opcodes have, or a word or number.
  void WriteCommon(const AttrEntry& entry) {
    switch (entry.id) {
      case AttrId::sharding:
        ToProto(*Get<attr::sharding>(), out_.mutable_sharding());
        break;
      case AttrId::frontend_attributes:
        ToProto(*Get<attr::frontend_attributes>(), out_.mutable_frontend_attributes());
        break;
      case AttrId::statistics:
        WriteStatistics();
        break;
      case AttrId::parameter_replication:
        AddAll(Get<attr::parameter_replication>(),
               out_.mutable_parameter_replication()->mutable_replicated_at_leaf_buffers());
        break;
      case AttrId::control_predecessors:
        for (const Instruction* before : Get<attr::control_predecessors>())
          out_.add_control_predecessor_ids(ids_.instructions.at(before));
        break;
      case AttrId::origin:
        WriteOrigin();
        break;
      case AttrId::metadata:
        ToProto(*Get<attr::metadata>(), out_.mutable_metadata());
        break;
      case AttrId::backend_config:
        out_.set_backend_config(Bytes(Get<attr::backend_config>().text));
        break;
      default:
        WriteWord(entry);
    }
  }

  // Writes an enumerator, or a number.
  void WriteWord(const AttrEntry& entry) {
    switch (entry.id) {
      case AttrId::api_version:
        out_.set_custom_call_api_version(static_cast<proto::CustomCallApiVersion>(Get<attr::api_version>()));
        break;
      case AttrId::direction:
        out_.set_comparison_direction(Bytes(Word(Get<attr::direction>())));
        break;
      case AttrId::order:
        out_.set_comparison_order(Bytes(Word(Get<attr::order>())));
        break;
      case AttrId::type:
        out_.set_comparison_type(Bytes(Word(Get<attr::type>())));
        break;
      case AttrId::kind:
        out_.set_fusion_kind(Bytes(Word(Get<attr::kind>())));
        break;
      case AttrId::distribution:
        out_.set_distribution(static_cast<proto::RandomDistribution>(Get<attr::distribution>()));
        break;
      case AttrId::rng_algorithm:
        out_.set_rng_algorithm(static_cast<proto::RandomAlgorithm>(Get<attr::rng_algorithm>()));
        break;
      case AttrId::fft_type:
        out_.set_fft_type(static_cast<proto::FftType>(Get<attr::fft_type>()));
        break;
      case AttrId::padding_type:
        out_.set_padding_type(static_cast<proto::PaddingType>(Get<attr::padding_type>()));
        break;
      case AttrId::schedule:
        out_.set_custom_call_schedule(static_cast<proto::CustomCallSchedule>(Get<attr::schedule>()));
        break;
      case AttrId::transpose_a:
        out_.mutable_triangular_solve_options()->set_transpose_a(
            static_cast<proto::TriangularSolveOptions::Transpose>(Get<attr::transpose_a>()));
        break;
      case AttrId::convolution_kind: {
        proto::ConvolutionKind kind = proto::CONVOLUTION_KIND_UNSET;
        SetWord(&proto::ConvolutionKind_Parse, "CONVOLUTION_KIND_", Word(Get<attr::convolution_kind>()),
                &kind);
        out_.set_conv_kind(kind);
        break;
      }
      case AttrId::dot_algorithm: {
        proto::PrecisionConfig::Algorithm algorithm = proto::PrecisionConfig::ALG_UNSET;
        SetWord(&proto::PrecisionConfig::Algorithm_Parse, "ALG_", Word(Get<attr::dot_algorithm>()),
                &algorithm);
        out_.mutable_precision_config()->set_algorithm(algorithm);
        break;
      }
      case AttrId::operand_precision:
        for (Precision precision : Get<attr::operand_precision>())
          out_.mutable_precision_config()->add_operand_precision(
              static_cast<proto::PrecisionConfig::Precision>(precision));
        break;
      default:
        WriteScalar(entry);
    }
  }

  // Writes a number, flag or string.
  void WriteScalar(const AttrEntry& entry) {
    const auto integer = [&] { return entry.value.As<int64_t>(); };
    const auto flag = [&] { return entry.value.As<bool>(); };
    const auto bytes = [&] { return Bytes(entry.value.As<std::string_view>()); };
    switch (entry.id) {
      case AttrId::iota_dimension:
        out_.add_dimensions(Get<attr::iota_dimension>());
        break;
      case AttrId::inferred_dimension:
        out_.add_dimensions(Get<attr::inferred_dimension>());
        break;
      case AttrId::shuffle_mode:
        out_.mutable_shuffle_mode()->mutable_rotate();
        break;
      case AttrId::index_vector_dim:
        if (i_.opcode() == Opcode::kGather)
          gather()->set_index_vector_dim(Get<attr::index_vector_dim>());
        else
          scatter()->set_index_vector_dim(Get<attr::index_vector_dim>());
        break;
      case AttrId::number:
        return out_.set_parameter_number(integer());
      case AttrId::async_execution_thread:
        return out_.set_async_execution_thread(bytes());
      case AttrId::channel_id:
        return out_.set_channel_id(integer());
      case AttrId::cross_program_prefetch_index:
        return out_.set_cross_program_prefetch_index(static_cast<int32_t>(integer()));
      case AttrId::custom_call_target:
        return out_.set_custom_call_target(bytes());
      case AttrId::epsilon:
        return out_.set_epsilon(static_cast<float>(entry.value.As<double>()));
      case AttrId::infeed_config:
        return out_.set_infeed_config(bytes());
      case AttrId::outfeed_config:
        return out_.set_outfeed_config(bytes());
      case AttrId::is_associative:
        return out_.set_is_associative(flag() ? proto::TRI_STATE_TRUE : proto::TRI_STATE_FALSE);
      case AttrId::is_stable:
        return out_.set_is_stable(flag());
      case AttrId::largest:
        return out_.set_largest(flag());
      case AttrId::lower:
        if (i_.opcode() == Opcode::kCholesky) return out_.mutable_cholesky_options()->set_lower(flag());
        return out_.mutable_triangular_solve_options()->set_lower(flag());
      case AttrId::dimensions:
        return AddAll(Get<attr::dimensions>(), out_.mutable_dimensions());
      default:
        return;  // Computations have been written; the others have no field.
    }
  }

  const Instruction& i_;
  const ProtoIds& ids_;
  proto::HloInstructionProto& out_;
};

}  // namespace

absl::Status ToProto(const Instruction& instruction, const ProtoIds& ids, proto::HloInstructionProto* out) {
  return InstructionWriter(instruction, ids, out).Write();
}

}  // namespace hlo::io
