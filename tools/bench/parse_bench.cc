// Benchmarks parsing. Prints for each file the MB/s of parsing, and of parsing and checking; each is the best
// of several runs in processor time of one core. The peak memory of parsing is in multiples of the text size.
//   parse_bench [--repeat=N] [--json] FILE...

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "base/arithmetic.h"
#include "fmt/format.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"
#include "processor_time.h"

namespace {

std::atomic<int64_t> g_current{0}, g_peak{0};

void* Counted(void* p) {
  if (p == nullptr) std::abort();
  const int64_t now = g_current += static_cast<int64_t>(malloc_usable_size(p));
  for (int64_t peak = g_peak; now > peak && !g_peak.compare_exchange_weak(peak, now);) {
  }
  return p;
}

void Uncounted(void* p) {
  if (p != nullptr) g_current -= static_cast<int64_t>(malloc_usable_size(p));
  std::free(p);
}

}  // namespace

void* operator new(size_t size) { return Counted(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  const auto a = static_cast<size_t>(alignment);
  return Counted(std::aligned_alloc(a, hlo::RoundUp(size, a)));
}
void operator delete(void* p) noexcept { Uncounted(p); }
void operator delete(void* p, size_t) noexcept { Uncounted(p); }
void operator delete(void* p, std::align_val_t) noexcept { Uncounted(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { Uncounted(p); }

namespace hlo {
namespace {

using bench::ProcessorSeconds;

struct Times {
  double parse = std::numeric_limits<double>::infinity();
  double parse_and_check = std::numeric_limits<double>::infinity();
  int64_t instruction_count = 0;
  int64_t peak_bytes = 0;
};

// Returns false if the text does not parse.
bool Measure(const std::shared_ptr<const SourceText>& source, Times* times) {
  Diagnostics diagnostics;
  const int64_t bytes_before = g_current;
  g_peak = bytes_before;
  ResetPeakMemoryUse();
  const int64_t buffers_before = BufferMemoryUse().current_bytes;
  const double start = ProcessorSeconds();
  std::shared_ptr<const Module> module = Parse(source, diagnostics, {.infer_shape = InferMissingShape});
  const double parsed = ProcessorSeconds();
  times->peak_bytes = g_peak - bytes_before + BufferMemoryUse().peak_bytes - buffers_before;
  if (module == nullptr) {
    fmt::print(stderr, "{}", Render(diagnostics, *source));
    return false;
  }
  (void)Check(module, diagnostics);
  const double checked = ProcessorSeconds();
  times->parse = std::min(times->parse, parsed - start);
  times->parse_and_check = std::min(times->parse_and_check, checked - start);
  times->instruction_count = module->instruction_count();
  return true;
}

int Run(int argc, char** argv) {
  int repeat = 10;
  bool json = false, ok = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--repeat=")) {
      repeat = std::max(1, std::atoi(argv[i] + argument.find('=') + 1));
      continue;
    }
    if (argument == "--json") {
      json = true;
      continue;
    }
    const auto source = SourceText::Read(argv[i]);
    Times times;
    bool read = source.ok();
    for (int r = 0; r < repeat && read; ++r) read = Measure(*source, &times);
    ok = ok && read;
    if (!read) {
      fmt::print(stderr, "{}: cannot be read\n", argument);
      continue;
    }
    const auto bytes = static_cast<double>((*source)->content().size());
    fmt::print(fmt::runtime(
                   json ? "{{\"file\": \"{}\", \"bytes\": {}, \"instructions\": {}, \"parse_s\": {:.6f}, "
                          "\"parse_check_s\": {:.6f}, \"parse_mb_s\": {:.1f}, \"parse_check_mb_s\": {:.1f}, "
                          "\"peak_per_byte\": {:.2f}}}\n"
                        : "{}: {} bytes, {} instructions, parse {:.6f} s, parse and check {:.6f} s, {:.1f} "
                          "MB/s, {:.1f} "
                          "MB/s, peak {:.2f} x the text\n"),
               argument, (*source)->content().size(), times.instruction_count, times.parse,
               times.parse_and_check, bytes / times.parse / 1e6, bytes / times.parse_and_check / 1e6,
               static_cast<double>(times.peak_bytes) / bytes);
  }
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) { return hlo::Run(argc, argv); }
