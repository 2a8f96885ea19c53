#include "draft.h"

#include <algorithm>
#include <cctype>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlo_run/print.h"

namespace hlo::fuzz {
namespace {

// Returns true if a text contains a name as a whole word.
bool Mentions(std::string_view text, std::string_view name) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
  };
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

DraftLine LineOf(const Instruction& i) {
  DraftLine line{.name = std::string(i.name()), .opcode = std::string(Name(i.opcode()))};
  const PrintOptions options{.form = PrintForm::kShort, .own_order = true};
  const std::string text = Print(i, options);
  const size_t equals = text.find(" = ") + 3;
  // The opcode is the first word outside the shape that is followed by a parenthesis.
  const std::string call = " " + line.opcode + "(";
  const size_t opcode = text.find(call, equals);
  line.shape = text.substr(equals, opcode - equals);
  size_t end = opcode + call.size();
  for (int depth = 1; depth > 0 && end < text.size(); ++end)
    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
  line.inside = text.substr(opcode + call.size(), end - opcode - call.size() - 1);
  line.attributes = text.substr(end);
  for (const Instruction* operand : i.operands()) line.operands.emplace_back(operand->name());
  if (i.opcode() == Opcode::kParameter) line.parameter = i.Get<attr::number>();
  line.is_root = i.parent()->root() == &i;
  return line;
}

}  // namespace

std::string DraftLine::Text() const {
  const std::string arguments = parameter >= 0     ? fmt::format("{}", parameter)
                                : operands.empty() ? inside
                                                   : fmt::format("{}", fmt::join(operands, ", "));
  return fmt::format("{}{} = {} {}({}){}", is_root ? "ROOT " : "", name, shape, opcode, arguments,
                     attributes);
}

DraftLine* DraftComputation::Find(std::string_view line) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const DraftLine& l) { return l.name == line; });
  return found == lines.end() ? nullptr : &*found;
}
DraftLine& DraftComputation::root() {
  return *std::find_if(lines.begin(), lines.end(), [](const DraftLine& l) { return l.is_root; });
}

Draft::Draft(const Module& module) : name(module.name()) {
  for (const Computation* c : module.computations()) {
    DraftComputation& computation = computations.emplace_back();
    computation.name = std::string(c->name());
    computation.is_entry = c->IsEntry();
    for (const Instruction* i : c->instructions()) computation.lines.push_back(LineOf(*i));
  }
}

DraftComputation& Draft::entry() {
  return *std::find_if(computations.begin(), computations.end(),
                       [](const DraftComputation& c) { return c.is_entry; });
}
DraftComputation* Draft::Find(std::string_view computation) {
  const auto found = std::find_if(computations.begin(), computations.end(),
                                  [&](const DraftComputation& c) { return c.name == computation; });
  return found == computations.end() ? nullptr : &*found;
}

std::string Draft::NewName(std::string_view stem) {
  for (;;) {
    std::string made = fmt::format("{}.s{}", stem, ++names_);
    const bool is_taken = std::any_of(computations.begin(), computations.end(), [&](DraftComputation& c) {
      return c.name == made || c.Find(made) != nullptr;
    });
    if (!is_taken) return made;
  }
}

std::string Draft::Text(bool keeps_dead) const {
  std::vector<std::string> texts;
  std::set<std::string> called;
  for (auto c = computations.rbegin(); c != computations.rend(); ++c) {
    if (!c->is_entry && !called.contains(c->name)) continue;
    std::set<std::string> needed;
    std::vector<std::string> lines;
    std::vector<DraftLine> kept;
    for (auto line = c->lines.rbegin(); line != c->lines.rend(); ++line) {
      if (!keeps_dead && !line->is_root && !needed.contains(line->name) &&
          (line->parameter < 0 || c->is_entry))
        continue;
      needed.insert(line->operands.begin(), line->operands.end());
      kept.push_back(*line);
      for (const DraftComputation& other : computations) {
        if (Mentions(line->attributes, other.name)) called.insert(other.name);
      }
    }
    std::reverse(kept.begin(), kept.end());
    std::vector<int64_t> numbers;
    for (const DraftLine& line : kept) {
      if (line.parameter >= 0) numbers.push_back(line.parameter);
    }
    std::sort(numbers.begin(), numbers.end());
    for (DraftLine& line : kept) {
      if (line.parameter >= 0)
        line.parameter = std::lower_bound(numbers.begin(), numbers.end(), line.parameter) - numbers.begin();
      lines.push_back("  " + line.Text());
    }
    texts.push_back(
        fmt::format("{}{} {{\n{}\n}}\n", c->is_entry ? "ENTRY " : "", c->name, fmt::join(lines, "\n")));
  }
  std::reverse(texts.begin(), texts.end());
  return fmt::format("HloModule {}\n\n{}", name, fmt::join(texts, "\n"));
}

namespace {

template <class Fn>
std::string ForNumbers(std::string_view text, Fn change) {
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const char before = i > 0 ? text[i - 1] : ' ';
    const bool starts = is_digit && (before == '[' || before == ',' || before == '{' || before == ':' ||
                                     before == '=' || before == '_' || before == 'x' || before == ' ');
    if (!starts) {
      out += c;
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const std::string digits(text.substr(i, end - i));
    out += depth > 0 && digits.size() < 10 ? change(std::stoll(digits)) : digits;
    i = end;
  }
  return out;
}

}  // namespace

std::string MapNumbers(std::string_view text, const std::map<int64_t, int64_t>& change) {
  return ForNumbers(text, [&](int64_t number) {
    const auto found = change.find(number);
    return fmt::format("{}", found == change.end() ? number : found->second);
  });
}

std::set<int64_t> NumbersOf(std::string_view text) {
  std::set<int64_t> numbers;
  ForNumbers(text, [&](int64_t number) {
    numbers.insert(number);
    return fmt::format("{}", number);
  });
  return numbers;
}

}  // namespace hlo::fuzz
