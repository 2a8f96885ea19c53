// Reductions of annotations and inputs.

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "debug/minimize/reductions.h"
#include "spmd/device_grid.h"
#include "types/wide.h"

namespace hlo::debug {
namespace {

// True for annotations that change no value. The configuration of a custom call does.
bool IsDropped(const Instruction& instruction, AttrId id) {
  if (id == AttrId::backend_config) return instruction.opcode() != Opcode::kCustomCall;
  const absl::Span<const AttrId> common = CommonAttributes();
  return std::find(common.begin(), common.end(), id) != common.end();
}

absl::StatusOr<SharedCase> WithoutAnnotations(const TestCase& test) {
  const std::shared_ptr<Module> module = CopyModule(test);
  bool has_changed = false;
  for (Computation* computation : module->computations()) {
    for (Instruction* instruction : computation->instructions()) {
      std::vector<AttrEntry> kept;
      for (const AttrEntry& entry : instruction->attributes()) {
        if (!IsDropped(*instruction, entry.id)) kept.push_back(entry);
      }
      has_changed |= kept.size() != instruction->attributes().size();
      InstructionEditor::SetAttributes(*module, *instruction, kept);
    }
  }
  if (!has_changed) return absl::InvalidArgumentError("nothing to drop");
  return MakeTestCase(module, test.inputs);
}

// The values that inputs are tried with.
enum class Simple : uint8_t { kZeros, kOnes };

absl::StatusOr<Literal> Filled(const Literal& like, Simple value) {
  if (like.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : like.elements()) {
      HLO_ASSIGN_OR_RETURN(elements.emplace_back(), Filled(element, value));
    }
    return Literal::Tuple(std::move(elements));
  }
  HLO_ASSIGN_OR_RETURN(Literal filled, Literal::CreateZeros(like.shape()));
  if (value == Simple::kZeros || !like.shape().IsArray()) return filled;
  DispatchWide(filled.type(), [&]<class W>() {
    const StoreFn<W> store = Storer<W>(filled.type());
    for (int64_t i = 0; i < filled.element_count(); ++i) store(filled.mutable_data(), i, W(1));
  });
  return filled;
}

bool HasSameBits(const Literal& a, const Literal& b) {
  if (a.shape().IsTuple()) {
    return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(), HasSameBits);
  }
  return a.byte_count() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_count())) == 0;
}

absl::StatusOr<SharedCase> WithInput(const TestCase& test, size_t input, Simple value) {
  std::vector<Literal> inputs = test.inputs;
  HLO_ASSIGN_OR_RETURN(inputs[input], Filled(inputs[input], value));
  if (HasSameBits(inputs[input], test.inputs[input]))
    return absl::InvalidArgumentError("the input has these values");
  return MakeTestCase(test.text, std::move(inputs));
}

absl::StatusOr<SharedCase> WithZeros(const TestCase& test) {
  std::vector<Literal> inputs;
  for (const Literal& input : test.inputs) {
    HLO_ASSIGN_OR_RETURN(inputs.emplace_back(), Filled(input, Simple::kZeros));
  }
  if (std::equal(inputs.begin(), inputs.end(), test.inputs.begin(), HasSameBits))
    return absl::InvalidArgumentError("the inputs are zeros");
  return MakeTestCase(test.text, std::move(inputs));
}

}  // namespace

std::vector<Proposal> ProposeWithoutAnnotations(const SharedCase& test) {
  return {[=] { return WithoutAnnotations(*test); }};
}

// Without collectives, the devices do not need each other.
std::vector<Proposal> ProposeOneDevice(const SharedCase& test) {
  const int64_t count = DeviceCount(test->module);
  if (count == 1 || spmd::DependsOnDevices(test->module.module())) return {};
  std::vector<Proposal> proposals;
  for (int64_t device = 0; device < count; ++device) {
    proposals.push_back([test, device, count] {
      std::vector<Literal> inputs;
      for (const Literal& input : test->inputs) inputs.push_back(OfDevice(input, device, count));
      return MakeOneDeviceCase(test->text, std::move(inputs));
    });
  }
  return proposals;
}

std::vector<Proposal> ProposeInputs(const SharedCase& test) {
  std::vector<Proposal> proposals;
  if (test->inputs.size() > 1) proposals.push_back([=] { return WithZeros(*test); });
  for (size_t i = 0; i < test->inputs.size(); ++i) {
    const absl::StatusOr<Literal> zeros = Filled(test->inputs[i], Simple::kZeros);
    // Zeros are the simplest; ones do not replace them.
    if (!zeros.ok() || HasSameBits(*zeros, test->inputs[i])) continue;
    proposals.push_back([=] { return WithInput(*test, i, Simple::kZeros); });
    proposals.push_back([=] { return WithInput(*test, i, Simple::kOnes); });
  }
  return proposals;
}

}  // namespace hlo::debug
