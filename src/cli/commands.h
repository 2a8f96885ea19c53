#pragma once
// The subcommands. Each file cmd_<name>.cc adds one to the program. Its callback runs after all flags are
// parsed and sets the exit status.

#include "CLI/CLI.hpp"

namespace hlo::cli {

void AddRun(CLI::App& program, int& exit_status);
void AddVerify(CLI::App& program, int& exit_status);
void AddPrint(CLI::App& program, int& exit_status);
void AddCheck(CLI::App& program, int& exit_status);
void AddInputs(CLI::App& program, int& exit_status);
void AddStats(CLI::App& program, int& exit_status);
void AddExtract(CLI::App& program, int& exit_status);
void AddDiff(CLI::App& program, int& exit_status);
void AddMinimize(CLI::App& program, int& exit_status);
void AddSlice(CLI::App& program, int& exit_status);
void AddGraph(CLI::App& program, int& exit_status);
void AddPlan(CLI::App& program, int& exit_status);
void AddProfile(CLI::App& program, int& exit_status);
void AddShadow(CLI::App& program, int& exit_status);
void AddTrace(CLI::App& program, int& exit_status);
void AddDevices(CLI::App& program, int& exit_status);
void AddOps(CLI::App& program, int& exit_status);
void AddExplain(CLI::App& program, int& exit_status);
// Generates `docs man` and `docs bash-completion` from the flags of the other subcommands, so it comes last.
void AddDocs(CLI::App& program, int& exit_status);

}  // namespace hlo::cli
