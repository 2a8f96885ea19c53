#include "base/parallel.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace hlo {
namespace {

std::atomic<int> thread_limit = 0;

// Loops shorter than this, in nanoseconds, are not parallelised.
std::atomic<double> min_parallel_nanoseconds = 20'000;
// The number of polls before a waiting thread sleeps or yields, about 20 us.
constexpr int kPolls = 2'000;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

#if defined(__SANITIZE_THREAD__)
#define HLO_FINDS_RACES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HLO_FINDS_RACES 1
#endif
#endif
#ifdef HLO_FINDS_RACES
constexpr bool kFindsRaces = true;
#else
constexpr bool kFindsRaces = false;
#endif

struct Loop {
  absl::FunctionRef<void(int64_t)> body;
  int64_t count;
  int threads;
  std::atomic<int64_t> next = 0;
  std::atomic<int> shares = 0, done = 0;  // Counts of threads, if kFindsRaces.

  // The order of iterations needs no synchronisation: Pool::Run orders the loop before and after other work.
  void Work() {
    if constexpr (kFindsRaces) return WorkOnShare();
    for (int64_t i = Next(); i < count; i = Next()) body(i);
  }
  int64_t Next() { return next.fetch_add(1, std::memory_order_relaxed); }

  // Runs every n-th iteration. A race detector sees only races between threads, and the first thread would
  // run all iterations of a short loop.
  void WorkOnShare() {
    const int share = shares.fetch_add(1, std::memory_order_relaxed);
    if (share >= threads) return;
    for (int64_t i = share; i < count; i += threads) body(i);
    ++done;
  }
};

thread_local bool is_working = false;

// The threads of an OpenMP region that lasts as long as the pool. A loop ends when its iterations are done.
// It does not wait for threads that took no iteration, as the barrier of a separate region would: on a busy
// machine such a thread may not run for milliseconds.
class Pool {
 public:
  explicit Pool(int workers) : workers_(workers), host_([this] { Host(); }) {}
  ~Pool() {
    stop_ = true;
    ++epoch_;
    epoch_.notify_all();
    host_.join();
    // Waits until all workers have left. The region's barrier already orders their accesses, but race
    // detectors see only atomics.
    while (gone_ != started_) sched_yield();
  }

  int workers() const { return workers_; }

  // Runs a loop on this thread and at most `workers` others.
  void Run(Loop& loop, int workers) {
    allowed_ = workers;
    loop_ = &loop;
    ++epoch_;
    epoch_.notify_all();
    loop.Work();
    while (kFindsRaces && loop.done < loop.threads) sched_yield();
    loop_ = nullptr;
    for (int polls = 0; inside_ != 0; ++polls) polls < kPolls ? Pause() : static_cast<void>(sched_yield());
  }

 private:
  void Host() {
    omp_set_dynamic(0);
#pragma omp parallel num_threads(workers_)
    Serve(omp_get_thread_num());
  }

  void Serve(int number) {
    is_working = true;
    ++started_;
    uint64_t seen = 0;
    while (true) {
      for (int polls = 0; epoch_ == seen && polls < kPolls; ++polls) Pause();
      epoch_.wait(seen);
      seen = epoch_;
      if (stop_) break;
      if (number >= allowed_) continue;
      // The order matters: either this worker sees that the loop is closed, or Run sees this worker inside.
      ++inside_;
      if (Loop* loop = loop_) loop->Work();
      --inside_;
    }
    ++gone_;
  }

  const int workers_;
  std::atomic<uint64_t> epoch_ = 0;
  std::atomic<Loop*> loop_ = nullptr;
  std::atomic<int> inside_ = 0;
  std::atomic<int> allowed_ = 0;
  std::atomic<int> started_ = 0, gone_ = 0;  // Counts of workers.
  std::atomic<bool> stop_ = false;
  std::thread host_;
};

}  // namespace

void SetThreadCount(int count) { thread_limit = std::max(count, 0); }
void SetMinParallelNanoseconds(double nanoseconds) { min_parallel_nanoseconds = nanoseconds; }

int ThreadCount() {
  const int limit = thread_limit;
  return limit > 0 ? limit : omp_get_max_threads();
}

void ParallelFor(int64_t count, double nanoseconds, absl::FunctionRef<void(int64_t)> body) {
  static std::mutex mutex;
  static std::unique_ptr<Pool> pool;
  const auto threads = static_cast<int>(std::min<int64_t>(ThreadCount(), count));
  std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
  // Runs the loop on this thread alone if another thread uses the pool.
  if (threads <= 1 || nanoseconds < min_parallel_nanoseconds || is_working || !lock.try_lock()) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  if (pool == nullptr || pool->workers() < threads - 1) {
    pool = nullptr;
    pool = std::make_unique<Pool>(ThreadCount() - 1);
  }
  Loop loop{body, count, threads};
  is_working = true;
  pool->Run(loop, threads - 1);
  is_working = false;
}

}  // namespace hlo
