#include "hlo_run/custom_calls.h"

#include <dlfcn.h>

#include <memory>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/ffi_call.h"
#include "reference/native_value.h"

namespace hlo {
namespace {

using NativeTarget = void (*)(void* out, const void** in);

absl::StatusOr<Literal> CallNative(void* symbol, const Instruction& call,
                                   absl::Span<const Literal> operands) {
  const ApiVersion version = call.Get<attr::api_version>(ApiVersion::kOriginal);
  if (version == ApiVersion::kTypedFfi)
    return reference::CallFfi(reinterpret_cast<ffi::Handler>(symbol), call, operands);
  if (version != ApiVersion::kOriginal && version != ApiVersion::kUnspecified) {
    return absl::UnimplementedError(
        fmt::format("has api_version={}; functions of libraries are called by API_VERSION_TYPED_FFI or by "
                    "API_VERSION_ORIGINAL, void {}(void* out, const void** in)",
                    Word(version), call.Get<attr::custom_call_target>()));
  }
  std::vector<reference::NativeValue> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    HLO_ASSIGN_OR_RETURN(reference::NativeValue value,
                         reference::NativeValue::Make(operands[i], reference::OperandInMemory(call, i)));
    values.push_back(std::move(value));
  }
  std::vector<const void*> in;
  for (reference::NativeValue& value : values) in.push_back(value.data());
  HLO_ASSIGN_OR_RETURN(const Literal zeros, Literal::CreateZeros(call.shape()));
  HLO_ASSIGN_OR_RETURN(reference::NativeValue out, reference::NativeValue::Make(zeros, call.shape()));
  reinterpret_cast<NativeTarget>(symbol)(out.data(), in.data());
  return out.Read();
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
  // dlopen would search the system's folders for a name without a slash.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  // Threads of handlers that finish later may still run its code after it is closed.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
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
    return [found](const Instruction& call, absl::Span<const Literal> operands) {
      return CallNative(found, call, operands);
    };
  }
  return nullptr;
}

const Module* CustomCalls::FindModule(std::string_view target) const {
  const auto it = modules_.find(std::string(target));
  return it == modules_.end() ? nullptr : &it->second.module();
}

}  // namespace hlo
