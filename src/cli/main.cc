// The entry point of hlo-run. It includes little, since it is compiled alone.

#include <cstdio>
#include <string>

#include "base/isa.h"
#include "base/status.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  if (const absl::Status isa = hlo::IsaStatus(); !isa.ok()) {
    std::fprintf(stderr, "hlo-run: error: %s\n", std::string(hlo::Message(isa)).c_str());
    return 2;
  }
  return hlo::cli::RunProgram(argc, argv);
}
