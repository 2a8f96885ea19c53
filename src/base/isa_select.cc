// Ends programs that the processor cannot run, before any static initialiser. The file is compiled for the
// oldest processors of its architecture and includes no header of the C++ library: the linker may choose
// another file's copy of an inlined function, which may have been compiled for a newer processor.

#include "base/isa_select.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

extern const uint64_t hlo_compiled_features;

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
// Returns how wide the vectors are that the operating system saves, as in the table.
int SavedState() {
  unsigned r[4];
  if (!__get_cpuid(1, &r[0], &r[1], &r[2], &r[3]) || (r[ecx] >> 27 & 1) == 0) return 0;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 0xe6) == 0xe6 ? 2 : (low & 0x06) == 0x06 ? 1 : 0;
}

uint64_t FindFeatures() {
  const int saved = SavedState();
  uint64_t mask = 0;
  for (int i = 0; kFeatures[i].name != nullptr; ++i) {
    const Feature& feature = kFeatures[i];
    unsigned r[4] = {};
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &r[0], &r[1], &r[2], &r[3]) &&
        (r[feature.reg] >> feature.bit & 1) != 0 && feature.state <= saved)
      mask |= uint64_t{1} << i;
  }
  return mask;
}
#else
uint64_t FindFeatures() { return ~uint64_t{0}; }
#endif

// Adds to the text what fits.
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

// Before all static initialisers, which have the priority 65535.
[[gnu::constructor(101)]] void EndOnOtherProcessors() {
  const uint64_t lacking = hlo_compiled_features & ~FindFeatures();
  if (lacking == 0) return;
  static char message[1024] =
      "hlo-run: error: this program was compiled for another processor; this one lacks ";
  AppendNames(message, lacking);
  Append(message, ". Built with -DHLO_RUN_NATIVE=OFF, it runs on every processor.\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, strlen(message));
  _exit(2);
}

}  // namespace

const char* Name() { return HLO_ISA_NAME; }

}  // namespace hlo::isa
