// Prints shapes and layouts (text-format 4.5).

#include "base/append.h"
#include "fmt/format.h"
#include "hlo_run/shape.h"

namespace hlo {
namespace {

void AppendDims(const Shape& shape, std::string* out) {
  out->append(Name(shape.type()));
  out->push_back('[');
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i > 0) out->push_back(',');
    if (shape.IsUnbounded(i)) {
      out->push_back('?');
    } else {
      Append(out, "{}{}", shape.IsDynamic(i) ? "<=" : "", shape.dim(i));
    }
  }
  out->push_back(']');
}

}  // namespace

void AppendLayout(const Layout& layout, std::string* out) {
  Append(out, "{{{}", fmt::join(layout.minor_to_major, ","));
  if (layout.HasAnnotations()) out->push_back(':');
  if (!layout.tiles.empty()) out->push_back('T');
  for (const Tile& tile : layout.tiles) {
    out->push_back('(');
    for (size_t i = 0; i < tile.dimensions.size(); ++i) {
      if (i > 0) out->push_back(',');
      if (tile.dimensions[i] == Tile::kCombine)
        out->push_back('*');
      else
        Append(out, "{}", tile.dimensions[i]);
    }
    out->push_back(')');
  }
  if (layout.tail_padding_alignment_in_elements != 1) {
    Append(out, "L({})", layout.tail_padding_alignment_in_elements);
  }
  if (layout.index_type) Append(out, "#({})", Name(*layout.index_type));
  if (layout.pointer_type) Append(out, "*({})", Name(*layout.pointer_type));
  if (layout.element_size_in_bits != 0) Append(out, "E({})", layout.element_size_in_bits);
  if (layout.memory_space != 0) Append(out, "S({})", layout.memory_space);
  if (!layout.split_configs.empty()) out->append("SC");
  for (const SplitConfig& split : layout.split_configs) {
    Append(out, "({}:{})", split.dimension, fmt::join(split.split_indices, ","));
  }
  if (layout.dynamic_shape_metadata_prefix_bytes > 0) {
    Append(out, "M({})", layout.dynamic_shape_metadata_prefix_bytes);
  }
  out->push_back('}');
}

void AppendShape(const Shape& shape, const ShapePrintOptions& options, std::string* out) {
  switch (shape.kind()) {
    case Shape::Kind::kInvalid:
      out->append("<unknown shape>");
      return;
    case Shape::Kind::kToken:
      out->append("token[]");
      return;
    case Shape::Kind::kOpaque:
      out->append("opaque[]");
      return;
    case Shape::Kind::kBuffer:
      out->append("b(");
      AppendShape(shape.element(0), options, out);
      out->push_back(')');
      return;
    case Shape::Kind::kTuple:
      out->push_back('(');
      for (size_t i = 0; i < shape.elements().size(); ++i) {
        if (i > 0) out->append(", ");
        if (options.index_comments && i > 0 && i % 5 == 0) {
          Append(out, "/*index={}*/", i);
        }
        AppendShape(shape.element(i), options, out);
      }
      out->push_back(')');
      return;
    case Shape::Kind::kArray:
      break;
  }
  AppendDims(shape, out);
  if (!options.layouts) return;
  if (shape.layout() != nullptr) {
    AppendLayout(*shape.layout(), out);
  } else if (shape.rank() > 0) {
    out->push_back('{');
    for (int64_t d = shape.rank() - 1; d >= 0; --d) {
      Append(out, "{}{}", d, d > 0 ? "," : "");
    }
    out->push_back('}');
  }
}

std::string ToString(const Shape& shape, const ShapePrintOptions& options) {
  std::string out;
  AppendShape(shape, options, &out);
  return out;
}

}  // namespace hlo
