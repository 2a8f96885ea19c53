#include "integers.h"

#include <cmath>
#include <cstdlib>
#include <set>

#include "fmt/format.h"
#include "hlo_run/opcode.h"

namespace hlo::fuzz {
namespace {

struct Rename {
  std::string_view from, to;
};
constexpr Rename kTypes[] = {{"bf16[", "s16["},      {"f16[", "s16["},         {"f32[", "s32["},
                             {"f64[", "s64["},       {"f8e3m4[", "s8["},       {"f8e4m3[", "s8["},
                             {"f8e4m3fn[", "s8["},   {"f8e4m3fnuz[", "s8["},   {"f8e5m2[", "s8["},
                             {"f8e5m2fnuz[", "s8["}, {"f8e4m3b11fnuz[", "s8["}};
constexpr Rename kOpcodes[] = {{"atan2", "subtract"},
                               {"ceil", "copy"},
                               {"floor", "copy"},
                               {"reduce-precision", "copy"},
                               {"round-nearest-afz", "copy"},
                               {"round-nearest-even", "copy"},
                               {"sqrt", "abs"}};

// Returns an opcode on integers in place of one on floats.
std::string_view IntegerOpcode(std::string_view opcode) {
  for (const Rename& row : kOpcodes) {
    if (row.from == opcode) return row.to;
  }
  const std::optional<Opcode> function = ParseOpcode(opcode);
  if (!function || !Info(*function).has(kInexact) || Info(*function).max_operands != 1) return opcode;
  return static_cast<int>(*function) % 2 == 0 ? "negate" : "not";
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    const bool is_inside_word = at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0;
    if (!is_inside_word) text.replace(at, from.size(), to);
  }
}

bool HasFloats(const std::string& shape) { return shape.find('f') != std::string::npos; }

std::string IntegerText(const std::string& word) {
  if (word.find("inf") != std::string::npos) return word[0] == '-' ? "-100" : "100";
  if (word.find("nan") != std::string::npos) return "7";
  const double number = std::strtod(word.c_str(), nullptr);
  if (!(std::abs(number) < 100)) return number < 0 ? "-100" : "100";
  const double whole = std::round(number);
  // Small factors would all become zero, and so would most results.
  return fmt::format("{}",
                     static_cast<int64_t>(whole == 0 && number != 0 ? std::copysign(1, number) : whole));
}

// Returns the literal with integer numbers.
std::string IntegerLiteral(const std::string& text) {
  std::string out, word;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '+') {
      word += c;
      continue;
    }
    if (!word.empty()) out += IntegerText(word);
    word.clear();
    if (i < text.size()) out += c;
  }
  return out;
}

void DropAttribute(std::string& attributes, std::string_view name) {
  const size_t at = attributes.find(fmt::format(", {}=", name));
  if (at == std::string::npos) return;
  size_t end = at + 1;
  for (int depth = 0; end < attributes.size() && (depth > 0 || attributes[end] != ','); ++end)
    depth += attributes[end] == '{' ? 1 : attributes[end] == '}' ? -1 : 0;
  attributes.erase(at, end - at);
}

}  // namespace

bool MakeIntegers(Draft& draft) {
  static const std::set<std::string_view> kFloatOnly = {"batch-norm-grad",
                                                        "batch-norm-inference",
                                                        "batch-norm-training",
                                                        "cholesky",
                                                        "complex",
                                                        "custom-call",
                                                        "fft",
                                                        "imag",
                                                        "is-finite",
                                                        "real",
                                                        "rng",
                                                        "scaled-dot",
                                                        "stochastic-convert",
                                                        "triangular-solve",
                                                        "ragged-dot"};
  for (DraftComputation& computation : draft.computations) {
    for (DraftLine& line : computation.lines) {
      if (kFloatOnly.contains(line.opcode)) return false;
      const bool is_float = HasFloats(line.shape);
      for (const Rename& type : kTypes) ReplaceAll(line.shape, type.from, type.to);
      if (HasFloats(line.shape) || line.shape.find("c64[") != std::string::npos ||
          line.shape.find("c128[") != std::string::npos)
        return false;
      if (is_float && line.opcode == "constant") line.inside = IntegerLiteral(line.inside);
      if (const std::string_view opcode = IntegerOpcode(line.opcode); opcode != line.opcode) {
        line.opcode = opcode;
        line.attributes.clear();
      }
      for (const char* name : {"type", "order", "operand_precision", "algorithm", "result_accuracy"}) {
        if (line.opcode != "rng-bit-generator") DropAttribute(line.attributes, name);
      }
    }
  }
  return true;
}

}  // namespace hlo::fuzz
