#include "io/json_archive.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/parse.h"
#include "hlo_run/source_text.h"
#include "io/convert.h"
#include "io/stored_type.h"
#include "io/text_value.h"
#include "nlohmann/json.hpp"
#include "types/bounds.h"

namespace hlo::io {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Converts nested lists to literal text; the parser then reports elements of a wrong type.
class ElementsText {
 public:
  ElementsText(ElementType type, absl::Span<const int64_t> dims)
      : is_complex_(IsComplex(type)), dims_(dims) {}

  absl::Status Append(const OrderedJson& values, std::vector<int64_t>& index) {
    if (index.size() == dims_.size()) return AppendOne(values, index);
    const int64_t expected = dims_[index.size()];
    if (!values.is_array()) return Unexpected(index, "is not a list");
    if (static_cast<int64_t>(values.size()) != expected)
      return Unexpected(index, fmt::format("is a list of {}, expected {}", values.size(), expected));
    text_ += '{';
    index.push_back(0);
    for (const OrderedJson& value : values) {
      if (index.back() > 0) text_ += ',';
      HLO_RETURN_IF_ERROR(Append(value, index));
      ++index.back();
    }
    index.pop_back();
    text_ += '}';
    return absl::OkStatus();
  }
  const std::string& text() const { return text_; }

 private:
  static absl::Status Unexpected(const std::vector<int64_t>& index, const std::string& what) {
    return absl::FailedPreconditionError(fmt::format("the item at {{{}}} {}", fmt::join(index, ","), what));
  }
  absl::Status AppendNumber(const OrderedJson& value, const std::vector<int64_t>& index) {
    if (!value.is_number() && !value.is_boolean() && !value.is_string())
      return Unexpected(index, "is not a number");
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!StartsWithElements(text) || text.find_first_of("{(") == 0)
      return Unexpected(index, fmt::format("is '{}', which is not a number", text.substr(0, 40)));
    text_ += text;
    return absl::OkStatus();
  }
  absl::Status AppendOne(const OrderedJson& value, const std::vector<int64_t>& index) {
    if (!is_complex_ || !value.is_array()) return AppendNumber(value, index);
    if (value.size() != 2) return Unexpected(index, "is not a pair [re, im]");
    text_ += '(';
    HLO_RETURN_IF_ERROR(AppendNumber(value[0], index));
    text_ += ',';
    HLO_RETURN_IF_ERROR(AppendNumber(value[1], index));
    text_ += ')';
    return absl::OkStatus();
  }

  bool is_complex_;
  absl::Span<const int64_t> dims_;
  std::string text_;
};

// Returns the sizes of nested lists, taken from their first items, up to the expected rank. The items of an
// empty list have the expected sizes.
std::vector<int64_t> SizesOf(const OrderedJson& values, const Shape& expected) {
  std::vector<int64_t> dims;
  for (const OrderedJson* at = &values;
       at->is_array() && static_cast<int64_t>(dims.size()) < expected.rank();) {
    dims.push_back(static_cast<int64_t>(at->size()));
    if (at->empty()) {
      dims.insert(dims.end(), expected.dims().begin() + std::ssize(dims), expected.dims().end());
      break;
    }
    at = &at->front();
  }
  return dims;
}

struct JsonArray {
  StoredArray array;
  const OrderedJson* values = nullptr;
};

absl::StatusOr<JsonArray> ArrayOf(const OrderedJson& json, const Shape& expected) {
  JsonArray result;
  result.array.type = {.text = std::string(Name(expected.type())), .type = expected.type()};
  if (!json.is_object()) {
    result.values = &json;
    result.array.dims = SizesOf(json, expected);
    return result;
  }
  if (!json.contains("values")) return absl::FailedPreconditionError("has no \"values\"");
  result.values = &json["values"];
  if (const auto type = json.find("type"); type != json.end()) {
    if (!type->is_string()) return absl::FailedPreconditionError("its \"type\" is not a string");
    result.array.type.text = type->get<std::string>();
    result.array.type.type = ParseElementType(result.array.type.text);
    if (!result.array.type.type) {
      return absl::FailedPreconditionError(
          fmt::format("its type '{}' is not one of HLO's", result.array.type.text.substr(0, 40)));
    }
  }
  const auto shape = json.find("shape");
  if (shape == json.end()) {
    result.array.dims = SizesOf(*result.values, expected);
    return result;
  }
  const bool is_list =
      shape->is_array() && std::all_of(shape->begin(), shape->end(), [](const OrderedJson& size) {
        return size.is_number_unsigned() && size.get<uint64_t>() < uint64_t{1} << 62;
      });
  if (!is_list) return absl::FailedPreconditionError("its \"shape\" is not a list of sizes");
  for (const OrderedJson& size : *shape) result.array.dims.push_back(size.get<int64_t>());
  return result;
}

absl::StatusOr<Literal> ReadArray(const OrderedJson& json, const Shape& expected,
                                  const ReadOptions& options) {
  HLO_ASSIGN_OR_RETURN(const JsonArray found, ArrayOf(json, expected));
  const ElementType type = *found.array.type.type;
  const bool dims_fit = DimsFit(found.array.dims, expected);
  if (!dims_fit || (type != expected.type() && !options.convert)) {
    return absl::FailedPreconditionError(fmt::format("found {}, expected {}{}", ToString(found.array),
                                                     ToString(expected), dims_fit ? kConvertHint : ""));
  }
  ElementsText elements(type, found.array.dims);
  std::vector<int64_t> index;
  HLO_RETURN_IF_ERROR(elements.Append(*found.values, index));
  HLO_ASSIGN_OR_RETURN(const Literal value, ParseLiteral(SourceText("values", elements.text()),
                                                         Shape::Array(type, found.array.dims)));
  return FitTo(value, expected, options);
}

class JsonArchive final : public Archive {
 public:
  JsonArchive(std::string path, OrderedJson json) : path_(std::move(path)) {
    if (!json.is_object() || json.contains("values")) json = OrderedJson{{"0", std::move(json)}};
    json_ = std::move(json);
    for (const auto& [key, value] : json_.items()) keys_.push_back(key);
  }

  const std::vector<std::string>& keys() const override { return keys_; }

 private:
  absl::StatusOr<Literal> DoRead(const std::string& key, const Shape& expected,
                                 const ReadOptions& options) override {
    const auto found = json_.find(key);
    if (found == json_.end()) {
      return absl::NotFoundError(
          fmt::format("{}: has no key '{}'; it has {}", path_, key, fmt::join(keys_, ", ")));
    }
    absl::StatusOr<Literal> value = ReadArray(*found, expected, options);
    if (value.ok()) return value;
    return absl::Status(value.status().code(),
                        fmt::format("{}: key '{}': {}", path_, key, Message(value.status())));
  }

  std::string path_;
  OrderedJson json_;
  std::vector<std::string> keys_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Archive>> OpenJson(const std::string& path) {
  HLO_ASSIGN_OR_RETURN(const std::shared_ptr<const SourceText> text, SourceText::Read(path));
  std::set<std::string> keys;
  std::string repeated;
  const auto see = [&](int depth, OrderedJson::parse_event_t event, const OrderedJson& parsed) {
    if (event != OrderedJson::parse_event_t::key || depth != 1) return true;
    const auto key = parsed.get<std::string>();
    if (!keys.insert(key).second) repeated = key;
    return true;
  };
  try {
    OrderedJson json = OrderedJson::parse(text->content(), see);
    if (!repeated.empty())
      return absl::FailedPreconditionError(fmt::format("{}: has the key '{}' twice", path, repeated));
    return std::make_unique<JsonArchive>(path, std::move(json));
  } catch (const OrderedJson::parse_error& error) {
    // The 1-based offset of the byte after the error.
    const std::string_view before = text->content().substr(0, error.byte > 0 ? error.byte - 1 : 0);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t line_begin = before.rfind('\n') + 1;  // 0 in the first line.
    return absl::FailedPreconditionError(
        fmt::format("{}:{}:{}: is not JSON", path, line, before.size() - line_begin + 1));
  } catch (const OrderedJson::out_of_range&) {
    return absl::FailedPreconditionError(fmt::format("{}: has a number outside the range of f64", path));
  }
}

}  // namespace hlo::io
