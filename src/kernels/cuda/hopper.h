#pragma once
// What Hopper adds, for kernel bodies: copies of boxes of arrays into shared memory that report to barriers
// there, and products of a group of four warps that read both operands from shared memory. On the device
// inline PTX; elsewhere what the words of descriptors mean, carried out as late as the machine may.
//
// Boxes are 128 bytes wide and swizzled: bits 4 to 6 of a byte's address in shared memory are exchanged by
// bits 7 to 9.

#include "kernels/cuda/env.h"
#include "kernels/cuda/portable.h"
#include "types/small_float.h"

namespace hlo::cuda {

HLO_DEVICE uint32_t Swizzled128(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

// An array of 16-bit elements, its fastest dimension first, and the box that one copy takes. Elements outside
// are zeros.
struct BoxSource {
  const void* data = nullptr;
  uint64_t dims[3] = {1, 1, 1};
  uint64_t byte_strides[3] = {2, 0, 0};
  uint32_t box[3] = {64, 1, 1};
};
struct alignas(64) TensorMap {
  uint64_t encoded[16] = {};  // By the driver, for the device.
  BoxSource source;
};

// Where the elements of an operand lie for a product: 64-element rows of 128 bytes.
struct MatrixDescriptor {
  uint64_t bits = 0;
};
// Terms are neighbours: rows of 64 terms, one below the other.
HLO_DEVICE MatrixDescriptor DescribeTerms(uint32_t address) {
  return {((address & 0x3ffff) >> 4) | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62};
}
// Rows are neighbours: slabs of 64 rows, each `depth` terms of 128 bytes.
HLO_DEVICE MatrixDescriptor DescribeRows(uint32_t address, uint32_t depth) {
  return {((address & 0x3ffff) >> 4) | uint64_t{depth * 128 >> 4} << 16 | uint64_t{1024 >> 4} << 32 |
          uint64_t{1} << 62};
}
// The address of element (mn, k) of 16 bits that a descriptor means.
HLO_DEVICE uint32_t ElementAddress(MatrixDescriptor descriptor, bool rows_are_neighbours, uint32_t mn,
                                   uint32_t k) {
  const auto start = static_cast<uint32_t>(descriptor.bits & 0x3fff) << 4;
  const auto leading = static_cast<uint32_t>(descriptor.bits >> 16 & 0x3fff) << 4;
  const auto stride = static_cast<uint32_t>(descriptor.bits >> 32 & 0x3fff) << 4;
  if (rows_are_neighbours)
    return Swizzled128(start + mn / 64 * leading + k / 8 * stride + k % 8 * 128 + mn % 64 * 2);
  return Swizzled128(start + mn / 8 * stride + mn % 8 * 128 + k * 2);
}

// A product of 64 rows by 256 columns along 16 terms: thread t of 128, of warp w = t / 32, g = t % 32 / 4 and
// q = t % 4, holds in d[4j] and d[4j + 1] row 16w + g, columns 8j + 2q and 8j + 2q + 1, in d[4j + 2], d[4j +
// 3] row 16w + g + 8.
inline constexpr int kGroupColumns = 256, kGroupSums = 128;

// Products of a group of warps. Between Begin and a Wait that covers them nobody touches the sums.
template <class Env>
struct GroupProducts;

#ifdef __CUDACC__

HLO_DEVICE uint32_t SharedAddress(DeviceEnv&, const void* p) {
#ifdef __CUDA_ARCH__
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
#else
  return 0;
#endif
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HLO_ON_HOPPER(...) __VA_ARGS__
#else
#define HLO_ON_HOPPER(...)
#endif

// A barrier completes a phase when `count` threads have arrived and the bytes that they expect have come.
HLO_DEVICE void InitBarrier(DeviceEnv& env, uint64_t* barrier, uint32_t count) {
  HLO_ON_HOPPER(
      asm volatile("mbarrier.init.shared::cta.b64 [%0],%1;" ::"r"(SharedAddress(env, barrier)), "r"(count)
                   : "memory");)
}
HLO_DEVICE void PublishBarriers(DeviceEnv&) {
  HLO_ON_HOPPER(asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");)
}
HLO_DEVICE void Arrive(DeviceEnv& env, uint64_t* barrier) {
  HLO_ON_HOPPER(
      asm volatile("{.reg .b64 t; mbarrier.arrive.shared::cta.b64 t,[%0];}" ::"r"(SharedAddress(env, barrier))
                   : "memory");)
}
HLO_DEVICE void ArriveExpecting(DeviceEnv& env, uint64_t* barrier, uint32_t bytes) {
  HLO_ON_HOPPER(asm volatile("{.reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t,[%0],%1;}" ::"r"(
                                 SharedAddress(env, barrier)),
                             "r"(bytes)
                             : "memory");)
}
// Until the phase of this parity is complete; that before the first counts as one of parity 1.
HLO_DEVICE void WaitFor(DeviceEnv& env, uint64_t* barrier, uint32_t parity) {
  HLO_ON_HOPPER(asm volatile("{.reg .pred p;\nW%=: mbarrier.try_wait.parity.shared::cta.b64 p,[%0],%1;\n@p "
                             "bra D%=;\nbra W%=;\nD%=:}" ::"r"(SharedAddress(env, barrier)),
                             "r"(parity)
                             : "memory");)
}

// The box at these coordinates, its bytes expected by the barrier.
HLO_DEVICE void CopyBox(DeviceEnv& env, std::byte* to, const TensorMap& map, int x, int y, int z,
                        uint64_t* barrier) {
  HLO_ON_HOPPER(asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                             "[%0],[%1,{%2,%3,%4}],[%5];" ::"r"(SharedAddress(env, to)),
                             "l"(map.encoded), "r"(x), "r"(y), "r"(z), "r"(SharedAddress(env, barrier))
                             : "memory");)
}

// Registers for each thread of a group of warps, from and to the others.
template <int kCount>
HLO_DEVICE void GiveRegisters(DeviceEnv&) {
  HLO_ON_HOPPER(asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));)
}
template <int kCount>
HLO_DEVICE void TakeRegisters(DeviceEnv&) {
  HLO_ON_HOPPER(asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));)
}

#define HLO_F8(i)                                                                             \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define HLO_F64(i)                                                                                          \
  HLO_F8(i), HLO_F8(i + 8), HLO_F8(i + 16), HLO_F8(i + 24), HLO_F8(i + 32), HLO_F8(i + 40), HLO_F8(i + 48), \
      HLO_F8(i + 56)
#define HLO_GROUP_PRODUCT(type)                                                                              \
  asm volatile(                                                                                              \
      "{.reg .pred p; setp.ne.b32 p,%130,0;\n"                                                               \
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type                                           \
      " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26," \
      "%27,"                                                                                                 \
      "%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52," \
      "%53,"                                                                                                 \
      "%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78," \
      "%79,"                                                                                                 \
      "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103," \
      "%104,"                                                                                                \
      "%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124," \
      "%125,"                                                                                                \
      "%126,%127},%128,%129,p,1,1,%131,%132;}"                                                               \
      : HLO_F64(0), HLO_F64(64)                                                                              \
      : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(adds)), "n"(kRowsA ? 1 : 0), "n"(kRowsB ? 1 : 0))

template <>
struct GroupProducts<DeviceEnv> {
  HLO_DEVICE explicit GroupProducts(DeviceEnv&) {}
  HLO_DEVICE void Begin() { HLO_ON_HOPPER(asm volatile("wgmma.fence.sync.aligned;" ::: "memory");) }
  // d = a * b, or d += a * b. kRows...: rows of that operand are neighbours.
  template <bool kBF16, bool kRowsA, bool kRowsB>
  HLO_DEVICE void Multiply(float (&d)[kGroupSums], MatrixDescriptor a, MatrixDescriptor b, bool adds) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (kBF16)
      HLO_GROUP_PRODUCT("bf16");
    else
      HLO_GROUP_PRODUCT("f16");
#endif
  }
  HLO_DEVICE void Commit() { HLO_ON_HOPPER(asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");) }
  // All but the latest kNewest committed groups are done.
  template <int kNewest>
  HLO_DEVICE void Wait() {
    HLO_ON_HOPPER(asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kNewest) : "memory");)
  }
};

#endif  // __CUDACC__

}  // namespace hlo::cuda
