#include "hlo_run/custom_calls.h"

#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "types/physical_layout.h"

namespace hlo {
namespace {

using NativeTarget = void (*)(void* out, const void** in);

bool IsInMemory(const Shape& shape) { return shape.IsArray() || shape.IsBuffer(); }
const Shape& ArrayOf(const Shape& shape) { return shape.IsBuffer() ? shape.element(0) : shape; }

// A value as native code sees it: bytes, or pointers to those of its elements.
class NativeValue {
 public:
  static absl::StatusOr<NativeValue> Make(const Literal& value, const Shape& shape) {
    NativeValue result;
    if (shape.IsTuple()) {
      for (size_t i = 0; i < shape.elements().size(); ++i) {
        HLO_ASSIGN_OR_RETURN(NativeValue element, Make(value.element(i), shape.element(i)));
        result.elements_.push_back(std::move(element));
      }
      for (NativeValue& element : result.elements_) result.pointers_.push_back(element.data());
    } else if (IsInMemory(shape)) {
      HLO_ASSIGN_OR_RETURN(const PhysicalLayout layout, PhysicalLayout::Of(ArrayOf(shape)));
      HLO_ASSIGN_OR_RETURN(result.bytes_, Buffer::Allocate(layout.byte_count()));
      std::memset(result.bytes_->data(), 0, layout.byte_count());
      layout.Store(value.data(), result.bytes_->data() + layout.prefix_byte_count());
    }
    return result;
  }

  void* data() {
    if (!elements_.empty()) return pointers_.data();
    return bytes_ == nullptr ? nullptr : static_cast<void*>(bytes_->data());
  }

  absl::StatusOr<Literal> Read(const Shape& shape) const {
    if (IsInMemory(shape)) {
      HLO_ASSIGN_OR_RETURN(const PhysicalLayout layout, PhysicalLayout::Of(ArrayOf(shape)));
      HLO_ASSIGN_OR_RETURN(Literal value, Literal::Create(ArrayOf(shape)));
      layout.Load(bytes_->data() + layout.prefix_byte_count(), value.mutable_data());
      return value.WithShape(shape);
    }
    if (!shape.IsTuple()) return Literal::Create(shape);
    std::vector<Literal> elements;
    for (size_t i = 0; i < elements_.size(); ++i) {
      HLO_ASSIGN_OR_RETURN(Literal element, elements_[i].Read(shape.element(i)));
      elements.push_back(std::move(element));
    }
    return Literal::Tuple(std::move(elements));
  }

 private:
  std::shared_ptr<Buffer> bytes_;
  std::vector<NativeValue> elements_;
  std::vector<void*> pointers_;
};

// The layout in which the call asks for operand i.
const Shape& OperandInMemory(const Instruction& call, size_t i) {
  const auto constraints = call.Get<attr::operand_layout_constraints>();
  return i < constraints.size() ? *constraints[i] : call.operand(i)->shape();
}

absl::StatusOr<Literal> CallNative(NativeTarget target, const Instruction& call,
                                   absl::Span<const Literal> operands) {
  const ApiVersion version = call.Get<attr::api_version>(ApiVersion::kOriginal);
  if (version != ApiVersion::kOriginal && version != ApiVersion::kUnspecified) {
    return absl::UnimplementedError(
        fmt::format("has api_version={}; functions of libraries are called by that of API_VERSION_ORIGINAL, "
                    "void {}(void* out, const void** in)",
                    Word(version), call.Get<attr::custom_call_target>()));
  }
  std::vector<NativeValue> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    HLO_ASSIGN_OR_RETURN(NativeValue value, NativeValue::Make(operands[i], OperandInMemory(call, i)));
    values.push_back(std::move(value));
  }
  std::vector<const void*> in;
  for (NativeValue& value : values) in.push_back(value.data());
  HLO_ASSIGN_OR_RETURN(const Literal zeros, Literal::CreateZeros(call.shape()));
  HLO_ASSIGN_OR_RETURN(NativeValue out, NativeValue::Make(zeros, call.shape()));
  target(out.data(), in.data());
  return out.Read(call.shape());
}

}  // namespace

CustomCalls::~CustomCalls() {
  functions_.clear();
  for (void* library : libraries_) dlclose(library);
}

void CustomCalls::Add(std::string target, CustomCallFunction function) {
  functions_.insert_or_assign(std::move(target), std::move(function));
}

void CustomCalls::Add(std::string target, CheckedModule module) {
  modules_.insert_or_assign(std::move(target), std::move(module));
}

absl::Status CustomCalls::AddLibrary(const std::string& path) {
  // A name without a slash would be looked for in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::InvalidArgumentError(fmt::format("cannot load the library '{}': {}", path, dlerror()));
  }
  libraries_.push_back(library);
  return absl::OkStatus();
}

CustomCallFunction CustomCalls::FindFunction(std::string_view target) const {
  const std::string symbol(target);
  if (const auto it = functions_.find(symbol); it != functions_.end()) return it->second;
  for (void* library : libraries_) {
    void* found = dlsym(library, symbol.c_str());
    if (found == nullptr) continue;
    return [function = reinterpret_cast<NativeTarget>(found)](const Instruction& call,
                                                              absl::Span<const Literal> operands) {
      return CallNative(function, call, operands);
    };
  }
  return nullptr;
}

const Module* CustomCalls::FindModule(std::string_view target) const {
  const auto it = modules_.find(std::string(target));
  return it == modules_.end() ? nullptr : &it->second.module();
}

}  // namespace hlo
