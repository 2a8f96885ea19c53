// Fills the elided constants of a module.

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "base/arena.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/io.h"
#include "io/make_inputs.h"
#include "types/wide.h"

namespace hlo {
namespace {

// Generates the bytes of XLA's reader: words of a 32-bit counter, and the remainder of an array from an 8-bit
// counter. Both counters continue across arrays.
class CountedBytes {
 public:
  void Fill(Literal* array) {
    const uint32_t mask = IsPred(array->type()) ? 0x01010101u : 0xffffffffu;
    std::byte* bytes = array->mutable_data();
    const int64_t byte_count = array->byte_count(), words = byte_count / 4;
    for (int64_t i = 0; i < words; ++i) {
      const uint32_t word = word_++ & mask;
      std::memcpy(bytes + 4 * i, &word, sizeof word);
    }
    for (int64_t i = 4 * words; i < byte_count; ++i)
      bytes[i] = static_cast<std::byte>(byte_++) & static_cast<std::byte>(mask & 0xff);
    if (BitWidth(array->type()) < 8) KeepLowBits(array->type(), byte_count, bytes);
  }

 private:
  static void KeepLowBits(ElementType type, int64_t count, std::byte* elements) {
    const int64_t bits = BitWidth(type);
    for (int64_t i = 0; i < count; ++i) {
      const auto code = static_cast<uint8_t>(elements[i]);
      elements[i] = IsSigned(type) ? static_cast<std::byte>(SignExtend(code, bits))
                                   : static_cast<std::byte>(ZeroExtend(code, bits));
    }
  }

  uint32_t word_ = 0;
  uint8_t byte_ = 0;
};

class ConstantFiller {
 public:
  explicit ConstantFiller(const ElidedValues& values) : values_(values) {}

  // Returns the literal with values for its elided arrays.
  absl::StatusOr<Literal> Filled(const Literal& literal) {
    if (literal.shape().IsTuple()) return FilledTuple(literal);
    if (!literal.shape().IsArray() || literal.data() != nullptr) return literal;
    HLO_ASSIGN_OR_RETURN(Literal array, Literal::CreateZeros(literal.shape()));
    if (values_.fill == ElidedFill::kRandom)
      HLO_RETURN_IF_ERROR(io::FillArray(array, {}, values_.seed, random_arrays_++));
    if (values_.fill == ElidedFill::kCounter) counted_.Fill(&array);
    return array;
  }

 private:
  absl::StatusOr<Literal> FilledTuple(const Literal& literal) {
    const absl::Span<const Shape> shapes = literal.shape().elements();
    std::vector<Literal> elements;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const bool has_elements = literal.elements().size() == shapes.size();
      HLO_ASSIGN_OR_RETURN(Literal element,
                           Filled(has_elements ? literal.elements()[i] : Literal::Elided(shapes[i])));
      elements.push_back(std::move(element));
    }
    return Literal::Tuple(std::move(elements));
  }

  const ElidedValues& values_;
  CountedBytes counted_;
  uint64_t random_arrays_ = 0;
};

std::vector<Instruction*> ElidedConstants(const Module& module) {
  std::vector<Instruction*> found;
  for (const Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->is_elided() && instruction->Has<attr::literal>()) found.push_back(instruction);
    }
  }
  return found;
}

void SetValue(Module& module, Instruction& instruction, Literal value) {
  const Literal* kept = module.arena().New<Literal>(std::move(value));
  InstructionEditor::SetAttribute(module, instruction, AttrId::literal, AttrValue::Of<const Literal*>(kept));
  InstructionEditor::SetElided(instruction, false);
}

absl::StatusOr<Instruction*> FindElided(const std::vector<Instruction*>& constants, std::string_view name) {
  Instruction* found = nullptr;
  std::vector<std::string_view> names;
  for (Instruction* constant : constants) {
    names.push_back(constant->name());
    if (constant->name() != name) continue;
    if (found != nullptr) {
      return absl::FailedPreconditionError(
          fmt::format("--elided: there are several constants '{}' without elements", name));
    }
    found = constant;
  }
  if (found != nullptr) return found;
  const std::string_view near = ClosestName(name, names);
  return absl::FailedPreconditionError(
      fmt::format("--elided: there is no constant '{}' without elements{}", name,
                  near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
}

}  // namespace

absl::Status AddElidedValues(std::string_view text, ElidedValues* values) {
  const size_t equals = text.find('=');
  if (equals != std::string_view::npos && equals > 0) {
    std::string_view name = text.substr(0, equals);
    if (name[0] == '%') name.remove_prefix(1);
    values->files.emplace_back(name, text.substr(equals + 1));
    return absl::OkStatus();
  }
  constexpr std::string_view kRandom = "random", kSeeded = "random:";
  uint64_t seed = 0;
  if (text == "zeros") {
    values->fill = ElidedFill::kZeros;
  } else if (text == "counter") {
    values->fill = ElidedFill::kCounter;
  } else if (text == kRandom) {
    values->fill = ElidedFill::kRandom;
  } else if (text.substr(0, kSeeded.size()) == kSeeded &&
             absl::SimpleAtoi(absl::string_view(text.data() + kSeeded.size(), text.size() - kSeeded.size()),
                              &seed)) {
    values->fill = ElidedFill::kRandom;
    values->seed = seed;
  } else {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' should be zeros, random, random:SEED, counter, or NAME=FILE for one constant", text));
  }
  return absl::OkStatus();
}

absl::Status FillElided(const ElidedValues& values, Module& module) {
  if (values.fill == ElidedFill::kNone && values.files.empty()) return absl::OkStatus();
  const std::vector<Instruction*> constants = ElidedConstants(module);
  for (const auto& [name, path] : values.files) {
    HLO_ASSIGN_OR_RETURN(Instruction * constant, FindElided(constants, name));
    absl::StatusOr<Literal> value = ReadValue(path, constant->shape());
    if (!value.ok())
      return absl::Status(value.status().code(),
                          fmt::format("constant '{}': {}", name, Message(value.status())));
    SetValue(module, *constant, *std::move(value));
  }
  if (values.fill == ElidedFill::kNone) return absl::OkStatus();
  ConstantFiller filler(values);
  for (Instruction* constant : constants) {
    if (!constant->is_elided()) continue;
    HLO_ASSIGN_OR_RETURN(Literal value, filler.Filled(*constant->Get<attr::literal>()));
    SetValue(module, *constant, std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace hlo
