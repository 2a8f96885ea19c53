#include "hlo_run/version.h"

#include "base/isa.h"
#include "fmt/format.h"
#include "generated/commit.h"

namespace hlo {
namespace {

#if defined(__clang__)
constexpr std::string_view kCompiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
constexpr std::string_view kCompiler = "GCC " __VERSION__;
#else
constexpr std::string_view kCompiler = "unknown";
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
constexpr std::string_view kNative = "native, x86-64-v4 (AVX-512)";
#elif defined(__AVX2__) && defined(__FMA__)
constexpr std::string_view kNative = "native, x86-64-v3 (AVX2)";
#elif defined(__SSE4_2__)
constexpr std::string_view kNative = "native, x86-64-v2";
#else
constexpr std::string_view kNative = "native";
#endif

std::string Instructions() { return std::string(IsaName() == "native" ? kNative : IsaName()); }

}  // namespace

const BuildInfo& GetBuildInfo() {
  static const std::string instructions = Instructions();
  static const BuildInfo kInfo = {.version = HLO_RUN_VERSION,
                                  .commit = HLO_RUN_COMMIT,
                                  .compiler = kCompiler,
                                  .isa = instructions,
                                  .cuda = HLO_RUN_CUDA_VERSION,
                                  .mpi = HLO_RUN_MPI_VERSION};
  return kInfo;
}

std::string ToString(const BuildInfo& info) {
  return fmt::format("hlo-run {}\ncommit: {}\ncompiler: {}\ninstructions: {}\nCUDA: {}\nMPI: {}",
                     info.version, info.commit, info.compiler, info.isa, info.cuda, info.mpi);
}

}  // namespace hlo
