#include "python/attributes.h"

#include "absl/strings/string_view.h"

namespace hlo::python {
namespace {

struct ToPython {
  const ModulePtr& module;

  nb::object operator()(bool value) const { return nb::bool_(value); }
  nb::object operator()(int64_t value) const { return nb::int_(value); }
  nb::object operator()(double value) const { return nb::float_(value); }
  nb::object operator()(std::string_view value) const { return nb::str(value.data(), value.size()); }
  nb::object operator()(const Json& value) const { return (*this)(value.text); }
  nb::object operator()(Computation* value) const { return nb::cast(ComputationView{module, value}); }
  nb::object operator()(Instruction* value) const { return nb::cast(InstructionView{module, value}); }
  nb::object operator()(const Shape* value) const { return nb::cast(*value); }
  nb::object operator()(const Literal* value) const { return nb::cast(*value); }
  nb::object operator()(const SliceRange& value) const {
    return nb::make_tuple(value.start, value.limit, value.stride);
  }
  nb::object operator()(const PaddingDim& value) const {
    return nb::make_tuple(value.low, value.high, value.interior);
  }
  template <class Word>
  requires std::is_enum_v<Word> nb::object operator()(Word value) const { return (*this)(hlo::Word(value)); }
  template <class T>
  requires requires(const ToPython& self, T item) { self(item); }
  nb::object operator()(absl::Span<T> values) const {
    nb::list items;
    for (const auto& value : values) items.append((*this)(value));
    return items;
  }
};

// Returns the text after the attribute's `=`.
nb::object TextOf(const ModulePtr& module, SourceRange range) {
  if (!range.known() || module->source() == nullptr) return nb::none();
  const std::string_view text = module->source()->content().substr(range.begin, range.end - range.begin);
  const size_t equals = text.find('=');
  const std::string_view value = equals == std::string_view::npos ? text : text.substr(equals + 1);
  return nb::str(value.data(), value.size());
}

template <class A>
nb::object ValueOf(const InstructionView& view, const AttrEntry& entry) {
  using Type = typename A::Type;
  const ToPython to_python{view.module};
  if constexpr (requires(Type value) { to_python(value); }) {
    const auto value = entry.value.As<Type>();
    if constexpr (std::is_pointer_v<Type>) {
      if (value == nullptr) return nb::none();
    }
    return to_python(value);
  } else {
    return TextOf(view.module, entry.range);
  }
}

}  // namespace

nb::dict Attributes(const InstructionView& view) {
  nb::dict attributes;
  for (const AttrEntry& entry : view.instruction->attributes()) {
    switch (entry.id) {
#define HLO_ATTR(name, spelling, kind)                       \
  case AttrId::name:                                         \
    attributes[spelling] = ValueOf<attr::name>(view, entry); \
    break;
#include "hlo_run/attributes.def"
#undef HLO_ATTR
      default:
        break;
    }
  }
  return attributes;
}

}  // namespace hlo::python
