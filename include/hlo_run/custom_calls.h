#pragma once
/// \file
/// Registers functions, libraries and modules that implement custom-call targets.

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

/// Computes a custom call on these operands. The result must have the call's shape.
using CustomCallFunction =
    std::function<absl::StatusOr<Literal>(const Instruction& call, absl::Span<const Literal> operands)>;

/// A registry of custom-call targets. It must outlive the runs that use it.
class CustomCalls {
 public:
  CustomCalls() = default;
  ~CustomCalls();
  CustomCalls(const CustomCalls&) = delete;
  CustomCalls& operator=(const CustomCalls&) = delete;

  void Add(std::string target, CustomCallFunction function);
  /// Implements the target by the entry computation of another module.
  void Add(std::string target, CheckedModule module);
  /// Loads a shared library; its code runs with the privileges of this process. A target is the exported
  /// function of the same name: for API_VERSION_TYPED_FFI a handler of XLA's typed FFI, otherwise
  ///   void target(void* out, const void** in)
  /// Arrays have the layouts of the call's shapes; a tuple is an array of pointers to its elements.
  absl::Status AddLibrary(const std::string& path);

  /// Return the function or module of a target; nullptr if it is not registered.
  CustomCallFunction FindFunction(std::string_view target) const;
  const Module* FindModule(std::string_view target) const;

 private:
  absl::flat_hash_map<std::string, CustomCallFunction> functions_;
  absl::flat_hash_map<std::string, CheckedModule> modules_;
  std::vector<void*> libraries_;
};

/// Custom-call targets that need no registration. In a pattern `?` matches a letter and `*` any part of the
/// name. The signature lists operands and results; it is empty if the target returns its operand.
struct KnownCustomCall {
  std::string_view pattern;
  std::string_view signature;
};
std::vector<KnownCustomCall> KnownCustomCalls();

}  // namespace hlo
#pragma GCC visibility pop
