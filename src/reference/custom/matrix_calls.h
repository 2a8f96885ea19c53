#pragma once
// Parameters of LAPACK-like calls (semantics 9.4 to 9.6), for all engines.

#include <optional>

#include "reference/custom/options.h"
#include "types/matrix.h"

namespace hlo::reference::custom {

// True if the lower triangle is used: `uplo` is a letter, `lower` a boolean.
bool LowerOf(const Options& options);
// The same for the target Eigh.
bool EighReadsLower(const Instruction& call);
// The same for older targets of GPUs, whose configuration is a record of 32-bit integers. Returns nullopt for
// other records.
std::optional<bool> RecordReadsLower(const Instruction& call);
// Returns the options of a call of trsm, or of one with the attributes of the opcode triangular-solve.
TriangleOptions TriangleOf(const Options& options);
TriangleOptions OpcodeTriangleOf(const Options& options);
// Returns the transposition with this number in older targets.
MatrixOp OpOf(int64_t number);
// True unless LAPACK's letter is N, no vectors.
inline bool IsVectorMode(char mode) { return mode != 'N'; }

struct MatrixCall {
  enum class Function {
    kPotrf,
    kGetrf,
    kLuDecomposition,
    kPivotsToPermutation,
    kGeqrf,
    kGeqp3,
    kOrgqr,
    kOrmqr,
    kTrsm,
    kGtsv,
    kTridiagonalSolve,
    kSyevd,
    kGesdd,
    kGehrd,
    kSytrd
  };
  Function function;
  int array = 0;                      // The operand number of the matrix.
  bool lower = true;                  // Used by kPotrf, kSyevd and kSytrd.
  int info = 1;                       // kPotrf: the number of the result that reports failures.
  TriangleOptions triangle;           // Used by kTrsm.
  std::optional<int> scale;           // kTrsm: the number of the operand that scales b.
  bool left = true, adjoint = false;  // kOrmqr: the side and adjoint. kGesdd: v is returned as its adjoint.
  bool vectors = true;                // Used by kGesdd.
  int64_t low = 0, high = 0;          // kGehrd: the first and last row, from 0.
};
// Returns nullopt for other functions and for parameters that are known only at run time.
std::optional<MatrixCall> MatrixCallOf(const Instruction& call);

}  // namespace hlo::reference::custom
