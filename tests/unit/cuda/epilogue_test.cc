// Tests epilogues in every GEMM kernel with integers, whose sums are exact, against the same operations in
// scalar code.

#include "kernels/cuda/gemm/epilogue.h"

#include <cmath>
#include <cstdlib>
#include <memory>

#include "emulated.h"

namespace hlo::cuda::epilogue_test {
namespace {

using Kind = EpilogueOp::Kind;

float Rounded(ElementType type, float x) {
  if (type == ElementType::kBF16) return Native<ElementType::kBF16>::FromDouble(x).ToFloat();
  if (type == ElementType::kF16) return Native<ElementType::kF16>::FromDouble(x).ToFloat();
  return x;
}
float At(const Literal& array, int64_t i) {
  if (array.type() == ElementType::kBF16) return array.span<Native<ElementType::kBF16>>()[i].ToFloat();
  if (array.type() == ElementType::kF16) return array.span<Native<ElementType::kF16>>()[i].ToFloat();
  return array.span<float>()[i];
}

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

// The epilogue (max((x + vector) * whole, scalar) - vector, stored), where x is an element of the product;
// each element of the vector is broadcast over `inner` adjacent elements of the result.
struct Case {
  OneInstruction product;
  int64_t vector_size, inner;
  ElementType stored;
  int capability;
  const char* kernel;  // Part of the kernel's name.
};

void ExpectFinished(const Case& c) {
  SCOPED_TRACE(c.product.Text());
  absl::StatusOr<CheckedModule> module = ReadModule(c.product.Text());
  ASSERT_TRUE(module.ok()) << module.status();
  const Instruction& root = *module->module().entry()->root();
  const ElementType declared = root.shape().type();
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module->module().entry()->parameters())
    arguments.push_back(WholeNumbers(parameter->shape(), static_cast<uint32_t>(arguments.size()) + 1));
  const absl::StatusOr<Literal> plain = Evaluate(*module, arguments);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const Literal vector = WholeNumbers(Shape::Array(ElementType::kF32, {c.vector_size}), 7),
                whole = WholeNumbers(Shape::Array(ElementType::kBF16, root.shape().dims()), 8),
                scalar = WholeNumbers(Shape::Array(ElementType::kF16, {}), 9);

  Epilogue epilogue{.array_count = 3, .stored = c.stored};
  const auto add = [&](EpilogueOp op) { epilogue.ops[epilogue.op_count++] = op; };
  add({.rounded_to = declared});
  add({.kind = Kind::kAdd, .array = 0, .rounded_to = declared});
  add({.kind = Kind::kMultiply, .array = 1});
  add({.kind = Kind::kMaximum, .array = 2, .rounded_to = ElementType::kF16});
  add({.kind = Kind::kSubtract, .array = 0});
  epilogue.arrays[0] = {.inner = FastDiv(static_cast<uint32_t>(c.inner)),
                        .size = FastDiv(static_cast<uint32_t>(c.vector_size))};
  epilogue.arrays[1] = {.type = ElementType::kBF16, .is_whole = true};
  epilogue.arrays[2] = {.type = ElementType::kF16};
  epilogue.arrays[2].inner = FastDiv(static_cast<uint32_t>(plain->element_count()));

  const std::optional<CudaKernel> kernel = FindKernelWithEpilogue(
      root, epilogue,
      {.compute_capability = c.capability, .multiprocessors = 2, .shared_bytes_per_block = 227 << 10});
  ASSERT_TRUE(kernel.has_value());
  EXPECT_NE(kernel->name.find(c.kernel), std::string::npos) << kernel->name;
  const std::unique_ptr<std::byte, Free> workspace(
      static_cast<std::byte*>(std::aligned_alloc(1024, (kernel->workspace_bytes / 1024 + 1) * 1024)));
  for (const int32_t schedule : {0, 2}) {
    Literal got = *Literal::Create(Shape::Array(c.stored, root.shape().dims()));
    const void* operands[] = {arguments[0].data(), arguments[1].data(), vector.data(), whole.data(),
                              scalar.data()};
    void* results[] = {got.mutable_data()};
    const absl::Status status =
        kernel->run(operands, absl::MakeSpan(results), workspace.get(), EmulatedStream(schedule));
    ASSERT_TRUE(status.ok()) << status;
    for (int64_t i = 0; i < got.element_count(); ++i) {
      const float of_vector = At(vector, i / c.inner % c.vector_size);
      float x = Rounded(declared, At(*plain, i) + of_vector) * At(whole, i);
      x = Rounded(ElementType::kF16, std::max(x, At(scalar, 0))) - of_vector;
      ASSERT_EQ(At(got, i), Rounded(c.stored, x)) << i << " " << kernel->name;
    }
  }
}

TEST(Epilogue, OfDots) {
  const std::string by_row = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  constexpr auto kF32 = ElementType::kF32, kBF16 = ElementType::kBF16, kF16 = ElementType::kF16;
  const auto dot = [&](const std::string& result, const std::string& a, const std::string& b,
                       const std::string& attributes = "") {
    return OneInstruction{result, "dot", {a, b}, by_row + attributes};
  };
  const Case cases[] = {
      {dot("f32[5,7]", "f32[5,9]", "f32[9,7]"), 7, 1, kF32, 80, "element by element"},
      {dot("f32[40,3]", "f32[40,300]", "f32[300,3]"), 3, 1, kBF16, 80, "thin"},
      {dot("f32[70,66]", "f32[70,40]", "f32[40,66]"), 66, 1, kF32, 80, "64x64x16"},
      {dot("f32[65,30]", "f32[65,1300]", "f32[1300,30]"), 30, 1, kF16, 80, "chunks"},
      {dot("f32[40,44]", "f32[40,33]", "bf16[33,44]"), 40, 44, kF32, 80, "dot f32"},
      {dot("bf16[72,136]", "bf16[72,80]", "bf16[80,136]"), 136, 1, kBF16, 80, "mma 128x128"},
      {dot("f32[71,67]", "f16[71,33]", "f16[33,67]"), 67, 1, kF16, 80, "mma 128x128"},
      {dot("f32[64,72]", "bf16[64,2100]", "bf16[2100,72]"), 72, 1, kF32, 80, "chunks"},
      {dot("f32[40,48]", "f32[40,72]", "f32[72,48]", ", algorithm=dot_bf16_bf16_f32_x3"), 48, 1, kF32, 80,
       "3 products"},
      {dot("f16[136,264]", "f16[136,80]", "f16[80,264]"), 264, 1, kF16, 90, "wgmma"},
      {dot("f32[72,136]", "bf16[72,336]", "bf16[336,136]"), 72, 136, kBF16, 90, "wgmma"},
      {dot("bf16[64,72]", "bf16[64,2100]", "bf16[2100,72]"), 72, 1, kF32, 90, "wgmma"},
      {dot("f32[72,136]", "f8e5m2[72,336]", "f8e4m3fn[336,136]",
           ", algorithm=dot_any_f8_any_f8_f32_fast_accum"),
       136, 1, kF32, 90, "wgmma 128x128x128"},
  };
  for (const Case& c : cases) ExpectFinished(c);
}

TEST(Epilogue, OfConvolutions) {
  const Case cases[] = {
      {{"f32[2,6,9,9]",
        "convolution",
        {"f32[2,3,9,9]", "f32[6,3,3,3]"},
        "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01"},
       6,
       81,
       ElementType::kBF16,
       80,
       "convolution f32"},
      {{"bf16[1,12,12,24]",
        "convolution",
        {"bf16[1,12,12,16]", "bf16[3,3,16,24]"},
        "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
       24,
       1,
       ElementType::kBF16,
       80,
       "mma"},
      {{"bf16[1,12,12,40]",
        "convolution",
        {"bf16[1,12,12,24]", "bf16[3,3,24,40]"},
        "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
       40,
       1,
       ElementType::kBF16,
       90,
       "im2col wgmma"},
      {{"f32[40,2,1,24]",
        "convolution",
        {"bf16[17,10,11,24]", "bf16[17,9,11,40]"},
        "window={size=9x11}, dim_labels=f01b_i01o->f01b"},
       24,
       1,
       ElementType::kF32,
       90,
       "128x64x64 in 3 chunks"},
      {{"f32[1,21,4]",
        "convolution",
        {"f32[1,11,4]", "f32[3,2,4]"},
        "window={size=3 pad=1_1 lhs_dilate=2}, dim_labels=b0f_0io->b0f, feature_group_count=2"},
       4,
       1,
       ElementType::kF32,
       80,
       "convolution f32"},
  };
  for (const Case& c : cases) ExpectFinished(c);
}

}  // namespace
}  // namespace hlo::cuda::epilogue_test
