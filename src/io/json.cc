// Prints values as JSON: {"0": {"type": "f32", "shape": [2], "values": [1, "nan"]}}.

#include "absl/strings/numbers.h"
#include "base/append.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "hlo_run/io.h"
#include "io/json_archive.h"

namespace hlo {
namespace {

// Quotes numbers that JSON lacks (nan, inf).
std::string JsonNumber(std::string_view text) {
  const char last = text.empty() ? '\0' : text.back();
  const bool is_number = last >= '0' && last <= '9' && text.find('n') == std::string_view::npos;
  return is_number ? std::string(text) : fmt::format("\"{}\"", text);
}

void AppendJsonElement(const Literal& literal, int64_t index, std::string* out) {
  std::string text;
  AppendElement(literal, index, /*in_array=*/false, {}, &text);
  if (IsComplex(literal.type())) {  // (re, im)
    const size_t comma = text.find(", ");
    const std::string_view parts(text);
    out->append(fmt::format("[{}, {}]", JsonNumber(parts.substr(1, comma - 1)),
                            JsonNumber(parts.substr(comma + 2, parts.size() - comma - 3))));
  } else {
    out->append(IsPred(literal.type()) ? text : JsonNumber(text));
  }
}

void AppendJsonDim(const Literal& literal, int64_t dim, int64_t begin, std::string* out) {
  if (dim == literal.rank()) {
    AppendJsonElement(literal, begin, out);
    return;
  }
  int64_t stride = 1;
  for (int64_t d = dim + 1; d < literal.rank(); ++d) stride *= literal.dim(d);
  out->push_back('[');
  for (int64_t i = 0; i < literal.dynamic_size(dim); ++i) {
    if (i > 0) out->append(", ");
    AppendJsonDim(literal, dim + 1, begin + i * stride, out);
  }
  out->push_back(']');
}

void AppendJsonArray(const Literal& literal, std::string* out) {
  Append(out, "{{\"type\": \"{}\", \"shape\": [", Name(literal.type()));
  for (int64_t d = 0; d < literal.rank(); ++d) {
    Append(out, "{}{}", d > 0 ? ", " : "", literal.dynamic_size(d));
  }
  out->append("], \"values\": ");
  AppendJsonDim(literal, 0, 0, out);
  out->push_back('}');
}

}  // namespace

std::string io::JsonOf(absl::Span<const LiteralLeaf> arrays) {
  std::string out = "{";
  for (const LiteralLeaf& leaf : arrays) {
    Append(&out, "{}\n  \"{}\": ", out.size() > 1 ? "," : "", leaf.key);
    AppendJsonArray(*leaf.value, &out);
  }
  return out + (out.size() > 1 ? "\n}\n" : "}\n");
}

std::string ToJson(const Literal& value) { return io::JsonOf(ArrayLeaves(value)); }

}  // namespace hlo
