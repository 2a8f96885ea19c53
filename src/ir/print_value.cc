// Prints attribute values by kind (text-format 8, 9.6).

#include <algorithm>

#include "base/append.h"
#include "fmt/format.h"
#include "ir/printer.h"
#include "ir/word_kinds.h"

namespace hlo {
namespace {

template <class T>
bool Empty(AttrValue value) {
  return value.As<T>().empty();
}

// True if XLA prints any of the metadata.
bool HasXlaMetadata(const Metadata& m) {
  return !m.op_type.empty() || !m.op_name.empty() || !m.source_file.empty() || !m.scheduling_name.empty() ||
         m.stack_frame_id != 0 || !m.metadata_payload.empty();
}

bool HasAnyMetadata(const Metadata& m) {
  return HasXlaMetadata(m) || m.source_line != 0 || m.source_end_line != 0 || m.source_column != 0 ||
         m.source_end_column != 0 || !m.profile_type.empty() || !m.deduplicated_name.empty();
}

}  // namespace

void Printer::PutInt(int64_t value) {
  const fmt::format_int text(value);
  out_.append(text.data(), text.size());
}

void Printer::PutReal(double value) { Put(RealText(value, style_.as_xla)); }

void Printer::PutQuoted(std::string_view text, char quote) {
  Put(quote);
  AppendEscaped(text, &out_);
  Put(quote);
}

void Printer::PutQuotedUnlessXla(std::string_view text, char quote) {
  if (!style_.as_xla) return PutQuoted(text, quote);
  Put(quote);
  Put(text);
  Put(quote);
}

void Printer::PutJsonOrQuoted(std::string_view text) {
  if (ReadsAsJson(text, style_.as_xla))
    Put(text);
  else
    PutQuoted(text);
}

void Printer::PutShape(const Shape& shape) { AppendShape(shape, {.layouts = style_.layouts}, &out_); }

void Printer::PutInts(IntList values, char open, char close) {
  Put(open);
  PutList(values, ",", [&](int64_t value) { PutInt(value); });
  Put(close);
}

void Printer::PutIntLists(IntLists lists) {
  Put('{');
  PutList(lists, ",", [&](IntList list) { PutInts(list); });
  Put('}');
}

bool Printer::IsEmpty(AttrId id, AttrValue value) const {
  switch (Info(id).kind) {
    case AttrKind::kBool:
      return !value.As<bool>();
    case AttrKind::kString:
      return id != AttrId::async_execution_thread && Empty<std::string_view>(value);
    case AttrKind::kJson:
      return Empty<std::string_view>(value);
    case AttrKind::kIntList:
      return Empty<IntList>(value);
    case AttrKind::kIntLists:
      return Empty<IntLists>(value);
    case AttrKind::kWindow:
      return Empty<Window>(value);
    case AttrKind::kAliasList:
      return Empty<attr_kind::AliasList>(value);
    case AttrKind::kPrecisionList: {
      const auto list = value.As<attr_kind::PrecisionList>();
      return std::all_of(list.begin(), list.end(), [](Precision p) { return p == Precision::kDefault; });
    }
    case AttrKind::kFrontendAttributes:
      return value.As<attr_kind::FrontendAttributes>()->entries.empty();
    case AttrKind::kStatistics:
      return value.As<attr_kind::Statistics>()->entries.empty();
    case AttrKind::kMetadata: {
      const Metadata& metadata = *value.As<attr_kind::Metadata>();
      return !(style_.as_xla ? HasXlaMetadata(metadata) : HasAnyMetadata(metadata));
    }
    case AttrKind::kResultAccuracy: {
      const ResultAccuracy& accuracy = *value.As<attr_kind::ResultAccuracy>();
      return !accuracy.has_tolerance && accuracy.mode == AccuracyMode::kDefault;
    }
    case AttrKind::kSparsityConfig: {
      const SparsityConfig& config = *value.As<attr_kind::SparsityConfig>();
      return !config.lhs.present && !config.rhs.present;
    }
    case AttrKind::kBlockScalingConfig: {
      const BlockScalingConfig& config = *value.As<attr_kind::BlockScalingConfig>();
      return !config.lhs.present && !config.rhs.present;
    }
    default:
      return false;
  }
}

void Printer::PutValue(AttrId id, AttrValue value) {
  switch (Info(id).kind) {
    case AttrKind::kBool:
      return Put(value.As<bool>() ? "true" : "false");
    case AttrKind::kInt:
    case AttrKind::kInt32:
      return PutInt(value.As<int64_t>());
    case AttrKind::kFloat:
      return PutReal(style_.as_xla ? static_cast<float>(value.As<double>()) : value.As<double>());
    case AttrKind::kString:
      return PutQuoted(value.As<std::string_view>());
    case AttrKind::kJson:
      return PutJsonOrQuoted(value.As<std::string_view>());
    case AttrKind::kIntList:
      return PutInts(value.As<IntList>());
    case AttrKind::kIntLists:
      return PutIntLists(value.As<IntLists>());
    case AttrKind::kBoolList:
      Put('{');
      PutList(value.As<BoolList>(), ",", [&](bool b) { Put(b ? "true" : "false"); });
      return Put('}');
    case AttrKind::kComputation:
      return PutCalled(value.As<Computation*>());
    case AttrKind::kComputationList:
      return PutCalled(value.As<attr_kind::ComputationList>());
    case AttrKind::kInstructionList:
      return;  // PutControlPredecessors prints it.
    case AttrKind::kShape:
      return PutShape(*value.As<attr_kind::Shape>());
    case AttrKind::kShapeList:
      Put('{');
      PutList(value.As<attr_kind::ShapeList>(), ", ", [&](const Shape* shape) { PutShape(*shape); });
      return Put('}');
    case AttrKind::kLiteral:
      return AppendLiteral(*value.As<attr_kind::Literal>(), {.shapes = true, .as_xla = style_.as_xla}, &out_);
    case AttrKind::kWindow:
      return PutWindow(value.As<Window>());
    case AttrKind::kDimLabels:
      return PutDimLabels(*value.As<attr_kind::DimLabels>());
    case AttrKind::kPaddingList:
      return PutPadding(value.As<attr_kind::PaddingList>());
    case AttrKind::kSliceList:
      return PutSlices(value.As<attr_kind::SliceList>());
    case AttrKind::kPrecisionList:
      Put('{');
      PutList(value.As<attr_kind::PrecisionList>(), ",", [&](Precision p) { Put(Word(p)); });
      return Put('}');
    case AttrKind::kAliasList:
      return PutAliasList(value.As<attr_kind::AliasList>());
    default:
      return PutStructure(Info(id).kind, value);
  }
}

// Prints a structure or a word.
void Printer::PutStructure(AttrKind kind, AttrValue value) {
  switch (kind) {
    case AttrKind::kSharding:
      return PutSharding(*value.As<attr_kind::Sharding>());
    case AttrKind::kFrontendAttributes:
      return PutFrontendAttributes(*value.As<attr_kind::FrontendAttributes>());
    case AttrKind::kStatistics:
      return PutStatistics(*value.As<attr_kind::Statistics>());
    case AttrKind::kOrigin:
      return PutOrigin(*value.As<attr_kind::Origin>());
    case AttrKind::kMetadata:
      return PutMetadata(*value.As<attr_kind::Metadata>());
    case AttrKind::kReplicaGroups:
      return PutReplicaGroups(*value.As<attr_kind::ReplicaGroups>());
    case AttrKind::kResultAccuracy:
      return PutAccuracy(*value.As<attr_kind::ResultAccuracy>());
    case AttrKind::kSparsityConfig:
      return PutSparsity(*value.As<attr_kind::SparsityConfig>());
    case AttrKind::kBlockScalingConfig:
      return PutBlockScaling(*value.As<attr_kind::BlockScalingConfig>());
    case AttrKind::kDomain: {
      const Domain& domain = *value.As<attr_kind::Domain>();
      Put("{kind=\"sharding\", entry=");
      PutSharding(*domain.entry, style_.metadata && !style_.as_xla);
      Put(", exit=");
      PutSharding(*domain.exit, style_.metadata && !style_.as_xla);
      return Put('}');
    }
    default:
      VisitWordKind(kind, [&]<class E>() {
        Put(Word(value.As<E>()));
        return true;
      });
  }
}

void Printer::PutCalled(const Computation* computation) {
  if (style_.bodies) {
    Put('\n');
    return PutNested(*computation);
  }
  PutName(NameOf(*computation));
}

void Printer::PutCalled(attr_kind::ComputationList computations) {
  Put('{');
  if (style_.bodies) {
    Put('\n');
    PutList(computations, ",\n", [&](const Computation* c) { PutNested(*c); });
    return Put("\n}");  // XLA does not indent this brace.
  }
  PutList(computations, ", ", [&](const Computation* c) { PutCalled(c); });
  Put('}');
}

void Printer::PutWindow(Window window) {
  Put('{');
  bool first = true;
  auto item = [&](std::string_view name, bool shown, auto put) {
    if (!shown) return;
    if (!std::exchange(first, false)) Put(' ');
    Put(name);
    PutList(window, "x", put);
  };
  auto differs = [&](auto member, int64_t usual) {
    return std::any_of(window.begin(), window.end(), [&](const WindowDim& d) { return d.*member != usual; });
  };
  auto numbers = [&](std::string_view name, int64_t WindowDim::*member) {
    item(name, differs(member, 1), [&](const WindowDim& d) { PutInt(d.*member); });
  };
  item("size=", !window.empty(), [&](const WindowDim& d) { PutInt(d.size); });
  numbers("stride=", &WindowDim::stride);
  item("pad=", differs(&WindowDim::padding_low, 0) || differs(&WindowDim::padding_high, 0),
       [&](const WindowDim& d) {
         PutInt(d.padding_low);
         Put('_');
         PutInt(d.padding_high);
       });
  numbers("lhs_dilate=", &WindowDim::base_dilation);
  numbers("rhs_dilate=", &WindowDim::window_dilation);
  item("rhs_reversal=", differs(&WindowDim::reversed, 0),
       [&](const WindowDim& d) { Put(d.reversed ? '1' : '0'); });
  Put('}');
}

void Printer::PutDimLabels(const DimLabels& labels) {
  if (!style_.as_xla && !labels.text.empty()) return Put(labels.text);
  // As in XLA, an absent position counts as 0, and the label that is written last wins.
  auto part = [&](int64_t first, char first_letter, int64_t second, char second_letter, IntList spatial) {
    first = std::max<int64_t>(first, 0);
    second = std::max<int64_t>(second, 0);
    int64_t size = std::max(first, second) + 1;
    for (int64_t position : spatial) size = std::max(size, position + 1);
    std::string text(size, '?');
    text[first] = first_letter;
    text[second] = second_letter;
    for (size_t i = 0; i < spatial.size(); ++i) {
      if (spatial[i] >= 0) text[spatial[i]] = static_cast<char>('0' + i);
    }
    Put(text);
  };
  part(labels.input_batch, 'b', labels.input_feature, 'f', labels.input_spatial);
  Put('_');
  part(labels.kernel_input_feature, 'i', labels.kernel_output_feature, 'o', labels.kernel_spatial);
  Put("->");
  part(labels.output_batch, 'b', labels.output_feature, 'f', labels.output_spatial);
}

void Printer::PutPadding(attr_kind::PaddingList padding) {
  const bool interior =
      std::any_of(padding.begin(), padding.end(), [](const PaddingDim& d) { return d.interior != 0; });
  PutList(padding, "x", [&](const PaddingDim& d) {
    PutInt(d.low);
    Put('_');
    PutInt(d.high);
    if (!interior) return;
    Put('_');
    PutInt(d.interior);
  });
}

void Printer::PutSlices(attr_kind::SliceList slices) {
  const bool strides =
      std::any_of(slices.begin(), slices.end(), [](const SliceRange& r) { return r.stride != 1; });
  Put('{');
  PutList(slices, ", ", [&](const SliceRange& r) {
    Append(&out_, "[{}:{}", r.start, r.limit);
    if (strides) Append(&out_, ":{}", r.stride);
    Put(']');
  });
  Put('}');
}

void Printer::PutAliasList(attr_kind::AliasList aliases) {
  Put('{');
  PutList(aliases, ", ", [&](const OutputOperandAlias& alias) {
    PutInts(alias.output_index);
    Put(": (");
    PutInt(alias.operand);
    Put(", ");
    PutInts(alias.operand_index);
    Put(')');
  });
  Put('}');
}

void Printer::PutFrontendAttributes(const FrontendAttributes& attributes) {
  Put('{');
  PutList(attributes.entries, ",", [&](const KeyValue& entry) {
    Put(entry.key);
    Put('=');
    PutJsonOrQuoted(entry.value);
  });
  Put('}');
}

void Printer::PutStatistics(const Statistics& statistics) {
  Put("{visualizing_index=");
  PutInt(statistics.visualizing_index);
  for (const Statistic& entry : statistics.entries) {
    Put(',');
    Put(entry.name);
    Put('=');
    PutReal(entry.value);
  }
  Put('}');
}

void Printer::PutMetadata(const Metadata& m) {
  Put('{');
  bool first = true;
  auto name = [&](std::string_view field) {
    if (!std::exchange(first, false)) Put(' ');
    Put(field);
    Put('=');
  };
  auto text = [&](std::string_view field, std::string_view value) {
    if (value.empty()) return;
    name(field);
    PutQuoted(value);
  };
  auto number = [&](std::string_view field, int64_t value) {
    if (value == 0) return;
    name(field);
    PutInt(value);
  };
  text("op_type", m.op_type);
  text("op_name", m.op_name);
  text("source_file", m.source_file);
  number("source_line", m.source_line);
  number("source_end_line", m.source_end_line);
  number("source_column", m.source_column);
  number("source_end_column", m.source_end_column);
  if (!m.profile_type.empty()) {
    name("profile_type");
    PutInts(m.profile_type);
  }
  text("deduplicated_name", m.deduplicated_name);
  if (!m.scheduling_name.empty()) {
    name("scheduling_name");
    PutQuotedUnlessXla(m.scheduling_name);
  }
  number("stack_frame_id", m.stack_frame_id);
  text("metadata_payload", m.metadata_payload);
  Put('}');
}

void Printer::PutOriginArray(const OriginNode& node) {
  Put('{');
  PutQuotedUnlessXla(node.name);
  if (!node.index.empty()) {
    Put(' ');
    PutInts(node.index);
  }
  Put('}');
}

void Printer::PutOriginNode(const OriginNode& node) {
  if (node.is_tuple) {
    Put('(');
    PutList(node.elements, ", ", [&](const OriginNode* element) { PutOriginNode(*element); });
    Put(')');
  } else if (node.has_value) {
    PutOriginArray(node);
  } else {
    Put("{}");
  }
}

void Printer::PutOrigin(const Origin& origin) {
  Put('{');
  if (origin.tree != nullptr)
    PutOriginNode(*origin.tree);
  else
    Put("()");
  if (origin.has_call_hierarchy) {
    Put(",[");
    PutQuotedUnlessXla(origin.call_hierarchy);
    Put(']');
  }
  Put('}');
}

void Printer::PutAccuracy(const ResultAccuracy& accuracy) {
  if (!accuracy.has_tolerance) {
    Put("{mode=");
    Put(Word(accuracy.mode));
    return Put('}');
  }
  Put("{tolerance={atol=");
  PutReal(accuracy.atol);
  Put(",rtol=");
  PutReal(accuracy.rtol);
  Put(",ulps=");
  PutInt(accuracy.ulps);
  Put("}}");
}

void Printer::PutSparsity(const SparsityConfig& config) {
  auto side = [&](std::string_view name, const SparsitySide& s) {
    Append(&out_, "{}={{sparsity={}x{} dimension={} stride={} idx={}}}", name, s.nonzeros, s.block,
           s.dimension, s.stride, s.operand);
  };
  Put('{');
  if (config.lhs.present) side("lhs", config.lhs);
  if (config.lhs.present && config.rhs.present) Put(' ');
  if (config.rhs.present) side("rhs", config.rhs);
  Put('}');
}

void Printer::PutBlockScaling(const BlockScalingConfig& config) {
  Put('{');
  if (config.lhs.present) Append(&out_, "lhs={{scale_idx={}}}", config.lhs.scale_operand);
  if (config.lhs.present && config.rhs.present) Put(' ');
  if (config.rhs.present) Append(&out_, "rhs={{scale_idx={}}}", config.rhs.scale_operand);
  Put('}');
}

}  // namespace hlo
