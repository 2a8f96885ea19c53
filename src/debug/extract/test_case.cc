#include "debug/extract/test_case.h"

#include "absl/hash/hash.h"
#include "base/status.h"
#include "debug/device_values.h"
#include "debug/golden_folder.h"
#include "hlo_run/compare.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"
#include "nlohmann/json.hpp"
#include "spmd/device_grid.h"

namespace hlo::debug {
namespace {

std::shared_ptr<Module> ParseText(const std::string& text, Diagnostics& diagnostics) {
  return Parse(std::make_shared<const SourceText>("candidate.hlo", text), diagnostics,
               {.infer_shape = InferMissingShape});
}

void DropUnused(Computation& computation) {
  const std::vector<Instruction*> dead = DeadCode(computation);
  const absl::flat_hash_set<const Instruction*> dropped(dead.begin(), dead.end());
  std::vector<Instruction*> kept;
  for (Instruction* i : computation.instructions()) {
    if (!dropped.contains(i)) kept.push_back(i);
  }
  InstructionEditor::SetInstructions(computation, std::move(kept));
}

int64_t ElementCount(const Literal& value) {
  int64_t count = 0;
  for (const LiteralLeaf& leaf : ArrayLeaves(value)) count += leaf.value->element_count();
  return count;
}

}  // namespace

std::vector<Instruction*> DeadCode(const Computation& computation) {
  absl::flat_hash_set<const Instruction*> used;
  std::vector<const Instruction*> work = {computation.root()};
  for (const Instruction* i : computation.instructions()) {
    if (i->opcode() == Opcode::kParameter || Info(i->opcode()).has(kSideEffect)) work.push_back(i);
  }
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    if (!used.insert(instruction).second) continue;
    work.insert(work.end(), instruction->operands().begin(), instruction->operands().end());
    const auto before = instruction->Get<attr::control_predecessors>();
    work.insert(work.end(), before.begin(), before.end());
  }
  std::vector<Instruction*> dead;
  for (Instruction* i : computation.instructions()) {
    if (!used.contains(i)) dead.push_back(i);
  }
  return dead;
}

int64_t DeviceCount(const CheckedModule& module) { return spmd::GridOf(module.module()).count(); }

Literal AllDevices(std::vector<Literal> values) {
  return values.size() == 1 ? std::move(values[0]) : Literal::Tuple(std::move(values));
}

const Literal& OfDevice(const Literal& all, int64_t device, int64_t count) {
  return count == 1 ? all : all.element(device);
}

absl::StatusOr<Literal> RunOnAllDevices(const CheckedModule& module, absl::Span<const Literal> arguments,
                                        Engine engine, const EvaluateOptions& options) {
  const int64_t count = DeviceCount(module);
  std::vector<std::vector<Literal>> by_device(static_cast<size_t>(count));
  for (int64_t device = 0; device < count; ++device) {
    for (const Literal& argument : arguments)
      by_device[static_cast<size_t>(device)].push_back(OfDevice(argument, device, count));
  }
  HLO_ASSIGN_OR_RETURN(Executable executable, Executable::Make(module, engine, options));
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> results, executable.RunDevices(std::move(by_device), options));
  return AllDevices(std::move(results));
}

absl::StatusOr<SharedCase> MakeTestCase(std::string text, std::vector<Literal> inputs) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = ParseText(text, diagnostics);
  if (module == nullptr) return absl::InvalidArgumentError("the candidate does not parse");
  const auto parameters = module->entry()->parameters();
  if (parameters.size() != inputs.size()) return absl::InvalidArgumentError("the inputs are too few or many");
  HLO_ASSIGN_OR_RETURN(CheckedModule checked, Check(module, diagnostics));
  const int64_t count = DeviceCount(checked);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (int64_t device = 0; device < count; ++device) {
      if (!Compatible(parameters[i]->shape(), OfDevice(inputs[i], device, count).shape()))
        return absl::InvalidArgumentError("an input does not fit its parameter");
    }
  }
  return std::make_shared<const TestCase>(TestCase{std::move(checked), std::move(text), std::move(inputs)});
}

absl::StatusOr<SharedCase> MakeTestCase(const FlatModule& flat, absl::Span<const Instruction* const> roots,
                                        const absl::flat_hash_map<const Instruction*, Literal>& values) {
  absl::flat_hash_set<const Instruction*> edges;
  for (const auto& [instruction, value] : values) edges.insert(instruction);
  const ConeResult result = roots.size() == 1 ? ConeResult::kRoot : ConeResult::kTuple;
  HLO_ASSIGN_OR_RETURN(const Cone cone, MakeCone(flat, roots, edges, result));
  std::vector<Literal> inputs;
  for (const Instruction* parameter : cone.parameters) inputs.push_back(values.at(parameter));
  PrintOptions print;
  print.own_order = true;
  return MakeTestCase(Print(cone.module.module(), print), std::move(inputs));
}

absl::StatusOr<SharedCase> MakeOneDeviceCase(const std::string& text, std::vector<Literal> inputs) {
  Diagnostics diagnostics;
  const std::shared_ptr<Module> module = ParseText(text, diagnostics);
  if (module == nullptr) return absl::InvalidArgumentError("the candidate does not parse");
  module->mutable_header().replica_count = module->mutable_header().num_partitions = 1;
  PrintOptions print;
  print.own_order = true;
  return MakeTestCase(Print(*module, print), std::move(inputs));
}

std::shared_ptr<Module> CopyModule(const TestCase& test) {
  Diagnostics diagnostics;
  return ParseText(test.text, diagnostics);
}

absl::StatusOr<SharedCase> MakeTestCase(const std::shared_ptr<Module>& changed,
                                        const std::vector<Literal>& inputs) {
  for (Computation* computation : changed->computations()) DropUnused(*computation);
  const FlatModule flat(changed, *changed->entry(), Inlining::kNone);
  absl::flat_hash_map<const Instruction*, Literal> values;
  for (size_t i = 0; i < inputs.size(); ++i)
    values[flat.computation().parameter(static_cast<int64_t>(i))] = inputs[i];
  const Instruction* root = flat.computation().root();
  return MakeTestCase(flat, {&root, 1}, values);
}

CaseSize SizeOf(const TestCase& test) {
  CaseSize size;
  size.instructions = test.module.module().instruction_count();
  for (const Literal& input : test.inputs) size.elements += ElementCount(input);
  size.text = static_cast<int64_t>(test.text.size());
  return size;
}

uint64_t HashOf(const TestCase& test) {
  // absl's hash differs from run to run, and progress is kept across runs: FNV-1a.
  uint64_t hash = 14695981039346656037u;
  const auto add = [&](const void* data, size_t count) {
    for (size_t i = 0; i < count; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  };
  add(test.text.data(), test.text.size());
  for (const Literal& input : test.inputs) {
    for (const LiteralLeaf& leaf : ArrayLeaves(input))
      add(leaf.value->data(), static_cast<size_t>(leaf.value->byte_count()));
  }
  return hash;
}

absl::Status WriteInputs(const std::string& path, const TestCase& test) {
  const int64_t count = DeviceCount(test.module);
  if (count == 1) return WriteValues(path, test.inputs);
  std::vector<Literal> by_device;
  for (int64_t device = 0; device < count; ++device) {
    std::vector<Literal> own;
    for (const Literal& input : test.inputs) own.push_back(OfDevice(input, device, count));
    by_device.push_back(Literal::Tuple(std::move(own)));
  }
  return WriteUnderPrefixes(path, PrefixesOf(test.module.module()), by_device);
}

absl::Status WriteCase(const std::string& folder, const TestCase& test, const Literal* outputs,
                       const std::string& description) {
  nlohmann::ordered_json json = {{"description", description},
                                 {"rule", {{"kind", "close"}, {"abs", 1e-4}, {"rel", 1e-4}}}};
  const spmd::DeviceGrid grid = spmd::GridOf(test.module.module());
  if (grid.count() == 1) return WriteGoldenFolder(folder, {test.text, test.inputs, outputs, json});
  json["replicas"] = grid.replicas;
  json["partitions"] = grid.partitions;
  HLO_RETURN_IF_ERROR(WriteGoldenFolder(folder, {test.text, {}, nullptr, json}));
  HLO_RETURN_IF_ERROR(WriteInputs(folder + "/inputs.npz", test));
  const std::string path = folder + "/outputs.npz";
  return outputs == nullptr ? absl::OkStatus()
                            : WriteUnderPrefixes(path, PrefixesOf(test.module.module()), outputs->elements());
}

}  // namespace hlo::debug
