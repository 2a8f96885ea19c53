// Sends messages between processes by MPI. One thread makes all calls of MPI, so that MPI_THREAD_FUNNELED is
// enough and a message never waits for a thread that computes.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/module.h"

namespace hlo::mpi {
namespace {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

constexpr int kTag = 1;
// The size in the header of a message that has no content: it says that the process is alive.
constexpr int64_t kHeartbeat = -1;
constexpr int kLimitReached = 4;  // An exit status.

// The most bytes in one message of MPI, whose counts are ints. HLO_RUN_MPI_CHUNK sets it for tests.
int64_t ChunkBytes() {
  constexpr int64_t kMax = int64_t{1} << 30;
  const char* text = std::getenv("HLO_RUN_MPI_CHUNK");
  const int64_t bytes = text == nullptr ? 0 : std::atoll(text);
  return bytes > 0 ? std::min(bytes, kMax) : kMax;
}

// How long another process may be silent. HLO_RUN_MPI_SILENCE sets it for tests, in seconds.
Clock::duration MaxSilence() {
  const char* text = std::getenv("HLO_RUN_MPI_SILENCE");
  const int seconds = text == nullptr ? 0 : std::atoi(text);
  return std::chrono::seconds(seconds > 0 ? seconds : 30);
}

class MpiTransport : public spmd::Transport {
 public:
  MpiTransport() : chunk_(ChunkBytes()), max_silence_(MaxSilence()), thread_([this] { Run(); }) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return is_open_ || !error_.empty(); });
  }

  ~MpiTransport() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  const std::string& error() const { return error_; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void Send(int rank, std::string message) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      outbox_.push_back({rank, std::move(message)});
    }
    changed_.notify_all();
  }

  void Start(Receive receive) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      receive_ = std::move(receive);
    }
    changed_.notify_all();
  }

  void LimitSilence() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    limits_silence_ = true;
  }

 private:
  struct Outgoing {
    int rank;
    std::string message;
  };
  // A message on its way: a header with its size, then its bytes in chunks.
  struct Sent {
    std::string message;
    int64_t size;
    std::vector<MPI_Request> requests;
  };
  // The message that is arriving from a process, and when its last part did.
  struct Incoming {
    Clock::time_point last_part;
    bool has_size = false;
    std::string message;
    size_t received = 0;
  };

  void Run() {
    if (!Open()) return;
    Clock::time_point last_event = Clock::now();
    bool is_closing = false, is_closed = false, limits_silence = false;
    MPI_Request barrier = MPI_REQUEST_NULL;
    while (!is_closed) {
      std::deque<Outgoing> outbox;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        // The thread polls more rarely after a time without events.
        const auto quiet = Clock::now() - last_event;
        const auto pause = quiet < 200us ? 0us : quiet < 20ms ? 50us : quiet < 1s ? 500us : 2000us;
        if (pause > 0us)
          changed_.wait_for(lock, pause, [&] { return !outbox_.empty() || (is_closing_ && !is_closing); });
        outbox = std::exchange(outbox_, {});
        is_closing = is_closing_;
        can_receive_ = receive_ != nullptr;
        limits_silence = limits_silence_;
      }
      bool has_event = !outbox.empty();
      for (Outgoing& outgoing : outbox) Post(std::move(outgoing));
      has_event |= FinishSends();
      if (can_receive_) has_event |= ReceivePart();
      if (has_event)
        last_event = Clock::now();
      else if (Clock::now() - last_event < 200us)
        std::this_thread::yield();
      const bool is_in_barrier = barrier != MPI_REQUEST_NULL;
      if (limits_silence || is_in_barrier) CheckSilence(is_in_barrier);
      // A process receives until the sends of all processes are complete; otherwise another process could
      // wait forever.
      if (is_in_barrier) {
        int is_done = 0;
        MPI_Test(&barrier, &is_done, MPI_STATUS_IGNORE);
        is_closed = is_done != 0;
      } else if (is_closing && outbox.empty() && sent_.empty()) {
        MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
        for (Incoming& incoming : incoming_) incoming.last_part = Clock::now();
      }
    }
    MPI_Finalize();
  }

  bool Open() {
    int provided = 0;
    const int outcome = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (outcome != MPI_SUCCESS) {
      error_ = "MPI_Init_thread failed with code " + std::to_string(outcome);
    } else if (provided < MPI_THREAD_FUNNELED) {
      MPI_Finalize();
      error_ = "this MPI library does not allow threads";
    } else {
      MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
      MPI_Comm_size(MPI_COMM_WORLD, &size_);
      incoming_.resize(size_);
      is_open_ = true;
    }
    changed_.notify_all();
    return is_open_;
  }

  // Process 0 exchanges heartbeats with each of the others, until all are in the barrier.
  void CheckSilence(bool is_in_barrier) {
    const Clock::time_point now = Clock::now();
    // This process was stopped itself: it has not heard of the others for that time.
    const bool was_stopped = now - last_check_ > max_silence_ / 2;
    last_check_ = now;
    const bool is_due = !is_in_barrier && now - last_heartbeat_ > max_silence_ / 10;
    if (is_due) last_heartbeat_ = now;
    for (int other = rank_ == 0 ? 1 : 0; other < (rank_ == 0 ? size_ : 1); ++other) {
      Clock::time_point& last_part = incoming_[other].last_part;
      if (was_stopped) last_part = now;
      if (now - last_part > max_silence_)
        End(is_in_barrier ? "another process" : "process " + std::to_string(other));
      if (is_due) Post({other, ""}, kHeartbeat);
    }
  }

  [[noreturn]] void End(const std::string& who) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(max_silence_).count();
    const std::string message = "hlo-run: error: " + who + " has not answered process " +
                                std::to_string(rank_) + " for " + std::to_string(seconds) +
                                " seconds, so all processes end\n";
    std::fputs(message.c_str(), stderr);
    MPI_Abort(MPI_COMM_WORLD, kLimitReached);
    std::_Exit(kLimitReached);
  }

  void Post(Outgoing outgoing, std::optional<int64_t> size = std::nullopt) {
    sent_.push_back({std::move(outgoing.message), 0, {}});
    Sent& sent = sent_.back();
    sent.size = size.value_or(static_cast<int64_t>(sent.message.size()));
    const auto post = [&](const void* data, int64_t bytes) {
      sent.requests.emplace_back();
      MPI_Isend(const_cast<void*>(data), static_cast<int>(bytes), MPI_BYTE, outgoing.rank, kTag,
                MPI_COMM_WORLD, &sent.requests.back());
    };
    post(&sent.size, sizeof sent.size);
    for (int64_t at = 0; at < sent.size; at += chunk_)
      post(sent.message.data() + at, std::min(chunk_, sent.size - at));
  }

  bool FinishSends() {
    bool is_any = false;
    std::erase_if(sent_, [&](Sent& sent) {
      int is_done = 0;
      MPI_Testall(static_cast<int>(sent.requests.size()), sent.requests.data(), &is_done,
                  MPI_STATUSES_IGNORE);
      is_any |= is_done != 0;
      return is_done != 0;
    });
    return is_any;
  }

  // Receives the next part of a message, if one has come. MPI keeps the order between two processes.
  bool ReceivePart() {
    int has_come = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &has_come, &status);
    if (has_come == 0) return false;
    Incoming& incoming = incoming_[status.MPI_SOURCE];
    incoming.last_part = Clock::now();
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (!incoming.has_size) {
      int64_t size = 0;
      MPI_Recv(&size, sizeof size, MPI_BYTE, status.MPI_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (size == kHeartbeat) {
        LimitSilence();
        return true;
      }
      incoming.has_size = true;
      incoming.message.resize(static_cast<size_t>(size));
    } else {
      MPI_Recv(incoming.message.data() + incoming.received, bytes, MPI_BYTE, status.MPI_SOURCE, kTag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      incoming.received += static_cast<size_t>(bytes);
    }
    if (incoming.received == incoming.message.size()) {
      std::string message = std::move(incoming.message);
      incoming = {.last_part = Clock::now()};
      receive_(status.MPI_SOURCE, std::move(message));
    }
    return true;
  }

  const int64_t chunk_;
  const Clock::duration max_silence_;
  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false, is_closing_ = false, can_receive_ = false, limits_silence_ = false;
  std::string error_;
  std::deque<Outgoing> outbox_;
  Receive receive_;
  // Used by the thread alone.
  std::list<Sent> sent_;  // MPI reads from the elements.
  std::vector<Incoming> incoming_;
  Clock::time_point last_check_, last_heartbeat_;
  std::thread thread_;
};

}  // namespace

}  // namespace hlo::mpi

extern "C" __attribute__((visibility("default"))) hlo::spmd::Transport* hlo_run_connect_mpi(
    std::string* error) {
  auto transport = std::make_unique<hlo::mpi::MpiTransport>();
  if (transport->error().empty()) return transport.release();
  *error = transport->error();
  return nullptr;
}
