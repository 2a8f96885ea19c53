// Checks the interface of the module: entry layout, aliased outputs and donated parameters (shape-rules 4.4).

#include <map>
#include <set>
#include <utility>

#include "base/counted.h"
#include "check/interface.h"
#include "check/module_context.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kEntryRule = "4.4";

using ParameterPlace = std::pair<int64_t, std::vector<int64_t>>;
ParameterPlace PlaceOf(int64_t parameter, IntList index) { return {parameter, {index.begin(), index.end()}}; }

bool IsLeaf(const Shape& shape) { return shape.IsArray() || shape.IsBuffer(); }

// The parameters and the result of the entry computation with the layouts of the header.
class Interface {
 public:
  explicit Interface(const Module& module)
      : entry_(*module.entry()), layout_(module.header().entry_layout.get()) {
    if (layout_ != nullptr && layout_->parameters.size() != entry_.parameters().size()) layout_ = nullptr;
  }
  int64_t parameter_count() const { return static_cast<int64_t>(entry_.parameters().size()); }
  const Shape& parameter(int64_t i) const {
    return layout_ ? layout_->parameters[i] : entry_.parameter(i)->shape();
  }
  const Shape& result() const { return layout_ ? layout_->result : entry_.root()->shape(); }

 private:
  const Computation& entry_;
  const EntryLayout* layout_;
};

void CheckEntryShape(ModuleContext& c, SourceRange at, std::string_view what, const Shape& layout,
                     const Instruction& instruction) {
  switch (
      MatchOf(layout, instruction.shape(), c.options, {.ignore_memory_space = true, .ignore_tiles = true})) {
    case Fit::kSame:
      return;
    case Fit::kLayoutDiffers:
      c.ErrorIfStrict(at, kEntryRule, "entry_computation_layout gives {} as {}, but '{}' is {}", what,
                      LayoutText(layout), instruction.name(), LayoutText(instruction.shape()));
      return;
    case Fit::kDiffers:
      c.Error(at, kEntryRule, "entry_computation_layout gives {} as {}, but '{}' is {}", what, Text(layout),
              instruction.name(), Text(instruction.shape()))
          .Note(instruction.shape_range(), "'{}'", instruction.name());
  }
}

void CheckEntryLayout(ModuleContext& c) {
  const EntryLayout* layout = c.module.header().entry_layout.get();
  if (layout == nullptr) return;
  const Computation& entry = *c.module.entry();
  if (layout->parameters.size() != entry.parameters().size()) {
    c.Error(layout->range, kEntryRule, "entry_computation_layout has {}, but '{}' has {}",
            Counted(layout->parameters.size(), "parameter"), entry.name(), entry.parameters().size());
    return;
  }
  for (size_t i = 0; i < layout->parameters.size(); ++i) {
    CheckEntryShape(c, layout->range, fmt::format("parameter {}", i), layout->parameters[i],
                    *entry.parameters()[i]);
  }
  CheckEntryShape(c, layout->range, "the result", layout->result, *entry.root());
}

// Returns the array at an index of a parameter; nullptr after an error.
const Shape* ParameterLeaf(ModuleContext& c, SourceRange at, std::string_view what,
                           const Interface& interface, int64_t parameter, IntList index) {
  if (!InRange(parameter, interface.parameter_count())) {
    c.Error(at, kEntryRule, "{} names parameter {}, but the entry has {}", what, parameter,
            Counted(interface.parameter_count(), "parameter"));
    return nullptr;
  }
  const Shape* leaf = SubshapeAt(interface.parameter(parameter), index);
  if (leaf != nullptr && IsLeaf(*leaf)) return leaf;
  c.Error(at, kEntryRule, "{} names {} of parameter {}, which is not an array of {}", what, Text(index),
          parameter, Text(interface.parameter(parameter)));
  return nullptr;
}

const Shape* OutputLeaf(ModuleContext& c, SourceRange at, const Interface& interface, IntList index) {
  const Shape* leaf = SubshapeAt(interface.result(), index);
  if (leaf != nullptr && IsLeaf(*leaf)) return leaf;
  c.Error(at, kEntryRule, "input_output_alias names output {}, which is not an array of {}", Text(index),
          Text(interface.result()));
  return nullptr;
}

void CheckAliasShapes(ModuleContext& c, const InputOutputAlias& alias, const Shape& output,
                      const Shape& input) {
  const SourceRange at = c.module.header().alias_range;
  if (alias.must_alias && !Equal(output, input, {})) {
    const auto text = Compatible(output, input) ? LayoutText : [](const Shape& shape) { return Text(shape); };
    c.Error(at, kEntryRule, "output {} must alias parameter {}{}, but they are {} and {}",
            Text(alias.output_index), alias.parameter, Text(alias.parameter_index), text(output),
            text(input));
    return;
  }
  if (!c.options.layout_sensitive) return;
  const auto out_bytes = UnpaddedByteCount(output), in_bytes = UnpaddedByteCount(input);
  if (out_bytes == in_bytes) return;
  c.ErrorIfStrict(at, kEntryRule, "output {} and parameter {}{} alias, but have {} and {} bytes",
                  Text(alias.output_index), alias.parameter, Text(alias.parameter_index),
                  out_bytes.value_or(-1), in_bytes.value_or(-1));
}

// Returns the aliased parameter leaves.
std::set<ParameterPlace> CheckInterfaceAliases(ModuleContext& c, const Interface& interface) {
  const SourceRange at = c.module.header().alias_range;
  std::set<ParameterPlace> used;
  std::set<std::vector<int64_t>> outputs;
  for (const InputOutputAlias& alias : c.module.header().input_output_alias) {
    if (!outputs.insert({alias.output_index.begin(), alias.output_index.end()}).second) {
      c.Warning(at, kEntryRule, "input_output_alias names output {} twice; the first alias holds",
                Text(alias.output_index));
      continue;
    }
    const Shape* output = OutputLeaf(c, at, interface, alias.output_index);
    const Shape* input =
        ParameterLeaf(c, at, "input_output_alias", interface, alias.parameter, alias.parameter_index);
    if (output == nullptr || input == nullptr) continue;
    if (!used.insert(PlaceOf(alias.parameter, alias.parameter_index)).second) {
      c.Error(at, kEntryRule, "input_output_alias uses parameter {}{} twice", alias.parameter,
              Text(alias.parameter_index));
    }
    CheckAliasShapes(c, alias, *output, *input);
  }
  return used;
}

void CheckDonors(ModuleContext& c, const Interface& interface, const std::set<ParameterPlace>& aliased) {
  const SourceRange at = c.module.header().donor_range;
  for (const BufferDonor& donor : c.module.header().buffer_donor) {
    if (ParameterLeaf(c, at, "buffer_donor", interface, donor.parameter, donor.parameter_index) == nullptr)
      continue;
    if (!aliased.contains(PlaceOf(donor.parameter, donor.parameter_index))) continue;
    c.Error(at, kEntryRule, "parameter {}{} is donated, but it is aliased to an output", donor.parameter,
            Text(donor.parameter_index));
  }
}

}  // namespace

void CheckEntryInterface(ModuleContext& c) {
  CheckEntryLayout(c);
  const Interface interface(c.module);
  CheckDonors(c, interface, CheckInterfaceAliases(c, interface));
}

}  // namespace hlo::check
