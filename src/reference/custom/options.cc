#include "reference/custom/options.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "reference/text_scanner.h"

namespace hlo::reference::custom {
namespace {

using Json = nlohmann::json;

// Parses a dictionary of attributes: name = value, where numbers may have a type after a colon.
class DictionaryReader : private TextScanner {
 public:
  using TextScanner::TextScanner;

  Json Read() {
    Json value = Value(0);
    return failed_ ? Json() : value;
  }

 private:
  static constexpr int kDeepest = 32;
  static constexpr std::string_view kWordCharacters = "_.+-#@";

  bool Fail() {
    failed_ = true;
    return false;
  }

  std::string Quoted() {
    std::string result;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      result += text_[at_++];
    }
    if (!Consume('"')) Fail();
    return result;
  }

  Json Dictionary(int depth) {
    Json result = Json::object();
    while (!failed_ && !Consume('}')) {
      SkipSpace();
      const std::string name = Consume('"') ? Quoted() : Word(kWordCharacters);
      if (name.empty()) Fail();
      if (failed_) break;
      result[name] = Consume('=') ? Value(depth + 1) : Json(true);  // A name without a value is a flag.
      Consume(',');
    }
    return result;
  }

  Json Array(int depth) {
    Json result = Json::array();
    while (!failed_ && !Consume(']')) {
      result.push_back(Value(depth + 1));
      Consume(',');
    }
    return result;
  }

  // Parses `array<i64: 1, 2>` as a list.
  Json TypedArray() {
    Json result = Json::array();
    Word(kWordCharacters);
    Consume(':');
    while (!failed_ && !Consume('>')) {
      result.push_back(Plain(Word(kWordCharacters)));
      Consume(',');
    }
    return result;
  }

  Json Plain(const std::string& word) {
    int64_t integer = 0;
    double number = 0;
    if (word.empty()) Fail();
    if (word == "true" || word == "false") return word == "true";
    if (absl::SimpleAtoi(word, &integer)) return integer;
    if (absl::SimpleAtod(word, &number)) return number;
    return word;
  }

  Json Value(int depth) {
    if (depth > kDeepest) Fail();
    if (failed_) return Json();
    if (Consume('{')) return Dictionary(depth);
    if (Consume('[')) return Array(depth);
    if (Consume('"')) return Quoted();
    const std::string word = Word(kWordCharacters);
    if (word == "array" && Consume('<')) return TypedArray();
    Json value = Plain(word);
    if (Consume(':')) Word(kWordCharacters);
    return value;
  }

  bool failed_ = false;
};

std::string_view ConfigText(const Instruction& call) {
  const std::string_view text = call.Get<attr::backend_config>().text;
  if (!text.empty() && text != "{}") return text;
  const FrontendAttributes* attributes = call.Get<attr::frontend_attributes>();
  if (attributes == nullptr) return text;
  for (const KeyValue& entry : attributes->entries) {
    if (entry.key == "mhlo.backend_config") return entry.value;
  }
  return text;
}

Json Parsed(std::string_view text) {
  if (text.empty()) return Json::object();
  if (text[0] != '{')  // `dimension=1,amount=2` is a dictionary without braces.
    return text.find('=') == std::string_view::npos ? Json::object() : Parsed(fmt::format("{{{}}}", text));
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_discarded()) return value;
  value = DictionaryReader(text).Read();
  return value.is_object() ? value : Json::object();
}

}  // namespace

Options::Options(const Instruction& call) : text_(ConfigText(call)), values_(Parsed(text_)) {}

const nlohmann::json* Options::Find(std::string_view name) const {
  const auto it = values_.find(std::string(name));
  return it == values_.end() ? nullptr : &*it;
}

namespace {
bool IsWithin(const Json& values, const std::string& name, int depth) {
  constexpr int kDeepest = 8;
  if (!values.is_object() || depth > kDeepest) return false;
  if (values.contains(name)) return true;
  return std::any_of(values.begin(), values.end(),
                     [&](const Json& value) { return IsWithin(value, name, depth + 1); });
}
}  // namespace

bool Options::HasWithin(std::string_view name) const { return IsWithin(values_, std::string(name), 0); }

int64_t Options::Int(std::string_view name, int64_t otherwise) const {
  const Json* value = Find(name);
  int64_t number = otherwise;
  if (value == nullptr) return otherwise;
  if (value->is_number_unsigned() &&
      value->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return otherwise;
  if (value->is_number_integer()) return value->get<int64_t>();
  if (value->is_boolean()) return value->get<bool>() ? 1 : 0;
  if (value->is_string() && absl::SimpleAtoi(value->get_ref<const std::string&>(), &number)) return number;
  return otherwise;
}

double Options::Number(std::string_view name, double otherwise) const {
  const Json* value = Find(name);
  double number = otherwise;
  if (value == nullptr) return otherwise;
  if (value->is_number()) return value->get<double>();
  if (value->is_string() && absl::SimpleAtod(value->get_ref<const std::string&>(), &number)) return number;
  return otherwise;
}

bool Options::Bool(std::string_view name, bool otherwise) const {
  const Json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  return value->is_number_integer() ? value->get<int64_t>() != 0 : otherwise;
}

std::string Options::Text(std::string_view name, std::string_view otherwise) const {
  const Json* value = Find(name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string(otherwise);
}

char Options::Letter(std::string_view name, char otherwise) const {
  const Json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_number_integer()) return static_cast<char>(value->get<int64_t>());
  const std::string text = Text(name, "");
  return text.empty() ? otherwise : text[0];
}

std::vector<double> Options::Numbers(std::string_view name) const {
  const Json* value = Find(name);
  std::vector<double> numbers;
  if (value == nullptr) return numbers;
  if (value->is_number()) numbers.push_back(value->get<double>());
  if (!value->is_array()) return numbers;
  for (const Json& item : *value) {
    if (!item.is_number()) return {};
    numbers.push_back(item.get<double>());
  }
  return numbers;
}

Index Options::Ints(std::string_view name) const {
  const Json* list = Find(name);
  Index numbers;
  if (list == nullptr || !list->is_array()) return numbers;
  for (const Json& item : *list) {
    int64_t number = -1;
    if (item.is_number_integer()) number = item.get<int64_t>();
    if (item.is_string() && !absl::SimpleAtoi(item.get_ref<const std::string&>(), &number)) number = -1;
    numbers.push_back(number);
  }
  return numbers;
}

Options Options::Group(std::string_view name) const {
  const Json* value = Find(name);
  return Options(value != nullptr && value->is_object() ? *value : values_);
}

}  // namespace hlo::reference::custom
