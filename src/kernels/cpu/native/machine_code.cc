#include "kernels/cpu/native/machine_code.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "base/isa.h"
#include "base/isa_select.h"

#ifdef HLO_RUN_HAS_NATIVE_CODE
#include <sys/mman.h>
#endif

namespace hlo::cpu {

#ifdef HLO_RUN_HAS_NATIVE_CODE
namespace {

std::atomic<NativeIsa> largest = NativeIsa::kAvx512;

// The set that the compiler may use in kernels, unless they have levels.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
constexpr NativeIsa kCompiledIsa = NativeIsa::kAvx512;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr NativeIsa kCompiledIsa = NativeIsa::kAvx2;
#else
constexpr NativeIsa kCompiledIsa = NativeIsa::kNone;
#endif

NativeIsa IsaOfKernels() {
  if (isa::Levels() == nullptr) return kCompiledIsa;
  const std::string_view level = IsaName();
  if (level == "x86-64-v2") return NativeIsa::kNone;
  return level == "x86-64-v3" ? NativeIsa::kAvx2 : NativeIsa::kAvx512;
}

NativeIsa IsaOfProcessor() {
  static const NativeIsa isa = [] {
    const auto has_all = [](std::initializer_list<const char*> features) {
      return std::all_of(features.begin(), features.end(), isa::HasFeature);
    };
    if (!has_all({"avx2", "fma", "f16c", "bmi1", "bmi2", "lzcnt"})) return NativeIsa::kNone;
    // A system that refuses one function of one byte refuses all.
    const uint8_t ret = 0xc3;
    if (MachineCode::Load({&ret, 1}) == nullptr) return NativeIsa::kNone;
    const bool has_avx512 = has_all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
    return has_avx512 ? NativeIsa::kAvx512 : NativeIsa::kAvx2;
  }();
  return isa;
}

}  // namespace

NativeIsa FindNativeIsa() {
  return std::min({IsaOfKernels(), IsaOfProcessor(), largest.load(std::memory_order_relaxed)});
}

NativeIsa SetLargestNativeIsa(NativeIsa isa) { return largest.exchange(isa); }

std::unique_ptr<const MachineCode> MachineCode::Load(absl::Span<const uint8_t> code) {
  if (code.empty()) return nullptr;
  void* memory = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::memcpy(memory, code.data(), code.size());
  if (mprotect(memory, code.size(), PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, code.size());
    return nullptr;
  }
  return std::unique_ptr<const MachineCode>(
      new MachineCode(static_cast<const uint8_t*>(memory), static_cast<int64_t>(code.size())));
}

MachineCode::~MachineCode() { munmap(const_cast<uint8_t*>(begin_), static_cast<size_t>(byte_count_)); }

#else

NativeIsa FindNativeIsa() { return NativeIsa::kNone; }
NativeIsa SetLargestNativeIsa(NativeIsa /*isa*/) { return NativeIsa::kNone; }
std::unique_ptr<const MachineCode> MachineCode::Load(absl::Span<const uint8_t> /*code*/) { return nullptr; }
MachineCode::~MachineCode() = default;

#endif

}  // namespace hlo::cpu
