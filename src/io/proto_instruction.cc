// Converts instructions of serialised modules to text (text-format 8, 9.6): for each attribute of the
// opcode's row, the field of the message that contains it.

#include "io/proto_instruction.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "base/append.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/opcode.h"
#include "io/proto_attributes.h"
#include "io/proto_text.h"
#include "ir/printer.h"

namespace hlo::io {
namespace {

using Proto = proto::HloInstructionProto;

std::string Lower(absl::string_view text) { return absl::AsciiStrToLower(text); }

class Line {
 public:
  Line(const Proto& p, const ProtoNames& names, std::string* out) : p_(p), names_(names), out_(*out) {}

  absl::Status Append() {
    const std::optional<Opcode> opcode = ParseOpcode(p_.opcode());
    if (!opcode) {
      return absl::InvalidArgumentError(fmt::format("'{}' has the opcode '{}', which is unknown",
                                                    NameText(p_.name()), NameText(p_.opcode())));
    }
    opcode_ = *opcode;
    HLO_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(p_.shape()));
    out_ += "%" + NameText(p_.name()) + " = ";
    AppendShape(shape, {.layouts = true, .index_comments = false}, &out_);
    hlo::Append(&out_, " {}(", Name(opcode_));
    HLO_RETURN_IF_ERROR(AppendOperands());
    out_ += ")";
    for (const AttrUse& use : Info(opcode_).attributes)
      HLO_RETURN_IF_ERROR(AppendAttribute(use.id, use.required));
    return AppendCommonAttributes();
  }

 private:
  void Put(AttrId id, std::string_view value) { hlo::Append(&out_, ", {}={}", Info(id).spelling, value); }
  // Omits the attribute if the text is empty.
  void PutUnlessEmpty(AttrId id, const std::string& value) {
    if (!value.empty()) Put(id, value);
  }
  void PutInt(AttrId id, int64_t value) { Put(id, fmt::format("{}", value)); }
  void PutIf(AttrId id, bool value) {
    if (value) Put(id, "true");
  }
  void PutQuoted(AttrId id, const std::string& text) {
    std::string quoted = "\"";
    AppendEscaped(text, &quoted);
    Put(id, quoted + "\"");
  }
  template <class Values>
  void PutInts(AttrId id, const Values& values, bool required = true) {
    if (required || values.size() > 0) Put(id, IntsText(values));
  }

  absl::StatusOr<std::string> OperandName(int64_t id) const {
    const auto found = names_.instructions.find(id);
    if (found == names_.instructions.end()) {
      return absl::InvalidArgumentError(
          fmt::format("'{}' refers to instruction {}, which its computation lacks", NameText(p_.name()), id));
    }
    return "%" + NameText(found->second->name());
  }

  absl::StatusOr<std::string> CalledName(int index) const {
    if (index < p_.called_computation_ids_size()) {
      const auto found = names_.computations.find(p_.called_computation_ids(index));
      if (found != names_.computations.end()) return "%" + NameText(found->second->name());
    }
    return absl::InvalidArgumentError(
        fmt::format("'{}' lacks the computation that it calls", NameText(p_.name())));
  }
  absl::Status PutCalled(AttrId id, int index, bool required) {
    if (!required && p_.called_computation_ids_size() <= index) return absl::OkStatus();
    HLO_ASSIGN_OR_RETURN(const std::string name, CalledName(index));
    Put(id, name);
    return absl::OkStatus();
  }
  absl::Status PutCalledList(AttrId id) {
    std::vector<std::string> list;
    for (int i = 0; i < p_.called_computation_ids_size(); ++i) {
      HLO_ASSIGN_OR_RETURN(std::string name, CalledName(i));
      list.push_back(std::move(name));
    }
    if (!list.empty()) Put(id, "{" + absl::StrJoin(list, ", ") + "}");
    return absl::OkStatus();
  }

  absl::Status AppendOperands() {
    if (opcode_ == Opcode::kParameter) {
      hlo::Append(&out_, "{}", p_.parameter_number());
      return absl::OkStatus();
    }
    if (opcode_ == Opcode::kConstant) return AppendConstant();
    for (int i = 0; i < p_.operand_ids_size(); ++i) {
      HLO_ASSIGN_OR_RETURN(const std::string name, OperandName(p_.operand_ids(i)));
      if (i > 0) out_ += ", ";
      out_ += name;
    }
    return absl::OkStatus();
  }

  static bool HasElided(const Literal& literal) {
    if (!literal.shape().IsTuple()) return literal.shape().IsArray() && literal.data() == nullptr;
    const absl::Span<const Literal> elements = literal.elements();
    return elements.size() != literal.shape().elements().size() ||
           std::any_of(elements.begin(), elements.end(), [](const Literal& e) { return HasElided(e); });
  }

  absl::Status AppendConstant() {
    if (!p_.has_literal()) {
      out_ += "{...}";
      return absl::OkStatus();
    }
    HLO_ASSIGN_OR_RETURN(const Literal literal, LiteralOf(p_.literal()));
    if (HasElided(literal))
      out_ += "{...}";
    else
      AppendLiteral(literal, {.i_comments = false}, &out_);
    return absl::OkStatus();
  }

  // Returns the shape of the first operand; null if there is none.
  const proto::ShapeProto* FirstOperandShape() const {
    if (p_.operand_ids_size() == 0) return nullptr;
    const auto found = names_.instructions.find(p_.operand_ids(0));
    return found == names_.instructions.end() ? nullptr : &found->second->shape();
  }
  bool TakesPred() const {
    const proto::ShapeProto* shape = FirstOperandShape();
    return shape != nullptr && shape->element_type() == proto::PRED;
  }

  // The message joins the sizes of all slices. Each slice has a size for each dimension of the operand, or of
  // an element of a tuple, in turn.
  void PutPermuteSlices(AttrId id) {
    const proto::ShapeProto* shape = FirstOperandShape();
    const int count = p_.dynamic_slice_sizes_size();
    if (shape == nullptr || count == 0) return;
    std::vector<std::string> slices;
    for (int at = 0, slice = 0; at < count; ++slice) {
      const int elements = shape->tuple_shapes_size();
      const int rank = (elements == 0 ? *shape : shape->tuple_shapes(slice % elements)).dimensions_size();
      const int end = rank == 0 ? count : std::min(at + rank, count);
      slices.push_back(fmt::format("{{{}}}", fmt::join(p_.dynamic_slice_sizes().begin() + at,
                                                       p_.dynamic_slice_sizes().begin() + end, ",")));
      at = end;
    }
    Put(id, "{" + absl::StrJoin(slices, ",") + "}");
  }

  void PutPrecision(AttrId id) {
    std::vector<std::string> words;
    bool plain = true;
    for (int precision : p_.precision_config().operand_precision()) {
      words.push_back(Lower(proto::PrecisionConfig::Precision_Name(precision)));
      plain = plain && precision == proto::PrecisionConfig::DEFAULT;
    }
    if (!plain) Put(id, "{" + absl::StrJoin(words, ",") + "}");
  }

  absl::Status PutShapes(AttrId id) {
    if (!p_.constrain_layout() && p_.operand_shapes_with_layout_size() == 0) return absl::OkStatus();
    std::string text = "{";
    for (int i = 0; i < p_.operand_shapes_with_layout_size(); ++i) {
      HLO_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(p_.operand_shapes_with_layout(i)));
      if (i > 0) text += ", ";
      AppendShape(shape, {.layouts = true, .index_comments = false}, &text);
    }
    Put(id, text + "}");
    return absl::OkStatus();
  }

  absl::Status PutLiteral(AttrId id) {
    if (!p_.has_literal()) return absl::OkStatus();
    HLO_ASSIGN_OR_RETURN(const Literal literal, LiteralOf(p_.literal()));
    if (HasElided(literal)) return absl::OkStatus();
    std::string text;
    AppendLiteral(literal, {.shapes = true, .i_comments = false}, &text);
    Put(id, text);
    return absl::OkStatus();
  }

  absl::Status PutOutfeedShape(AttrId id) {
    if (!p_.has_outfeed_shape()) return absl::OkStatus();
    HLO_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(p_.outfeed_shape()));
    Put(id, ToString(shape, {.layouts = true, .index_comments = false}));
    return absl::OkStatus();
  }

  void PutComparison(AttrId id) {
    const std::string& order = p_.comparison_order();
    const std::string& word = id == AttrId::order ? order : p_.comparison_type();
    if (!word.empty() && (id == AttrId::order || order.empty())) PutUnlessEmpty(id, NameText(word));
  }

  void PutSlices(AttrId id) {
    std::vector<std::string> ranges;
    for (const Proto::SliceDimensions& d : p_.slice_dimensions())
      ranges.push_back(fmt::format("[{}:{}:{}]", d.start(), d.limit(), d.stride()));
    Put(id, "{" + absl::StrJoin(ranges, ", ") + "}");
  }

  void PutPairs(AttrId id) {
    std::vector<std::string> pairs;
    for (const proto::SourceTarget& pair : p_.source_target_pairs())
      pairs.push_back(fmt::format("{{{},{}}}", pair.source(), pair.target()));
    Put(id, "{" + absl::StrJoin(pairs, ",") + "}");
  }

  // The messages that proto_fields.def names.
  const Proto& instruction() const { return p_; }
  const proto::GatherDimensionNumbers& gather() const { return p_.gather_dimension_numbers(); }
  const proto::ScatterDimensionNumbers& scatter() const { return p_.scatter_dimension_numbers(); }
  const proto::RaggedDotDimensionNumbers& ragged_dot() const { return p_.ragged_dot_dimension_numbers(); }
  const proto::TriangularSolveOptions& triangular() const { return p_.triangular_solve_options(); }
  const auto& rotation() const { return p_.shuffle_mode().rotate(); }
  const proto::DotDimensionNumbers& dot() const {
    return opcode_ == Opcode::kRaggedDot ? ragged_dot().dot_dimension_numbers() : p_.dot_dimension_numbers();
  }

  absl::Status AppendAttribute(AttrId id, bool required) {
    switch (id) {
#define PROTO_FLAG(name, message, field) \
  case AttrId::name:                     \
    PutIf(id, message().field());        \
    break;
#define PROTO_INT(name, message, field) \
  case AttrId::name:                    \
    PutInt(id, message().field());      \
    break;
#define PROTO_COUNT(name, message, field)                     \
  case AttrId::name:                                          \
    if (message().field() > 1) PutInt(id, message().field()); \
    break;
#define PROTO_INTS(name, message, field) \
  case AttrId::name:                     \
    PutInts(id, message().field());      \
    break;
#define PROTO_SOME_INTS(name, message, field)           \
  case AttrId::name:                                    \
    PutInts(id, message().field(), /*required=*/false); \
    break;
#include "io/proto_fields.def"
      default:
        return AppendCalled(id, required);
    }
    return absl::OkStatus();
  }

  // Appends a computation, or an attribute of another kind.
  absl::Status AppendCalled(AttrId id, bool required) {
    switch (id) {
      case AttrId::body:
        return PutCalled(id, 0, required);
      case AttrId::condition:
        return PutCalled(id, 1, required);
      case AttrId::branch_computations:
        return TakesPred() ? absl::OkStatus() : PutCalledList(id);
      case AttrId::true_computation:
        return TakesPred() ? PutCalled(id, 0, /*required=*/true) : absl::OkStatus();
      case AttrId::false_computation:
        return TakesPred() ? PutCalled(id, 1, /*required=*/true) : absl::OkStatus();
      case AttrId::called_computations:
        return PutCalledList(id);
      case AttrId::calls:
        // An asynchronous chain names its computation once.
        return required ? PutCalled(id, 0, /*required=*/true) : absl::OkStatus();
      case AttrId::to_apply:
        if (opcode_ == Opcode::kCustomCall) break;
        return PutCalled(id, 0, required);
      case AttrId::select:
        return PutCalled(id, 0, required);
      case AttrId::scatter:
        return PutCalled(id, 1, required);
      default:
        return AppendStructure(id, required);
    }
    return absl::OkStatus();
  }

  absl::Status AppendStructure(AttrId id, bool required) {
    switch (id) {
      case AttrId::block_scaling_config:
        PutUnlessEmpty(id, BlockScalingText(p_.block_scaling_config()));
        break;
      case AttrId::dim_labels: {
        if (!p_.has_convolution_dimension_numbers()) break;
        HLO_ASSIGN_OR_RETURN(const std::string labels, DimLabelsText(p_.convolution_dimension_numbers()));
        Put(id, labels);
        break;
      }
      case AttrId::dimensions:
        PutInts(id, p_.dimensions(), required || opcode_ == Opcode::kBroadcast);
        break;
      case AttrId::domain:
        // The message swaps entry and exit.
        Put(id,
            fmt::format("{{kind=\"sharding\", entry={}, exit={}}}", ShardingText(p_.domain_exit_sharding()),
                        ShardingText(p_.domain_entry_sharding())));
        break;
      case AttrId::outfeed_shape:
        return PutOutfeedShape(id);
      case AttrId::literal:
        return PutLiteral(id);
      case AttrId::operand_layout_constraints:
        return PutShapes(id);
      case AttrId::operand_precision:
        PutPrecision(id);
        break;
      case AttrId::output_to_operand_aliasing:
        PutUnlessEmpty(id, AliasText(p_));
        break;
      case AttrId::padding:
        Put(id, PaddingText(p_.padding_config()));
        break;
      case AttrId::replica_groups:
        Put(id, ReplicaGroupsText(p_));
        break;
      case AttrId::result_accuracy:
        PutUnlessEmpty(id, AccuracyText(p_.result_accuracy()));
        break;
      case AttrId::slice:
        PutSlices(id);
        break;
      case AttrId::permute_slice_sizes:
        PutPermuteSlices(id);
        break;
      case AttrId::source_target_pairs:
        PutPairs(id);
        break;
      case AttrId::sparsity_config:
        PutUnlessEmpty(id, SparsityText(p_.sparsity_config()));
        break;
      case AttrId::window:
        PutUnlessEmpty(id, WindowText(p_.window()));
        break;
      default:
        AppendNumber(id);
    }
    return absl::OkStatus();
  }

  void AppendNumber(AttrId id) {
    switch (id) {
      case AttrId::channel_id:
        if (p_.channel_id() != 0) PutInt(id, p_.channel_id());
        break;
      case AttrId::cross_program_prefetch_index:
        if (p_.has_cross_program_prefetch_index()) PutInt(id, p_.cross_program_prefetch_index());
        break;
      case AttrId::iota_dimension:
        PutInt(id, p_.dimensions_size() > 0 ? p_.dimensions(0) : 0);
        break;
      case AttrId::inferred_dimension:
        if (p_.dimensions_size() > 0 && p_.dimensions(0) >= 0) PutInt(id, p_.dimensions(0));
        break;
      case AttrId::epsilon:
        Put(id, RealText(p_.epsilon(), /*as_xla=*/false));
        break;
      case AttrId::index_vector_dim:
        PutInt(id, opcode_ == Opcode::kGather ? gather().index_vector_dim() : scatter().index_vector_dim());
        break;
      case AttrId::is_associative:
        if (p_.is_associative() != proto::TRI_STATE_UNSPECIFIED)
          Put(id, p_.is_associative() == proto::TRI_STATE_TRUE ? "true" : "false");
        break;
      case AttrId::is_stable:
        if (opcode_ == Opcode::kTopk)  // The default is stable.
          Put(id, p_.is_stable() ? "true" : "false");
        else
          PutIf(id, p_.is_stable());
        break;
      case AttrId::largest:
        Put(id, p_.largest() ? "true" : "false");
        break;
      case AttrId::lower:
        PutIf(id, opcode_ == Opcode::kCholesky ? p_.cholesky_options().lower() : triangular().lower());
        break;
      default:
        AppendWord(id);
    }
  }

  void AppendString(AttrId id) {
    switch (id) {
      case AttrId::async_execution_thread:
        if (!p_.async_execution_thread().empty() && p_.async_execution_thread() != "main")
          PutQuoted(id, p_.async_execution_thread());
        break;
      case AttrId::custom_call_target:
        PutQuoted(id, p_.custom_call_target());
        break;
      case AttrId::infeed_config:
        if (!p_.infeed_config().empty()) PutQuoted(id, p_.infeed_config());
        break;
      case AttrId::outfeed_config:
        if (!p_.outfeed_config().empty()) PutQuoted(id, p_.outfeed_config());
        break;
      default:
        break;  // Other attributes have no field.
    }
  }

  // Appends the name of an enumerator, or a string.
  void AppendWord(AttrId id) {
    switch (id) {
      case AttrId::api_version:
        if (p_.custom_call_api_version() > proto::API_VERSION_ORIGINAL)
          PutUnlessEmpty(id, proto::CustomCallApiVersion_Name(p_.custom_call_api_version()));
        break;
      case AttrId::convolution_kind:
        if (p_.conv_kind() != proto::CONVOLUTION_KIND_UNSET) {
          const std::string name = proto::ConvolutionKind_Name(p_.conv_kind());
          PutUnlessEmpty(id, Lower(absl::StripPrefix(name, "CONVOLUTION_KIND_")));
        }
        break;
      case AttrId::direction:
        Put(id, NameText(p_.comparison_direction()));
        break;
      case AttrId::order:
      case AttrId::type:
        PutComparison(id);
        break;
      case AttrId::distribution:
        Put(id, Lower(proto::RandomDistribution_Name(p_.distribution())));
        break;
      case AttrId::dot_algorithm:
        if (p_.precision_config().algorithm() != proto::PrecisionConfig::ALG_UNSET) {
          const std::string name = proto::PrecisionConfig::Algorithm_Name(p_.precision_config().algorithm());
          Put(id, name.empty() ? fmt::format("{}", static_cast<int>(p_.precision_config().algorithm()))
                               : Lower(absl::StripPrefix(name, "ALG_")));
        }
        break;
      case AttrId::fft_type:
        Put(id, proto::FftType_Name(p_.fft_type()));
        break;
      case AttrId::kind:
        Put(id, NameText(p_.fusion_kind()));
        break;
      case AttrId::transpose_a:
        if (triangular().transpose_a() != proto::TriangularSolveOptions::TRANSPOSE_INVALID)
          PutUnlessEmpty(id, proto::TriangularSolveOptions::Transpose_Name(triangular().transpose_a()));
        break;
      case AttrId::padding_type:
        if (p_.padding_type() != proto::PADDING_INVALID)
          PutUnlessEmpty(id, proto::PaddingType_Name(p_.padding_type()));
        break;
      case AttrId::rng_algorithm:
        Put(id, Lower(proto::RandomAlgorithm_Name(p_.rng_algorithm())));
        break;
      case AttrId::schedule:
        if (p_.custom_call_schedule() != proto::SCHEDULE_NONE)
          PutUnlessEmpty(id, proto::CustomCallSchedule_Name(p_.custom_call_schedule()));
        break;
      case AttrId::shuffle_mode:
        Put(id, "rotate");
        break;
      default:
        AppendString(id);
    }
  }

  absl::Status AppendCommonAttributes() {
    if (p_.has_parameter_replication()) {
      std::vector<std::string> flags;
      for (bool flag : p_.parameter_replication().replicated_at_leaf_buffers())
        flags.emplace_back(flag ? "true" : "false");
      Put(AttrId::parameter_replication, "{" + absl::StrJoin(flags, ",") + "}");
    }
    if (p_.has_sharding()) Put(AttrId::sharding, ShardingText(p_.sharding()));
    if (p_.frontend_attributes().map_size() > 0)
      Put(AttrId::frontend_attributes, FrontendAttributesText(p_.frontend_attributes()));
    std::vector<std::string> predecessors;
    for (int64_t id : p_.control_predecessor_ids()) {
      HLO_ASSIGN_OR_RETURN(std::string name, OperandName(id));
      predecessors.push_back(std::move(name));
    }
    if (!predecessors.empty())
      Put(AttrId::control_predecessors, "{" + absl::StrJoin(predecessors, ", ") + "}");
    if (p_.statistics_viz().statistics_size() > 0)
      Put(AttrId::statistics, StatisticsText(p_.statistics_viz()));
    if (p_.has_original_value()) PutUnlessEmpty(AttrId::origin, OriginText(p_.original_value()));
    if (p_.has_metadata()) {
      const std::string metadata = MetadataText(p_.metadata());
      if (metadata != "{}") Put(AttrId::metadata, metadata);
    }
    std::string config = p_.backend_config();
    const proto::Payload& payload = p_.backend_config_payload();
    if (config.empty()) config = payload.value();
    if (config.empty() && payload.id() > 0 && payload.id() <= names_.module.payloads_size())
      config = names_.module.payloads(static_cast<int>(payload.id() - 1));
    if (config.empty()) return absl::OkStatus();
    if (ReadsAsJson(config, /*as_xla=*/false))
      Put(AttrId::backend_config, config);
    else
      PutQuoted(AttrId::backend_config, config);
    return absl::OkStatus();
  }

  const Proto& p_;
  const ProtoNames& names_;
  std::string& out_;
  Opcode opcode_ = Opcode::kAbs;
};

}  // namespace

absl::Status AppendInstruction(const proto::HloInstructionProto& instruction, const ProtoNames& names,
                               std::string* out) {
  return Line(instruction, names, out).Append();
}

}  // namespace hlo::io
