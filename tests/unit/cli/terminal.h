#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace hlo::cli_test {

// A pseudo-terminal whose output can be read.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    is_open_ = master_ >= 0 && grantpt(master_) == 0 && unlockpt(master_) == 0;
    // Keeps the terminal open, so that its output is not discarded.
    if (is_open_) slave_ = open(name().c_str(), O_RDWR | O_NOCTTY);
    if (!is_open()) return;
    fcntl(master_, F_SETFL, O_NONBLOCK);
    reader_ = std::thread([this] { ReadOn(); });
  }
  ~Terminal() {
    Stop();
    if (slave_ >= 0) close(slave_);
    if (master_ >= 0) close(master_);
  }
  bool is_open() const { return is_open_ && slave_ >= 0; }
  std::string name() const { return ptsname(master_); }
  // Returns the output; may be called once.
  std::string Read() {
    Stop();
    Drain();
    return text_;
  }

 private:
  // Drains the terminal continuously, because its buffer holds only a few thousand bytes.
  void ReadOn() {
    while (!stops_) {
      pollfd event{master_, POLLIN, 0};
      if (poll(&event, 1, 20) > 0) Drain();
    }
  }
  void Drain() {
    char buffer[4096];
    for (ssize_t count = 0; (count = read(master_, buffer, sizeof buffer)) > 0;)
      text_.append(buffer, static_cast<size_t>(count));
  }
  void Stop() {
    stops_ = true;
    if (reader_.joinable()) reader_.join();
  }

  int master_ = -1, slave_ = -1;
  bool is_open_ = false;
  std::string text_;
  std::atomic<bool> stops_ = false;
  std::thread reader_;
};

}  // namespace hlo::cli_test
