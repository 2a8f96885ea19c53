#pragma once
// Hopper features for kernel bodies: tensor memory accelerator (TMA) copies that complete on mbarriers, and
// warpgroup matrix multiplication (wgmma) with both operands in shared memory. On the device these are inline
// PTX; in the emulator, descriptors are decoded and operations are executed as late as the hardware may.
//
// Swizzled boxes are 128 bytes wide: bits 4 to 6 of a shared memory address are XORed with bits 7 to 9.

#include "kernels/cuda/intrinsics/env.h"
#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/intrinsics/tensor_core.h"
#include "types/small_float.h"

namespace hlo::cuda {

HLO_DEVICE uint32_t Swizzled128(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

// An array of elements of 1, 2 or 4 bytes, fastest dimension first, and the box that one TMA copy loads.
// Elements out of bounds are zeros.
//
// In im2col mode the dimensions are {channels, columns, rows, images}, and a box is box[0] channels of box[1]
// pixels. Pixels follow each other along the bounding box of an image, from its lower corners to the last
// column and row plus its upper corners, in traversal strides; then follows the next image. A copy adds
// offsets to the column and the row of each pixel.
struct BoxSource {
  static constexpr uint32_t kMaxRank = 4;
  const void* data = nullptr;
  uint32_t element_bytes = 2, rank = 3;
  uint64_t dims[kMaxRank] = {1, 1, 1, 1};
  uint64_t byte_strides[kMaxRank] = {2, 0, 0, 0};
  uint32_t box[kMaxRank] = {64, 1, 1, 1};
  bool swizzled = true;
  bool im2col = false;
  int32_t lower_corner[2] = {}, upper_corner[2] = {};  // The first is for columns, the second for rows.
  uint32_t traversal_stride[2] = {1, 1};
};
// Limits of im2col mode with two dimensions of pixels.
struct Im2colLimits {
  static constexpr int32_t kMinCorner = -128, kMaxCorner = 127;
  static constexpr uint32_t kMaxStride = 8, kMaxOffset = 255;
};
struct alignas(64) TensorMap {
  uint64_t encoded[16] = {};  // Encoded by the driver (CUtensorMap).
  BoxSource source;
};

// The coordinates of a pixel in the bounding box of an im2col source.
struct PixelIndex {
  int column = 0, row = 0, image = 0;
};

// A shared memory matrix descriptor of wgmma, with 128-byte rows.
struct MatrixDescriptor {
  uint64_t bits = 0;
};
// Describes a K-major operand: contiguous terms in rows of 128 bytes.
HLO_DEVICE MatrixDescriptor DescribeTerms(uint32_t address) {
  return {((address & 0x3ffff) >> 4) | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62};
}
// Describes an MN-major operand of 16-bit elements: slabs of 64 rows, each with `depth` terms of 128 bytes.
HLO_DEVICE MatrixDescriptor DescribeRows(uint32_t address, uint32_t depth) {
  return {((address & 0x3ffff) >> 4) | uint64_t{depth * 128 >> 4} << 16 | uint64_t{1024 >> 4} << 32 |
          uint64_t{1} << 62};
}
// Returns the shared memory address of element (mn, k) of a descriptor.
HLO_DEVICE uint32_t ElementAddress(MatrixDescriptor descriptor, bool rows_are_neighbours, uint32_t mn,
                                   uint32_t k, uint32_t element_bytes = 2) {
  const auto start = static_cast<uint32_t>(descriptor.bits & 0x3fff) << 4;
  const auto leading = static_cast<uint32_t>(descriptor.bits >> 16 & 0x3fff) << 4;
  const auto stride = static_cast<uint32_t>(descriptor.bits >> 32 & 0x3fff) << 4;
  if (rows_are_neighbours)
    return Swizzled128(start + mn / 64 * leading + k / 8 * stride + k % 8 * 128 + mn % 64 * 2);
  return Swizzled128(start + mn / 8 * stride + mn % 8 * 128 + k * element_bytes);
}

// wgmma multiplies 16-bit floats, and bytes if both operands are K-major.
HLO_DEVICE constexpr bool IsOfIntegers(MmaKind kind) { return kind >= MmaKind::kS8S8; }
HLO_DEVICE constexpr bool IsOfFloatBytes(MmaKind kind) {
  return kind >= MmaKind::kE4E4 && kind <= MmaKind::kE5E5;
}
HLO_DEVICE constexpr uint32_t TermBytes(MmaKind kind) {
  return IsOfIntegers(kind) || IsOfFloatBytes(kind) ? 1 : 2;
}
template <MmaKind kKind>
using GroupSum = std::conditional_t<IsOfIntegers(kKind), int32_t, float>;

// A wgmma computes 64 rows by 64, 128 or 256 columns along 32 bytes of terms. Thread t of 128, with warp w =
// t / 32, g = t % 32 / 4 and q = t % 4, owns d[4j] and d[4j + 1]: row 16w + g, columns 8j + 2q and 8j + 2q +
// 1; d[4j + 2], d[4j + 3]: row 16w + g + 8.
HLO_DEVICE constexpr uint32_t GroupSums(uint32_t columns) { return columns / 2; }

// wgmma of a warpgroup. Between Begin and a Wait that covers them, the accumulators must not be accessed.
template <class Env>
struct WarpgroupMma;

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

// An mbarrier completes a phase after `count` threads have arrived and all expected bytes have been copied.
HLO_DEVICE void InitBarrier(DeviceEnv& env, uint64_t* barrier, uint32_t count) {
  HLO_ON_HOPPER(
      asm volatile("mbarrier.init.shared::cta.b64 [%0],%1;" ::"r"(SharedAddress(env, barrier)), "r"(count)
                   : "memory");)
}
// Makes initialised barriers visible to other threads, after they synchronise, and to copies.
HLO_DEVICE void PublishBarriers(DeviceEnv&) {
  HLO_ON_HOPPER(asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::
                                 : "memory");)
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
// Waits until the phase of this parity is complete; the phase before the first has parity 1.
HLO_DEVICE void WaitFor(DeviceEnv& env, uint64_t* barrier, uint32_t parity) {
  HLO_ON_HOPPER(asm volatile("{.reg .pred p;\nW%=: mbarrier.try_wait.parity.shared::cta.b64 p,[%0],%1;\n@p "
                             "bra D%=;\nbra W%=;\nD%=:}" ::"r"(SharedAddress(env, barrier)),
                             "r"(parity)
                             : "memory");)
}

// Copies the box at these coordinates; its bytes complete on the barrier.
HLO_DEVICE void CopyBox(DeviceEnv& env, std::byte* to, const TensorMap& map, int x, int y, int z,
                        uint64_t* barrier) {
  HLO_ON_HOPPER(asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                             "[%0],[%1,{%2,%3,%4}],[%5];" ::"r"(SharedAddress(env, to)),
                             "l"(map.encoded), "r"(x), "r"(y), "r"(z), "r"(SharedAddress(env, barrier))
                             : "memory");)
}

// The same for arrays of four dimensions.
HLO_DEVICE void CopyBox(DeviceEnv& env, std::byte* to, const TensorMap& map, int x, int y, int z, int w,
                        uint64_t* barrier) {
  HLO_ON_HOPPER(asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
                             "[%0],[%1,{%2,%3,%4,%5}],[%6];" ::"r"(SharedAddress(env, to)),
                             "l"(map.encoded), "r"(x), "r"(y), "r"(z), "r"(w),
                             "r"(SharedAddress(env, barrier))
                             : "memory");)
}
// Copies pixels in im2col mode, the first of them at this index of the bounding box.
HLO_DEVICE void CopyPixels(DeviceEnv& env, std::byte* to, const TensorMap& map, int channel,
                           const PixelIndex& first, uint32_t column_offset, uint32_t row_offset,
                           uint64_t* barrier) {
  HLO_ON_HOPPER(
      asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                   "[%0],[%1,{%2,%3,%4,%5}],[%6],{%7,%8};" ::"r"(SharedAddress(env, to)),
                   "l"(map.encoded), "r"(channel), "r"(first.column), "r"(first.row), "r"(first.image),
                   "r"(SharedAddress(env, barrier)), "h"(static_cast<uint16_t>(column_offset)),
                   "h"(static_cast<uint16_t>(row_offset))
                   : "memory");)
}

// Decreases or increases the registers per thread of a warpgroup (setmaxnreg).
template <int kCount>
HLO_DEVICE void ReleaseRegisters(DeviceEnv&) {
  HLO_ON_HOPPER(asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));)
}
template <int kCount>
HLO_DEVICE void AcquireRegisters(DeviceEnv&) {
  HLO_ON_HOPPER(asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));)
}

#define HLO_SUMS_8(c, i) \
  c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]), c(d[i + 7])
#define HLO_SUMS_64(c, i)                                                               \
  HLO_SUMS_8(c, i), HLO_SUMS_8(c, i + 8), HLO_SUMS_8(c, i + 16), HLO_SUMS_8(c, i + 24), \
      HLO_SUMS_8(c, i + 32), HLO_SUMS_8(c, i + 40), HLO_SUMS_8(c, i + 48), HLO_SUMS_8(c, i + 56)
#define HLO_SUMS_NAMES_64                                                                    \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,"   \
  "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45," \
  "%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define HLO_SUMS_NAMES                                                                    \
  HLO_SUMS_NAMES_64                                                                       \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84," \
  "%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104," \
  "%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121," \
  "%122,%123,%124,%125,%126,%127"
#define HLO_SUMS_32(c, i) HLO_SUMS_8(c, i), HLO_SUMS_8(c, i + 8), HLO_SUMS_8(c, i + 16), HLO_SUMS_8(c, i + 24)
#define HLO_SUMS_NAMES_32                                                                  \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23," \
  "%24,%25,%26,%27,%28,%29,%30,%31"
#define HLO_GROUP_HALVES_128(type)                                                        \
  asm volatile(                                                                           \
      "{.reg .pred p; setp.ne.b32 p,%66,0;\n"                                             \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" HLO_SUMS_NAMES_64 \
      "},%64,%65,p,1,1,%67,%68;}"                                                         \
      : HLO_SUMS_64("+f", 0)                                                              \
      : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(adds)), "n"(kRowsA ? 1 : 0), "n"(kRowsB ? 1 : 0))
#define HLO_GROUP_HALVES_64(type)                                                        \
  asm volatile(                                                                          \
      "{.reg .pred p; setp.ne.b32 p,%34,0;\n"                                            \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" HLO_SUMS_NAMES_32 \
      "},%32,%33,p,1,1,%35,%36;}"                                                        \
      : HLO_SUMS_32("+f", 0)                                                             \
      : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(adds)), "n"(kRowsA ? 1 : 0), "n"(kRowsB ? 1 : 0))
#define HLO_GROUP_HALVES(type)                                                         \
  asm volatile(                                                                        \
      "{.reg .pred p; setp.ne.b32 p,%130,0;\n"                                         \
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {" HLO_SUMS_NAMES \
      "},%128,%129,p,1,1,%131,%132;}"                                                  \
      : HLO_SUMS_64("+f", 0), HLO_SUMS_64("+f", 64)                                    \
      : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(adds)), "n"(kRowsA ? 1 : 0), "n"(kRowsB ? 1 : 0))
#define HLO_GROUP_BYTES(types)                                                                   \
  asm volatile(                                                                                  \
      "{.reg .pred p; setp.ne.b32 p,%130,0;\n"                                                   \
      "wgmma.mma_async.sync.aligned.m64n256k32.s32." types " {" HLO_SUMS_NAMES "},%128,%129,p;}" \
      : HLO_SUMS_64("+r", 0), HLO_SUMS_64("+r", 64)                                              \
      : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(adds)))
#define HLO_GROUP_FLOAT_BYTES(types)                                                                  \
  asm volatile(                                                                                       \
      "{.reg .pred p; setp.ne.b32 p,%66,0;\n"                                                         \
      "wgmma.mma_async.sync.aligned.m64n128k32.f32." types " {" HLO_SUMS_NAMES_64 "},%64,%65,p,1,1;}" \
      : HLO_SUMS_64("+f", 0)                                                                          \
      : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(adds)))

template <>
struct WarpgroupMma<DeviceEnv> {
  HLO_DEVICE explicit WarpgroupMma(DeviceEnv&) {}
  HLO_DEVICE void Begin() { HLO_ON_HOPPER(asm volatile("wgmma.fence.sync.aligned;" ::: "memory");) }
  // Computes d = a * b, or d += a * b if `adds`. kRowsA, kRowsB: the operand is MN-major. Products of
  // integers have 256 columns and those of FP8 128.
  template <MmaKind kKind, bool kRowsA, bool kRowsB, uint32_t kSums>
  HLO_DEVICE void Multiply(GroupSum<kKind> (&d)[kSums], MatrixDescriptor a, MatrixDescriptor b, bool adds) {
    static_assert(TermBytes(kKind) == 2 || !(kRowsA || kRowsB));
    static_assert(kSums == 128 || (kSums == 64 && !IsOfIntegers(kKind)) ||
                  (kSums == 32 && TermBytes(kKind) == 2));
    static_assert(kSums == 64 || !IsOfFloatBytes(kKind));
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (kKind == MmaKind::kBF16 && kSums == 128) HLO_GROUP_HALVES("bf16");
    if constexpr (kKind == MmaKind::kBF16 && kSums == 64) HLO_GROUP_HALVES_128("bf16");
    if constexpr (kKind == MmaKind::kBF16 && kSums == 32) HLO_GROUP_HALVES_64("bf16");
    if constexpr (kKind == MmaKind::kF16 && kSums == 128) HLO_GROUP_HALVES("f16");
    if constexpr (kKind == MmaKind::kF16 && kSums == 64) HLO_GROUP_HALVES_128("f16");
    if constexpr (kKind == MmaKind::kF16 && kSums == 32) HLO_GROUP_HALVES_64("f16");
    if constexpr (kKind == MmaKind::kE4E4) HLO_GROUP_FLOAT_BYTES("e4m3.e4m3");
    if constexpr (kKind == MmaKind::kE4E5) HLO_GROUP_FLOAT_BYTES("e4m3.e5m2");
    if constexpr (kKind == MmaKind::kE5E4) HLO_GROUP_FLOAT_BYTES("e5m2.e4m3");
    if constexpr (kKind == MmaKind::kE5E5) HLO_GROUP_FLOAT_BYTES("e5m2.e5m2");
    if constexpr (kKind == MmaKind::kS8S8) HLO_GROUP_BYTES("s8.s8");
    if constexpr (kKind == MmaKind::kS8U8) HLO_GROUP_BYTES("s8.u8");
    if constexpr (kKind == MmaKind::kU8S8) HLO_GROUP_BYTES("u8.s8");
    if constexpr (kKind == MmaKind::kU8U8) HLO_GROUP_BYTES("u8.u8");
#endif
  }
  HLO_DEVICE void Commit() { HLO_ON_HOPPER(asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");) }
  // Waits until all but the latest kNewest committed groups are complete.
  template <int kNewest>
  HLO_DEVICE void Wait() {
    HLO_ON_HOPPER(asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kNewest) : "memory");)
  }
};

#endif  // __CUDACC__

}  // namespace hlo::cuda
