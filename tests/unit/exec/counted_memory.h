#pragma once
// Counts the memory allocations of a test program by replacing malloc, and provides modules to test.

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::test {

// Number of allocations, live bytes and their peak.
inline std::atomic<int64_t> allocations = 0, live = 0, peak = 0;

[[maybe_unused]] inline void* Counted(void* block) {
  ++allocations;
  const int64_t now = live += block == nullptr ? 0 : static_cast<int64_t>(malloc_usable_size(block));
  int64_t most = peak;
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
  return block;
}

}  // namespace hlo::test

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HLO_TEST_COUNTS
// Replaces the C library's functions, also for operator new and for libraries.
extern "C" {
void* __libc_malloc(size_t bytes);                      // NOLINT: the name is the library's.
void* __libc_memalign(size_t alignment, size_t bytes);  // NOLINT
void __libc_free(void* block);                          // NOLINT
void* malloc(size_t bytes) { return hlo::test::Counted(__libc_malloc(bytes)); }
void* aligned_alloc(size_t alignment, size_t bytes) {
  return hlo::test::Counted(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** to, size_t alignment, size_t bytes) {
  *to = aligned_alloc(alignment, bytes);
  return *to == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  if (block != nullptr) hlo::test::live -= static_cast<int64_t>(malloc_usable_size(block));
  __libc_free(block);
}
}
#endif

namespace hlo::test {

inline constexpr char kComputations[] = R"(
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
sum_bf16 { a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT r = bf16[] add(a, b) }
sum_f16 { a = f16[] parameter(0)
  b = f16[] parameter(1)
  ROOT r = f16[] add(a, b) }
difference_f16 { a = f16[] parameter(0)
  b = f16[] parameter(1)
  ROOT r = f16[] subtract(a, b) }
largest { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }
odd { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] tanh(b)
  ROOT r = f32[] subtract(a, c) }
two { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  x = f32[] add(a, c)
  y = f32[] multiply(b, d)
  ROOT r = (f32[], f32[]) tuple(x, y) }
above { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE }
above_f16 { a = f16[] parameter(0)
  b = f16[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE }
before { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }
before_f64 { a = f64[] parameter(0)
  b = f64[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }
nearer { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] abs(a)
  d = f32[] tanh(b)
  ROOT r = pred[] compare(c, d), direction=LT }
running { a = f32[40] parameter(0)
  b = f32[40] parameter(1)
  c = f32[40] add(a, b)
  ROOT r = (f32[40], f32[40]) tuple(c, c) }
doubled { a = f32[8] parameter(0)
  ROOT r = f32[8] add(a, a) }
halved { a = f32[8] parameter(0)
  k = f32[] constant(0.5)
  b = f32[8] broadcast(k), dimensions={}
  ROOT r = f32[8] multiply(a, b) }
)";

// Returns a module of the computations above and an entry.
inline absl::StatusOr<CheckedModule> CheckedWith(const std::string& entry) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<SourceText>("t.hlo", kComputations + entry);
  std::shared_ptr<Module> module = Parse(source, diagnostics);
  EXPECT_NE(module, nullptr) << Render(diagnostics, *source);
  if (module == nullptr) return absl::InvalidArgumentError("no module");
  absl::StatusOr<CheckedModule> checked = Check(std::move(module), diagnostics);
  EXPECT_TRUE(checked.ok()) << Render(diagnostics, *source);
  return checked;
}

}  // namespace hlo::test
