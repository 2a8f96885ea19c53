#pragma once
// The subcommands: each file cmd_<name>.cc adds one to the program. What it is to do runs after all flags are
// read, and sets the exit status.

#include "CLI/CLI.hpp"

namespace hlo::cli {

void AddRun(CLI::App& program, int& exit_status);
void AddVerify(CLI::App& program, int& exit_status);
void AddPrint(CLI::App& program, int& exit_status);
void AddCheck(CLI::App& program, int& exit_status);
void AddInputs(CLI::App& program, int& exit_status);
void AddStats(CLI::App& program, int& exit_status);
// A part of a module as a module of its own.
void AddExtract(CLI::App& program, int& exit_status);
void AddPlan(CLI::App& program, int& exit_status);
void AddProfile(CLI::App& program, int& exit_status);
void AddDevices(CLI::App& program, int& exit_status);
void AddOps(CLI::App& program, int& exit_status);
// `docs man` and `docs bash-completion`, made from the flags of all others.
void AddDocs(CLI::App& program, int& exit_status);

}  // namespace hlo::cli
