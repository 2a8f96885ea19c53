#pragma once
// The processes of a run and the messages between them.

#include <functional>
#include <string>

namespace hlo::spmd {

// Connects the processes that a launcher has started; they are numbered from 0. All members are thread-safe.
class Transport {
 public:
  // Closes the connection after all messages are sent; waits until all processes do, at most half a minute.
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sends bytes to another process and does not wait for them to arrive. Messages between two processes
  // arrive in order, whatever their size.
  virtual void Send(int rank, std::string message) = 0;

  // Calls `receive` on a thread of the transport for every message, one at a time, from now on.
  using Receive = std::function<void(int rank, std::string message)>;
  virtual void Start(Receive receive) = 0;

  // From now on, if another process does not answer for half a minute, because it is stopped or its host is
  // lost, all processes end with exit status 4 and a message that names it. Process 0 calls
  // this.
  virtual void LimitSilence() = 0;
};

}  // namespace hlo::spmd
