#pragma once
// The shared state of the module rules: diagnostics, call graph and users.

#include <string_view>
#include <vector>

#include "check/module_graph.h"
#include "check/rules.h"

namespace hlo::check {

class ModuleContext {
 public:
  ModuleContext(const Module& module, Diagnostics& diagnostics, const CheckOptions& options)
      : module(module),
        diagnostics(diagnostics),
        options(options),
        calls(module),
        tracer(calls, module.instruction_count()) {}

  // Returns a context that reports at an instruction.
  RuleContext At(const Instruction& instruction) { return RuleContext(instruction, diagnostics, options); }
  // Reports an error at another location.
  template <class... Args>
  Diagnostic& Error(SourceRange at, std::string_view rule, fmt::format_string<Args...> format,
                    Args&&... args) {
    return diagnostics.Error(at, format, std::forward<Args>(args)...)
        .Rule(fmt::format("shape-rules {}", rule));
  }
  template <class... Args>
  Diagnostic& Warning(SourceRange at, std::string_view rule, fmt::format_string<Args...> format,
                      Args&&... args) {
    return diagnostics.Warning(at, format, std::forward<Args>(args)...)
        .Rule(fmt::format("shape-rules {}", rule));
  }
  template <class... Args>
  Diagnostic& ErrorIfStrict(SourceRange at, std::string_view rule, fmt::format_string<Args...> format,
                            Args&&... args) {
    return options.strict ? Error(at, rule, format, std::forward<Args>(args)...)
                          : Warning(at, rule, format, std::forward<Args>(args)...);
  }

  // Returns the users of the instructions of `computation`; valid until the next call.
  const Users& UsersIn(const Computation& computation) {
    if (users_of_ != &computation) users_.Build(computation);
    users_of_ = &computation;
    return users_;
  }

  const Module& module;
  Diagnostics& diagnostics;
  const CheckOptions& options;
  const CallGraph calls;
  Tracer tracer;

 private:
  Users users_;
  const Computation* users_of_ = nullptr;
};

// Defined in module_entry.cc: entry layout, aliases and donors (4.4).
void CheckEntryInterface(ModuleContext& context);

// Defined in module_fusion.cc (4.5).
void CheckFusionBody(ModuleContext& context, const Computation& body);

// Defined in module_sharding.cc (4.6).
void CheckSharding(ModuleContext& context, const Instruction& instruction, const Sharding& sharding);
// Checks the threads and shardings of a while, conditional or fusion and of its callees.
void CheckCalls(ModuleContext& context, const Instruction& instruction);

// Defined in module_pairs.cc: starts and dones other than async-start and async-done, send and recv, channels
// (4.7).
void CheckStart(ModuleContext& context, const Instruction& start);
void CheckDone(ModuleContext& context, const Instruction& done);
void CheckTransfer(ModuleContext& context, const Instruction& transfer);
void CheckTransferDone(ModuleContext& context, const Instruction& done);
void CheckHostChannels(ModuleContext& context, InstructionSpan transfers);

// Defined in module_async.cc: chains of async-start, async-update and async-done, and their computations
// (3.27, 4.7).
void CheckAsyncChains(ModuleContext& context, InstructionSpan async);

// Defined in module_buffers.cc (4.8).
void CheckBuffers(ModuleContext& context, const Computation& computation);

// Defined in module_layout.cc: layouts that opcodes must preserve (4.10), origins (4.11).
void CheckLayoutIsKept(ModuleContext& context, const Instruction& instruction);
void CheckOrigin(ModuleContext& context, const Instruction& instruction, const Origin& origin);

}  // namespace hlo::check
