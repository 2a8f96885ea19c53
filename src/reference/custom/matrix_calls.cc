#include "reference/custom/matrix_calls.h"

#include <algorithm>
#include <cstring>

#include "reference/arrays.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"

namespace hlo::reference::custom {
namespace {

using Function = MatrixCall::Function;

// Returns a size or flag of older targets if it is a constant.
std::optional<int64_t> Flag(const Instruction& call, int64_t i) {
  const Instruction& operand = *call.operand(i);
  if (operand.opcode() != Opcode::kConstant) return std::nullopt;
  const absl::StatusOr<Literal> number = AsIndices(*operand.Get<attr::literal>());
  if (!number.ok() || number->element_count() == 0) return std::nullopt;
  return number->span<int64_t>()[0];
}

std::optional<MatrixCall> PotrfCall(const Instruction& call) {
  return MatrixCall{.function = Function::kPotrf, .lower = LowerOf(Options(call))};
}
// The second result is a workspace.
std::optional<MatrixCall> CusolverCholeskyCall(const Instruction& call) {
  return MatrixCall{.function = Function::kPotrf, .lower = Options(call).Bool("lower", true), .info = 2};
}
template <Function kFunction, int kArray>
std::optional<MatrixCall> PlainCall(const Instruction&) {
  return MatrixCall{.function = kFunction, .array = kArray};
}

std::optional<MatrixCall> OrmqrCall(const Instruction& call) {
  const Options options(call);
  return MatrixCall{.function = Function::kOrmqr,
                    .left = options.Bool("left", true),
                    .adjoint = options.Bool("transpose", false)};
}

std::optional<MatrixCall> TrsmCall(const Instruction& call) {
  MatrixCall read{.function = Function::kTrsm, .triangle = TriangleOf(Options(call))};
  if (call.operands().size() > 2) read.scale = 2;
  return read;
}
std::optional<MatrixCall> CublasTrsmCall(const Instruction& call) {
  return MatrixCall{.function = Function::kTrsm, .triangle = OpcodeTriangleOf(Options(call))};
}
std::optional<MatrixCall> OldTrsmCall(const Instruction& call) {
  std::optional<int64_t> flags[4];
  for (int i = 0; i < 4; ++i) {
    flags[i] = Flag(call, i);
    if (!flags[i].has_value()) return std::nullopt;
  }
  const Shape &a = call.operand(8)->shape(), &b = call.operand(9)->shape();
  if (a.dim(a.rank() - 1) != b.dim(b.rank() - (*flags[0] != 0 ? 2 : 1))) return std::nullopt;
  return MatrixCall{.function = Function::kTrsm,
                    .array = 8,
                    .triangle = {.left = *flags[0] != 0,
                                 .lower = *flags[1] != 0,
                                 .unit_diagonal = *flags[3] != 0,
                                 .op = OpOf(*flags[2])},
                    .scale = 7};
}

std::optional<MatrixCall> SyevdCall(const Instruction& call) {
  return MatrixCall{.function = Function::kSyevd, .lower = LowerOf(Options(call))};
}
std::optional<MatrixCall> EighCall(const Instruction& call) {
  return MatrixCall{.function = Function::kSyevd, .lower = EighReadsLower(call)};
}
std::optional<MatrixCall> RecordSyevdCall(const Instruction& call) {
  const std::optional<bool> lower = RecordReadsLower(call);
  if (!lower.has_value()) return std::nullopt;
  return MatrixCall{.function = Function::kSyevd, .lower = *lower};
}

template <Function kFunction, int kArray, int kLower>
std::optional<MatrixCall> OldTriangleCall(const Instruction& call) {
  const std::optional<int64_t> lower = Flag(call, kLower);
  if (!lower.has_value()) return std::nullopt;
  return MatrixCall{.function = kFunction, .array = kArray, .lower = *lower != 0};
}

std::optional<MatrixCall> SytrdCall(const Instruction& call) {
  return MatrixCall{.function = Function::kSytrd, .lower = LowerOf(Options(call))};
}

// Rows count from 1. The reference reports invalid ones.
std::optional<MatrixCall> GehrdOf(const Instruction& call, int array, std::optional<int64_t> low,
                                  std::optional<int64_t> high) {
  const Shape& a = call.operand(array)->shape();
  const bool fits = low.has_value() && high.has_value() && *low >= 1 && *low <= *high &&
                    *high <= std::max<int64_t>(a.dim(a.rank() - 1), 1);
  if (!fits) return std::nullopt;
  return MatrixCall{.function = Function::kGehrd, .array = array, .low = *low - 1, .high = *high - 1};
}
std::optional<MatrixCall> GehrdCall(const Instruction& call) {
  const Options options(call);
  const Shape& a = call.operand(0)->shape();
  return GehrdOf(call, 0, options.Int("low", 1), options.Int("high", a.dim(a.rank() - 1)));
}
std::optional<MatrixCall> OldGehrdCall(const Instruction& call) {
  return GehrdOf(call, 6, Flag(call, 1), Flag(call, 2));
}

std::optional<MatrixCall> GesddCall(const Instruction& call) {
  const bool vectors = IsVectorMode(Options(call).Letter("mode", 'S'));
  return MatrixCall{.function = Function::kGesdd, .adjoint = true, .vectors = vectors};
}
template <bool kAdjoint>
std::optional<MatrixCall> GesvdCall(const Instruction& call) {
  return MatrixCall{
      .function = Function::kGesdd, .adjoint = kAdjoint, .vectors = Options(call).Bool("compute_uv", true)};
}
std::optional<MatrixCall> OldGesddCall(const Instruction& call) {
  const std::optional<int64_t> vectors = Flag(call, 1);
  if (!vectors.has_value()) return std::nullopt;
  return MatrixCall{.function = Function::kGesdd, .array = 6, .adjoint = true, .vectors = *vectors != 0};
}

struct TargetRow {
  ReferenceOp op;
  std::optional<MatrixCall> (*read)(const Instruction& call);
};
constexpr TargetRow kRows[] = {
    {Potrf, PotrfCall},
    {PotrfByOperands, OldTriangleCall<Function::kPotrf, 3, 0>},
    {CusolverCholesky, CusolverCholeskyCall},
    {Getrf, PlainCall<Function::kGetrf, 0>},
    {GetrfByOperands, PlainCall<Function::kGetrf, 3>},
    {LuDecomposition, PlainCall<Function::kLuDecomposition, 0>},
    {PivotsToPermutation, PlainCall<Function::kPivotsToPermutation, 0>},
    {Geqrf, PlainCall<Function::kGeqrf, 0>},
    {GeqrfByOperands, PlainCall<Function::kGeqrf, 4>},
    {Geqp3, PlainCall<Function::kGeqp3, 0>},
    {Orgqr, PlainCall<Function::kOrgqr, 0>},
    {OrgqrByOperands, PlainCall<Function::kOrgqr, 5>},
    {Ormqr, OrmqrCall},
    {Trsm, TrsmCall},
    {CublasTrsm, CublasTrsmCall},
    {TrsmByOperands, OldTrsmCall},
    {Gtsv, PlainCall<Function::kGtsv, 3>},
    {Gtsv2, PlainCall<Function::kTridiagonalSolve, 3>},
    {Syevd, SyevdCall},
    {SyevdByOperands, OldTriangleCall<Function::kSyevd, 3, 0>},
    {SyevdByRecord, RecordSyevdCall},
    {Eigh, EighCall},
    {Gesdd, GesddCall},
    {Gesvd, GesvdCall<true>},
    {Gesvdj, GesvdCall<false>},
    {GesddByOperands, OldGesddCall},
    {Gehrd, GehrdCall},
    {GehrdByOperands, OldGehrdCall},
    {Sytrd, SytrdCall},
    {SytrdByOperands, OldTriangleCall<Function::kSytrd, 5, 1>},
};

}  // namespace

bool LowerOf(const Options& options) {
  return options.Has("uplo") ? options.Letter("uplo", 'L') == 'L' : options.Bool("lower", true);
}

bool EighReadsLower(const Instruction& call) { return Options(call).text().substr(0, 1) == "1"; }

// The record is (type, triangle, batch, n, work space). The triangle is numbered as in cuBLAS or hipBLAS.
std::optional<bool> RecordReadsLower(const Instruction& call) {
  constexpr size_t kIntegers = 5, kTriangle = 1;
  const std::string_view text = Options(call).text();
  if (text.size() != kIntegers * sizeof(int32_t)) return std::nullopt;
  int32_t triangle = 0;
  std::memcpy(&triangle, text.data() + kTriangle * sizeof(triangle), sizeof(triangle));
  if (triangle == 0 || triangle == 122) return true;
  if (triangle == 1 || triangle == 121) return false;
  return std::nullopt;
}

TriangleOptions TriangleOf(const Options& options) {
  const char op = options.Letter("trans_x", 'N');
  return {.left = options.Letter("side", 'L') == 'L',
          .lower = options.Letter("uplo", 'L') == 'L',
          .unit_diagonal = options.Letter("diag", 'N') == 'U',
          .op = op == 'N'   ? MatrixOp::kNone
                : op == 'T' ? MatrixOp::kTranspose
                            : MatrixOp::kAdjoint};
}

TriangleOptions OpcodeTriangleOf(const Options& options) {
  const std::string op = options.Text("transpose_a", "NO_TRANSPOSE");
  return {.left = options.Bool("left_side", false),
          .lower = options.Bool("lower", false),
          .unit_diagonal = options.Bool("unit_diagonal", false),
          .op = op == "TRANSPOSE" ? MatrixOp::kTranspose
                : op == "ADJOINT" ? MatrixOp::kAdjoint
                                  : MatrixOp::kNone};
}

MatrixOp OpOf(int64_t number) {
  return number == 0 ? MatrixOp::kNone : number == 1 ? MatrixOp::kTranspose : MatrixOp::kAdjoint;
}

std::optional<MatrixCall> MatrixCallOf(const Instruction& call) {
  const ReferenceOp op = FunctionOf(call);
  for (const TargetRow& row : kRows) {
    if (row.op == op) return row.read(call);
  }
  return std::nullopt;
}

}  // namespace hlo::reference::custom
