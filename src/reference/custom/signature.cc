#include "reference/custom/signature.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"

namespace hlo::reference::custom {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Splits a list at commas outside brackets.
std::vector<std::string_view> Items(std::string_view list) {
  std::vector<std::string_view> items;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']') --depth;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    const std::string_view item = Trimmed(list.substr(begin, i - begin));
    if (!item.empty()) items.push_back(item);
    begin = i + 1;
  }
  return items;
}

// Binds the letters of a signature.
class Matcher {
 public:
  bool Matches(std::string_view item, const Shape& shape) {
    if (item == "_") return true;
    if (item == "token") return shape.IsToken();
    if (!shape.IsArray()) return false;
    const size_t bracket = item.find('[');
    return MatchesType(item.substr(0, bracket), shape.type()) &&
           MatchesSizes(item.substr(bracket + 1, item.size() - bracket - 2), shape.dims());
  }

 private:
  bool MatchesType(std::string_view name, ElementType type) {
    if (name.size() > 1) return ParseElementType(name) == type;
    switch (name[0]) {
      case 'R':
        return type == ComponentType(types_['T']);
      case 'C':
        return IsComplex(type) && ComponentType(type) == ComponentType(types_['T']);
      case 'T':
        return (IsFloat(type) || IsComplex(type)) && Same(types_, 'T', type);
      case 'F':
        return IsFloat(type) && Same(types_, 'F', type);
      case 'I':
        return IsIntegral(type) && Same(types_, 'I', type);
      default:
        return Same(types_, name[0], type);
    }
  }

  bool MatchesSizes(std::string_view sizes, absl::Span<const int64_t> dims) {
    if (sizes == "...") return true;
    std::vector<std::string_view> items = Items(sizes);
    if (!items.empty() && items[0] == "*") {
      items.erase(items.begin());
      if (dims.size() < items.size()) return false;
      const auto leading = dims.first(dims.size() - items.size());
      if (!leading_) leading_.emplace(leading.begin(), leading.end());
      if (absl::MakeConstSpan(*leading_) != leading) return false;
      dims.remove_prefix(leading.size());
    }
    if (dims.size() != items.size()) return false;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!MatchesSize(items[i], dims[i])) return false;
    }
    return true;
  }

  bool MatchesSize(std::string_view item, int64_t size) {
    int64_t number = 0;
    if (absl::SimpleAtoi(absl::string_view(item.data(), item.size()), &number)) return size == number;
    if (item == "k" && sizes_.contains('m')) return size == std::min(sizes_['m'], sizes_['n']);
    if (item.size() == 3) return size == std::max<int64_t>(0, sizes_[item[0]] - (item[2] - '0'));
    return Same(sizes_, item[0], size);
  }

  template <class Map, class Value>
  static bool Same(Map& map, char letter, Value value) {
    return map.emplace(letter, value).first->second == value;
  }

  std::map<char, ElementType> types_;
  std::map<char, int64_t> sizes_;
  std::optional<std::vector<int64_t>> leading_;
};

bool MatchesList(Matcher& matcher, const std::vector<std::string_view>& items,
                 const std::vector<const Shape*>& shapes) {
  for (size_t i = 0; i < items.size(); ++i) {
    std::string_view item = items[i];
    if (item == "...") return true;
    const bool optional = item.back() == '?';
    if (i >= shapes.size()) return optional;
    if (optional) item.remove_suffix(1);
    if (!matcher.Matches(item, *shapes[i])) return false;
  }
  return shapes.size() <= items.size();
}

std::string Joined(const std::vector<const Shape*>& shapes) {
  std::string text;
  for (const Shape* shape : shapes) text += (text.empty() ? "" : ", ") + ToString(*shape);
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::string Mismatch(const Instruction& instruction, std::string_view signature) {
  const size_t arrow = signature.find("->");
  std::vector<const Shape*> operands, results;
  for (const Instruction* operand : instruction.operands()) operands.push_back(&operand->shape());
  for (const Shape& result : ResultShapes(instruction)) results.push_back(&result);
  Matcher matcher;
  const std::vector<std::string_view> result_items = Items(signature.substr(arrow + 2));
  const bool is_lone =
      result_items.size() == 1 && result_items[0] != "..." && !result_items[0].starts_with('_');
  if (!(is_lone && instruction.shape().IsTuple()) &&
      MatchesList(matcher, Items(signature.substr(0, arrow)), operands) &&
      MatchesList(matcher, result_items, results))
    return "";
  constexpr size_t kLongest = 300;
  std::string found = fmt::format("{} -> {}", Joined(operands), Joined(results));
  if (found.size() > kLongest) found = found.substr(0, kLongest) + "...";
  return fmt::format("'{}' is known as {}, but this is {}", instruction.Get<attr::custom_call_target>(),
                     signature, found);
}

}  // namespace hlo::reference::custom
