#include "spmd/process_group.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "fmt/format.h"

namespace hlo::spmd {
namespace {

enum class Envelope : uint8_t { kIntroduction, kJob, kEnd, kRun };

}  // namespace

DeviceRange DevicesOf(int rank, int size, int64_t count) {
  const int64_t each = count / size, more = count % size;
  const int64_t first = rank * each + std::min<int64_t>(rank, more);
  return {first, first + each + (rank < more ? 1 : 0)};
}

int RankOf(int64_t device, int size, int64_t count) {
  const int64_t each = count / size, more = count % size;
  if (device < more * (each + 1)) return static_cast<int>(device / (each + 1));
  return static_cast<int>(more + (device - more * (each + 1)) / each);
}

ProcessGroup::ProcessGroup(std::unique_ptr<Transport> transport)
    : programs_(transport->size()), transport_(std::move(transport)) {
  transport_->Start([this](int rank, std::string message) { Deliver(rank, std::move(message)); });
}

ProcessGroup::~ProcessGroup() {
  if (rank() != 0) return;
  for (int other = 1; other < size(); ++other)
    transport_->Send(other, MessageWriter().Add(Envelope::kEnd).Take());
}

absl::Status ProcessGroup::CheckSameProgram(const std::string& version,
                                            const std::vector<std::string>& arguments) {
  const std::string words = absl::StrJoin(arguments, " ");
  if (rank() != 0) {
    transport_->Send(0, MessageWriter().Add(Envelope::kIntroduction).Add(version).Add(words).Take());
    return absl::OkStatus();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  const auto all_are_introduced = [&] {
    return std::all_of(programs_.begin() + 1, programs_.end(),
                       [](const auto& text) { return text.has_value(); });
  };
  changed_.wait(lock, all_are_introduced);
  for (int other = 1; other < size(); ++other) {
    MessageReader reader(*programs_[other]);
    const std::string_view their_version = reader.ReadText(), their_words = reader.ReadText();
    if (their_version != version) {
      return absl::FailedPreconditionError(fmt::format(
          "process {} runs hlo-run {}, but process 0 runs hlo-run {}", other, their_version, version));
    }
    if (their_words != words) {
      return absl::FailedPreconditionError(
          fmt::format("process {} was started with other arguments than process 0: '{}' and '{}'", other,
                      their_words, words));
    }
  }
  return absl::OkStatus();
}

MessageWriter ProcessGroup::StartJob() {
  MessageWriter job;
  job.Add(Envelope::kJob);
  return job;
}

void ProcessGroup::SendJob(int rank, std::string job) { transport_->Send(rank, std::move(job)); }

std::optional<std::string> ProcessGroup::NextJob() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return !jobs_.empty(); });
  std::string job = std::move(jobs_.front());
  jobs_.pop_front();
  if (job.empty()) return std::nullopt;
  return job;
}

MessageWriter ProcessGroup::StartRunMessage(int64_t run) {
  MessageWriter message;
  message.Add(Envelope::kRun).Add(run);
  return message;
}

void ProcessGroup::SendToRun(int rank, std::string message) { transport_->Send(rank, std::move(message)); }

void ProcessGroup::Attach(int64_t run, Receive receive) {
  const std::lock_guard<std::mutex> lock(mutex_);
  run_ = run;
  receive_ = std::move(receive);
  for (const auto& [number, message] : early_) {
    if (number == run_) receive_(message);
  }
  std::erase_if(early_, [&](const auto& message) { return message.first <= run_; });
}

void ProcessGroup::Detach() {
  const std::lock_guard<std::mutex> lock(mutex_);
  receive_ = nullptr;
}

void ProcessGroup::Deliver(int rank, std::string message) {
  MessageReader reader(message);
  const auto envelope = reader.Read<Envelope>();
  const std::lock_guard<std::mutex> lock(mutex_);
  switch (envelope) {
    case Envelope::kIntroduction:
      programs_[rank] = message.substr(sizeof(Envelope));
      break;
    case Envelope::kJob:
      jobs_.push_back(std::move(message.erase(0, sizeof(Envelope))));
      break;
    case Envelope::kEnd:
      jobs_.emplace_back();
      break;
    case Envelope::kRun: {
      const auto run = reader.Read<int64_t>();
      const std::string_view content = reader.Rest();
      if (run == run_ && receive_)
        receive_(content);
      else if (run > run_)
        early_.emplace_back(run, content);
      return;
    }
  }
  changed_.notify_all();
}

}  // namespace hlo::spmd
