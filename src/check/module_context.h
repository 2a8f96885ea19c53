#pragma once
// What the rules of the module share: where to report, the call graph, users of the computation at hand.

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

  // Reports at an instruction.
  RuleContext At(const Instruction& instruction) { return RuleContext(instruction, diagnostics, options); }
  // Reports elsewhere.
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
  Diagnostic& Lenient(SourceRange at, std::string_view rule, fmt::format_string<Args...> format,
                      Args&&... args) {
    return options.strict ? Error(at, rule, format, std::forward<Args>(args)...)
                          : Warning(at, rule, format, std::forward<Args>(args)...);
  }

  // Users of the instructions of `computation`; valid until another is asked for.
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

// --- module_entry.cc: entry layout, aliases, donors (4.4)
// --------------------------------------------------------
void CheckEntryInterface(ModuleContext& context);

// --- module_fusion.cc (4.5)
// --------------------------------------------------------------------------------------
void CheckFusionBody(ModuleContext& context, const Computation& body);

// --- module_sharding.cc (4.6)
// ------------------------------------------------------------------------------------
void CheckSharding(ModuleContext& context, const Instruction& instruction, const Sharding& sharding);
// Threads and shardings of a while, conditional or fusion and of what it calls.
void CheckCalls(ModuleContext& context, const Instruction& instruction);

// --- module_pairs.cc: native starts and dones, send and recv, channels (4.7)
// -------------------------------------
void CheckStart(ModuleContext& context, const Instruction& start);
void CheckDone(ModuleContext& context, const Instruction& done);
void CheckTransfer(ModuleContext& context, const Instruction& transfer);
void CheckTransferDone(ModuleContext& context, const Instruction& done);
void CheckHostChannels(ModuleContext& context, InstructionSpan transfers);

// --- module_async.cc: generic chains and the computations they run (3.27, 4.7)
// -----------------------------------
void CheckAsyncChains(ModuleContext& context, InstructionSpan async);

// --- module_buffers.cc (4.8)
// -------------------------------------------------------------------------------------
void CheckBuffers(ModuleContext& context, const Computation& computation);

// --- module_layout.cc: layouts that an opcode must keep (4.10), origins (4.11)
// -----------------------------------
void CheckLayoutIsKept(ModuleContext& context, const Instruction& instruction);
void CheckOrigin(ModuleContext& context, const Instruction& instruction, const Origin& origin);

}  // namespace hlo::check
