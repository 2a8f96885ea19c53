#pragma once
// Custom calls whose targets are not known here: functions, libraries and modules that compute them.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/check.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

// The value of a call on these operands; it must be of the call's shape.
using CustomCallFunction =
    std::function<absl::StatusOr<Literal>(const Instruction& call, absl::Span<const Literal> operands)>;

class CustomCalls {
 public:
  CustomCalls() = default;
  ~CustomCalls();
  CustomCalls(const CustomCalls&) = delete;
  CustomCalls& operator=(const CustomCalls&) = delete;

  void Add(std::string target, CustomCallFunction function);
  // The entry of another module computes the target.
  void Add(std::string target, CheckedModule module);
  // Loads native code, which is trusted with everything that this process may do. A target is the exported
  // function of its name: for calls of API_VERSION_TYPED_FFI a handler of XLA's typed foreign functions, else
  //   void target(void* out, const void** in)
  // Arrays are stored as the call's layouts say; a tuple is an array of pointers to its elements.
  absl::Status AddLibrary(const std::string& path);

  // The function or module of a target; nullptr where there is none.
  CustomCallFunction FindFunction(std::string_view target) const;
  const Module* FindModule(std::string_view target) const;

 private:
  absl::flat_hash_map<std::string, CustomCallFunction> functions_;
  absl::flat_hash_map<std::string, CheckedModule> modules_;
  std::vector<void*> libraries_;
};

// The targets that are evaluated without help. In a pattern ? stands for a letter, * for any part of the
// name. The signature says which operands and results they have; it is empty where the target keeps its
// operand.
struct KnownCustomCall {
  std::string_view pattern;
  std::string_view signature;
};
std::vector<KnownCustomCall> KnownCustomCalls();

}  // namespace hlo
#pragma GCC visibility pop
