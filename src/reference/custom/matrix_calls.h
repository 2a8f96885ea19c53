#pragma once
// What calls of LAPACK and its relatives ask for, for whoever evaluates them (semantics 9.4 to 9.6).

#include <optional>

#include "linalg/systems.h"
#include "reference/custom/options.h"

namespace hlo::reference::custom {

// Whether the lower triangle counts: `uplo` is a letter, `lower` a truth value.
bool LowerOf(const Options& options);
// How trsm's options are written, and those of the opcode triangular-solve.
linalg::TriangleOptions TriangleOf(const Options& options);
linalg::TriangleOptions OpcodeTriangleOf(const Options& options);
// The transposition that the older targets give as a number.
linalg::Op OpOf(int64_t number);
// LAPACK's letters for vectors: all but N want some.
inline bool IsVectorMode(char mode) { return mode != 'N'; }

struct MatrixCall {
  enum class Function { kPotrf, kGetrf, kGeqrf, kGeqp3, kOrgqr, kOrmqr, kTrsm, kSyevd, kGesdd };
  Function function;
  int array = 0;                      // The operand that is the matrix; further ones follow it.
  bool lower = true;                  // kPotrf, kSyevd.
  linalg::TriangleOptions triangle;   // kTrsm.
  bool is_scaled = false;             // kTrsm: operand array - 1 scales the right-hand sides.
  bool left = true, adjoint = false;  // kOrmqr. kGesdd: whether v comes as its adjoint.
  bool vectors = true;                // kGesdd.
};
// nullopt: it is another function, or what it asks for is known at run time alone.
std::optional<MatrixCall> MatrixCallOf(const Instruction& call);

}  // namespace hlo::reference::custom
