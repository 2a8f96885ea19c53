#pragma once
// Loops over independent pieces of work, spread over the machine's threads.

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace hlo {

// Threads that ParallelFor uses at most; 0 means one for each core. What is computed never depends on it.
void SetThreadCount(int count);
int ThreadCount();
// Loops that take less than so long stay on their thread; for tests of what threads do.
void SetWorthThreads(double nanoseconds);

// body(i) for every i of [0, count), in any order, on several threads if the whole loop takes about
// `nanoseconds` or more than it costs to start them. Pieces are cut by the caller, by shape, so that results
// do not depend on the number of threads. Nested calls run on the thread that makes them.
void ParallelFor(int64_t count, double nanoseconds, absl::FunctionRef<void(int64_t)> body);

}  // namespace hlo
