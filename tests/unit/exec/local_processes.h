#pragma once
// Processes of a run that are threads of the test.

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exec/process_jobs.h"
#include "spmd/process_group.h"

namespace hlo {

// The queues of messages to each process.
class LocalNetwork {
 public:
  explicit LocalNetwork(int size) : inboxes_(size), open_(size) {}

  int size() const { return static_cast<int>(inboxes_.size()); }
  void Put(int from, int to, std::string message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    inboxes_[to].emplace_back(from, std::move(message));
    changed_.notify_all();
  }
  // Returns false when all processes have closed their ends and nothing is left for this one.
  bool Take(int rank, std::pair<int, std::string>* message) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !inboxes_[rank].empty() || open_ == 0; });
    if (inboxes_[rank].empty()) return false;
    *message = std::move(inboxes_[rank].front());
    inboxes_[rank].pop_front();
    return true;
  }
  void Close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --open_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<std::pair<int, std::string>>> inboxes_;
  int open_;
};

class LocalTransport : public spmd::Transport {
 public:
  LocalTransport(std::shared_ptr<LocalNetwork> network, int rank)
      : network_(std::move(network)), rank_(rank) {}
  ~LocalTransport() override {
    network_->Close();
    thread_.join();
  }
  int rank() const override { return rank_; }
  int size() const override { return network_->size(); }
  void Send(int rank, std::string message) override { network_->Put(rank_, rank, std::move(message)); }
  void Start(Receive receive) override {
    thread_ = std::thread([this, receive = std::move(receive)] {
      std::pair<int, std::string> message;
      while (network_->Take(rank_, &message)) receive(message.first, std::move(message.second));
    });
  }
  void LimitSilence() override {}  // The threads of one process cannot be stopped alone.

 private:
  std::shared_ptr<LocalNetwork> network_;
  const int rank_;
  std::thread thread_;
};

// Process 0 is the test; the others serve it.
class LocalProcesses {
 public:
  explicit LocalProcesses(int size) {
    auto network = std::make_shared<LocalNetwork>(size);
    main_ = std::make_unique<spmd::ProcessGroup>(std::make_unique<LocalTransport>(network, 0));
    for (int rank = 1; rank < size; ++rank) {
      others_.emplace_back([network, rank] {
        spmd::ProcessGroup processes(std::make_unique<LocalTransport>(network, rank));
        exec::ServeRuns(processes);
      });
    }
  }
  ~LocalProcesses() {
    main_.reset();
    for (std::thread& other : others_) other.join();
  }
  spmd::ProcessGroup* main() { return main_.get(); }

 private:
  std::unique_ptr<spmd::ProcessGroup> main_;
  std::vector<std::thread> others_;
};

}  // namespace hlo
