// Ends programs that the processor cannot run, and chooses the kernels of those that have several levels,
// before any static initialiser. The file is compiled for the oldest processors of its architecture and
// includes no header of the C++ library. Otherwise the linker might choose another file's copy of an inline
// function, which may have been compiled for a newer processor.

#include "base/isa_select.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

extern const uint64_t hlo_compiled_features;
// Defined where the kernels have levels (tools/cmake/isa_levels.sh).
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const hlo::isa::Level hlo_isa_levels[];
[[gnu::weak, gnu::visibility("hidden")]] extern const void* const* hlo_isa_functions;
// Their definitions refer to this name, so that this file is linked.
[[gnu::visibility("hidden")]] extern const char hlo_isa_select;
const char hlo_isa_select = 0;
}

namespace hlo::isa {

namespace {

struct Feature {
  const char* name;
  unsigned leaf, subleaf, reg, bit;
  int state;
};
#if defined(__x86_64__)
enum Register : unsigned { eax, ebx, ecx, edx };
#endif
constexpr Feature kFeatures[] = {
#if defined(__x86_64__)
#define HLO_CPU_FEATURE(name, macro, leaf, subleaf, reg, bit, state) {name, leaf, subleaf, reg, bit, state},
#include "base/cpu_features.def"
#undef HLO_CPU_FEATURE
#endif
    {nullptr, 0, 0, 0, 0, 0},
};

#if defined(__x86_64__)
// Returns the register state that the operating system saves, with the numbers of cpu_features.def.
int SavedState() {
  unsigned r[4];
  if (!__get_cpuid(1, &r[0], &r[1], &r[2], &r[3]) || (r[ecx] >> 27 & 1) == 0) return 0;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTiles = 0x600e6, kVectors64 = 0xe6, kVectors32 = 0x06;
  if ((low & kTiles) == kTiles) return 3;
  if ((low & kVectors64) == kVectors64) return 2;
  return (low & kVectors32) == kVectors32 ? 1 : 0;
}

// The registers of a leaf of CPUID; zero if the processor does not have the leaf.
struct Leaf {
  unsigned leaf = 0, subleaf = 0;
  unsigned registers[4] = {};
};

// Reads each leaf once, because virtual machines trap the instruction.
uint64_t FindFeatures() {
  constexpr int kMostLeaves = 8;
  const int saved = SavedState();
  Leaf leaves[kMostLeaves];
  int count = 0;
  uint64_t mask = 0;
  for (int i = 0; kFeatures[i].name != nullptr; ++i) {
    const Feature& feature = kFeatures[i];
    int k = 0;
    while (k < count && (leaves[k].leaf != feature.leaf || leaves[k].subleaf != feature.subleaf)) ++k;
    if (k == kMostLeaves) k = count = 0;
    unsigned* const r = leaves[k].registers;
    if (k == count) {
      leaves[count++] = {feature.leaf, feature.subleaf};
      __get_cpuid_count(feature.leaf, feature.subleaf, &r[0], &r[1], &r[2], &r[3]);
    }
    if ((r[feature.reg] >> feature.bit & 1) != 0 && feature.state <= saved) mask |= uint64_t{1} << i;
  }
  return mask;
}
#else
uint64_t FindFeatures() { return ~uint64_t{0}; }
#endif

// Appends as much of the word as fits into the text.
template <size_t kSize>
void Append(char (&text)[kSize], const char* more) {
  strncat(text, more, kSize - 1 - strlen(text));
}
template <size_t kSize>
void AppendNames(char (&text)[kSize], uint64_t mask) {
  bool is_first = true;
  for (int i = 0; kFeatures[i].name != nullptr; ++i) {
    if ((mask >> i & 1) == 0) continue;
    if (!is_first) Append(text, ", ");
    Append(text, kFeatures[i].name);
    is_first = false;
  }
}

[[noreturn]] void End(const char* reason, uint64_t lacking, const char* advice) {
  static char message[1024] = "hlo-run: error: ";
  Append(message, reason);
  AppendNames(message, lacking);
  Append(message, advice);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, strlen(message));
  _exit(2);
}

uint64_t g_features = 0;
const Level* g_level = nullptr;

// HLO_RUN_ISA chooses a level, otherwise the best one runs. IsaStatus() reports a name that the program does
// not have or the processor lacks.
void ChooseLevel() {
  const char* wanted = getenv("HLO_RUN_ISA");
  const Level *least = nullptr, *chosen = nullptr;
  for (const Level* level = Levels(); level->name != nullptr; ++level) {
    least = level;
    if (!IsSupported(*level)) continue;
    if (chosen == nullptr || (wanted != nullptr && strcmp(wanted, level->name) == 0)) chosen = level;
  }
  if (chosen == nullptr) {
    End("this program needs a processor of x86-64-v2; this one lacks ", *least->features & ~g_features,
        ".\n");
  }
  Choose(*chosen);
}

// Runs before all static initialisers, which have the priority 65535.
[[gnu::constructor(101)]] void Start() {
  g_features = FindFeatures();
  if (const uint64_t lacking = hlo_compiled_features & ~g_features; lacking != 0) {
    End("this program was compiled for another processor; this one lacks ", lacking,
        ". Built with -DHLO_RUN_NATIVE=OFF, it runs on every processor.\n");
  }
  if (Levels() != nullptr) ChooseLevel();
}

}  // namespace

const Level* Levels() { return hlo_isa_levels; }

bool IsSupported(const Level& level) { return (*level.features & ~g_features) == 0; }

void Choose(const Level& level) {
  g_level = &level;
  hlo_isa_functions = level.functions;
}

bool HasFeature(const char* name) {
  for (int i = 0; kFeatures[i].name != nullptr; ++i) {
    if (strcmp(kFeatures[i].name, name) == 0) return (g_features >> i & 1) != 0;
  }
  return false;
}

const char* Name() { return g_level != nullptr ? g_level->name : HLO_ISA_NAME; }

}  // namespace hlo::isa
