#pragma once
// Parallel loops over independent iterations.

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace hlo {

// Sets the largest number of threads that ParallelFor uses; 0 means one per core. Results never depend on it.
void SetThreadCount(int count);
int ThreadCount();
// Sets the run time, in nanoseconds, below which loops are not parallelised; for tests of parallel code.
void SetMinParallelNanoseconds(double nanoseconds);

// Calls body(i) for every i in [0, count) in any order. Several threads run the loop if its estimated time in
// nanoseconds exceeds the cost of starting them. The caller splits the work by shape, so that results do not
// depend on the number of threads. Nested calls run on the calling thread.
void ParallelFor(int64_t count, double nanoseconds, absl::FunctionRef<void(int64_t)> body);

}  // namespace hlo
