// Tests dot-general against its definition, with dimension numbers of all kinds.

#include <cmath>

#include "arrays.h"
#include "gtest/gtest.h"
#include "kernels/cpu/bytecode/small_dot.h"
#include "kernels/cpu/gemm/gemm.h"
#include "loops/gemm_problem.h"

namespace hlo::cpu::dot_general_test {
namespace {

using enum ElementType;

struct Dot {
  std::vector<int64_t> lhs, rhs;
  std::vector<int64_t> lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
};

// Returns the result of the kernel for small products, if it supports the problem.
int small_dots = 0;
std::optional<Literal> RunSmallDot(const loops::GemmProblem& problem, const Literal& lhs, const Literal& rhs,
                                   const Shape& shape) {
  const std::optional<SmallDot> small = SmallDot::Make(problem);
  if (!small.has_value()) return std::nullopt;
  ++small_dots;
  Literal result = *Literal::CreateZeros(shape);
  small->Run(lhs.data(), rhs.data(), result.mutable_data());
  return result;
}

void ExpectRight(ElementType type, const Dot& dot) {
  const Literal lhs = test::RandomArray(type, dot.lhs, 1), rhs = test::RandomArray(type, dot.rhs, 2);
  const Index lhs_free = OtherDims(lhs.rank(), dot.lhs_batch, dot.lhs_contracting);
  const Index rhs_free = OtherDims(rhs.rank(), dot.rhs_batch, dot.rhs_contracting);
  Index dims = Pick(dot.lhs, dot.lhs_batch);
  for (int64_t d : lhs_free) dims.push_back(dot.lhs[d]);
  for (int64_t d : rhs_free) dims.push_back(dot.rhs[d]);
  absl::StatusOr<Literal> out = Literal::CreateZeros(Shape::Array(type, dims));
  const loops::GemmProblem problem =
      loops::DotProblem({type, lhs.dims(), dot.lhs_batch, dot.lhs_contracting},
                        {type, rhs.dims(), dot.rhs_batch, dot.rhs_contracting}, type);
  Gemm(WithData(problem, lhs.data(), rhs.data(), out->mutable_data()));
  const std::optional<Literal> small = RunSmallDot(problem, lhs, rhs, out->shape());
  const Index lhs_strides = RowMajorStrides(dot.lhs), rhs_strides = RowMajorStrides(dot.rhs);
  const Index k_dims = Pick(dot.lhs, dot.lhs_contracting);
  const Index lhs_k_strides = Pick(lhs_strides, dot.lhs_contracting),
              rhs_k_strides = Pick(rhs_strides, dot.rhs_contracting);
  const std::vector<std::complex<double>> lhs_values = test::Values(lhs), rhs_values = test::Values(rhs);
  int64_t place = 0;
  for (const Index& o : EachIndex(dims)) {
    int64_t x = 0, y = 0, d = 0;
    for (size_t b = 0; b < dot.lhs_batch.size(); ++b, ++d) {
      x += o[d] * lhs_strides[dot.lhs_batch[b]];
      y += o[d] * rhs_strides[dot.rhs_batch[b]];
    }
    for (int64_t f : lhs_free) x += o[d++] * lhs_strides[f];
    for (int64_t f : rhs_free) y += o[d++] * rhs_strides[f];
    std::complex<double> sum = 0;
    double size = 0;
    for (const Index& k : EachIndex(k_dims)) {
      const auto a = lhs_values[x + Offset(k, lhs_k_strides)], b = rhs_values[y + Offset(k, rhs_k_strides)];
      sum += a * b;
      size += std::abs(a) * std::abs(b);
    }
    const double terms = static_cast<double>(Product(k_dims)) + 2;
    const double bound =
        IsIntegral(type) ? 0 : terms * 0x1p-24 * size + std::abs(sum) * test::Epsilon(type) / 2;
    ASSERT_LE(std::abs(test::At(*out, place) - sum), bound) << "at " << place;
    if (small.has_value()) {
      ASSERT_LE(std::abs(test::At(*small, place) - sum), bound) << "small dot at " << place;
    }
    ++place;
  }
}

TEST(DotGeneralTest, AnyDimensionNumbers) {
  const Dot dots[] = {
      {{5}, {5}, {}, {}, {0}, {0}},
      {{}, {4}, {}, {}, {}, {}},
      {{3}, {4}, {}, {}, {}, {}},
      {{7, 5}, {5, 9}, {}, {}, {1}, {0}},
      {{5, 7}, {9, 5}, {}, {}, {0}, {1}},
      {{2, 3, 7, 5}, {2, 3, 5, 9}, {0, 1}, {0, 1}, {3}, {2}},
      // Batch dimensions as in attention: in the middle of both operands.
      {{2, 17, 3, 8}, {2, 19, 3, 8}, {0, 2}, {0, 2}, {3}, {3}},
      {{2, 17, 3, 8}, {3, 8, 2, 19}, {0, 2}, {2, 0}, {3}, {1}},
      // Contracting dimensions that are adjacent, in either order, and that are not.
      {{6, 4, 5}, {4, 5, 10}, {}, {}, {1, 2}, {0, 1}},
      {{6, 4, 5}, {5, 4, 10}, {}, {}, {1, 2}, {1, 0}},
      {{4, 6, 5}, {4, 5, 10}, {}, {}, {0, 2}, {0, 1}},
      {{4, 6, 5}, {10, 5, 3, 4}, {}, {}, {0, 2}, {3, 1}},
      // Free dimensions separated by a contracting or a batch dimension.
      {{11, 4, 13}, {4, 9}, {}, {}, {1}, {0}},
      {{11, 4, 13}, {7, 4, 9}, {}, {}, {1}, {1}},
      {{3, 2, 5, 4}, {6, 4, 2, 7}, {1}, {2}, {3}, {1}},
      {{9, 7, 8, 6}, {8, 5}, {}, {}, {2}, {0}},
      {{2, 5, 7, 8, 6}, {9, 2, 8}, {0}, {1}, {3}, {2}},
      {{4, 3, 2, 5}, {6, 4, 2, 7, 3}, {2}, {2}, {0, 1}, {1, 4}},
      // Dimensions of size 1 at every position, and of size 0.
      {{1, 6, 1, 4}, {1, 4, 1}, {0}, {2}, {3}, {1}},
      {{3, 0}, {0, 4}, {}, {}, {1}, {0}},
      {{0, 3}, {3, 4}, {}, {}, {1}, {0}},
      {{37, 5, 300}, {300, 5, 20}, {1}, {1}, {2}, {0}},
      // A matrix and a vector, with sums along rows and along columns, and two vectors.
      {{41, 50}, {50}, {}, {}, {1}, {0}},
      {{50, 43}, {50}, {}, {}, {0}, {0}},
      {{130}, {34, 130}, {}, {}, {0}, {1}},
      {{33}, {33, 17}, {}, {}, {0}, {0}},
      {{70}, {70, 150}, {}, {}, {0}, {0}},
      {{2000}, {2000}, {}, {}, {0}, {0}},
      // Many rows, and too few columns and terms for vectors of either.
      {{43, 7}, {7}, {}, {}, {1}, {0}},
      {{2, 19, 4}, {2, 4, 3}, {0}, {0}, {2}, {1}},
      {{5, 17, 1}, {2, 5, 1}, {}, {}, {0, 2}, {1, 2}},
  };
  for (ElementType type : {kF32, kF64, kBF16, kS32, kC64}) {
    for (const Dot& dot : dots) {
      SCOPED_TRACE(std::string(Name(type)) + " case " + std::to_string(&dot - dots));
      ExpectRight(type, dot);
    }
  }
  EXPECT_GE(small_dots, 22);
}

TEST(DotGeneralTest, AdjacentDimensionsAreMerged) {
  const std::vector<int64_t> lhs = {2, 3, 4, 5, 6}, rhs = {2, 3, 5, 6, 7};
  const std::vector<int64_t> batch = {0, 1}, lhs_contracting = {3, 4}, rhs_contracting = {2, 3};
  const loops::GemmProblem problem =
      loops::DotProblem({kF32, lhs, batch, lhs_contracting}, {kF32, rhs, batch, rhs_contracting}, kF32);
  EXPECT_EQ(problem.batch_dims, Index({6}));
  EXPECT_EQ(problem.m, 4);
  EXPECT_EQ(problem.n, 7);
  EXPECT_EQ(problem.k, 30);
  EXPECT_EQ(problem.a.row_stride, 30);
  EXPECT_EQ(problem.a.column_stride, 1);
  EXPECT_EQ(problem.b.row_stride, 7);
  EXPECT_TRUE(problem.a.row_sizes.empty() && problem.a.column_sizes.empty());
}

}  // namespace
}  // namespace hlo::cpu::dot_general_test
