#include "sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "fmt/format.h"

namespace hlo::fuzz {
namespace {

// Child processes are replaced after this many trials, to limit leaked state.
constexpr int64_t kTrialsOfAChild = 400;
constexpr size_t kNoteSize = 256;
char* note = nullptr;

// A message of the child, followed by the texts.
struct Frame {
  uint64_t index = 0;
  uint8_t is_done = 0, judgement = 0, is_gross = 0;
  uint32_t config_size = 0, message_size = 0;
};

void WriteAll(int fd, const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(fd, next, size);
    if (written <= 0) _exit(3);
    next += written;
    size -= static_cast<size_t>(written);
  }
}

class Child {
 public:
  Child(uint64_t first, int64_t count, const std::function<Verdict(uint64_t)>& trial) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    errors_ = memfd_create("stderr", 0);
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      dup2(errors_, 2);
      dup2(errors_, 1);
      Work(ends[1], first, count, trial);
      _exit(0);
    }
    close(ends[1]);
    fd_ = ends[0];
  }
  ~Child() {
    kill(pid_, SIGKILL);
    if (!is_reaped_) waitpid(pid_, nullptr, 0);
    close(fd_);
    close(errors_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns false at the end of the stream, or after `seconds` without data, which also sets `is_late`.
  bool Read(Frame* frame, Verdict* verdict, double seconds, bool* is_late) {
    const double end = SteadySeconds() + seconds;
    if (!ReadAll(frame, sizeof(Frame), end, is_late)) return false;
    verdict->config.resize(frame->config_size);
    verdict->message.resize(frame->message_size);
    verdict->judgement = static_cast<Judgement>(frame->judgement);
    verdict->is_gross = frame->is_gross != 0;
    return ReadAll(verdict->config.data(), frame->config_size, end, is_late) &&
           ReadAll(verdict->message.data(), frame->message_size, end, is_late);
  }

  std::string ExitText() {
    int status = 0;
    waitpid(pid_, &status, 0);
    is_reaped_ = true;
    char text[2000] = {};
    const off_t size = lseek(errors_, 0, SEEK_END);
    lseek(errors_, std::max<off_t>(0, size - 1900), SEEK_SET);
    if (read(errors_, text, sizeof(text) - 1) < 0) text[0] = '\0';
    const std::string how = WIFSIGNALED(status)
                                ? fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                                : fmt::format("exit status {}", WEXITSTATUS(status));
    return fmt::format("the process ended with {}\n{}", how, text);
  }

 private:
  static void Work(int fd, uint64_t first, int64_t count, const std::function<Verdict(uint64_t)>& trial) {
    for (uint64_t i = first; i < first + static_cast<uint64_t>(count); ++i) {
      Frame frame{.index = i};
      WriteAll(fd, &frame, sizeof(frame));
      const Verdict verdict = trial(i);
      frame = {.index = i,
               .is_done = 1,
               .judgement = static_cast<uint8_t>(verdict.judgement),
               .is_gross = verdict.is_gross,
               .config_size = static_cast<uint32_t>(verdict.config.size()),
               .message_size = static_cast<uint32_t>(verdict.message.size())};
      WriteAll(fd, &frame, sizeof(frame));
      WriteAll(fd, verdict.config.data(), verdict.config.size());
      WriteAll(fd, verdict.message.data(), verdict.message.size());
    }
  }

  bool ReadAll(void* data, size_t size, double end, bool* is_late) {
    char* next = static_cast<char*>(data);
    while (size > 0) {
      pollfd ready{.fd = fd_, .events = POLLIN};
      const double left = end - SteadySeconds();
      if (left <= 0 || poll(&ready, 1, static_cast<int>(left * 1000) + 1) == 0) {
        *is_late = true;
        return false;
      }
      const ssize_t got = read(fd_, next, size);
      if (got <= 0) return false;
      next += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  pid_t pid_ = -1;
  int fd_ = -1, errors_ = -1;
  bool is_reaped_ = false;
};

}  // namespace

void RecordConfig(std::string_view name) {
  if (note == nullptr) return;
  const size_t size = std::min(name.size(), kNoteSize - 1);
  std::memcpy(note, name.data(), size);
  note[size] = '\0';
}

int64_t RunTrials(uint64_t first, int64_t count, const SandboxOptions& options,
                  const std::function<Verdict(uint64_t)>& trial,
                  const std::function<void(uint64_t, const Verdict&)>& report) {
  if (note == nullptr) {
    void* shared = mmap(nullptr, kNoteSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) note = static_cast<char*>(shared);
  }
  const double end = SteadySeconds() + options.seconds_for_all;
  int64_t done = 0;
  while (done < count && SteadySeconds() < end) {
    const int64_t of_child = std::min(count - done, kTrialsOfAChild);
    RecordConfig("");
    Child child(first + static_cast<uint64_t>(done), of_child, trial);
    for (int64_t k = 0; k < of_child;) {
      Frame frame;
      Verdict verdict;
      bool is_late = false;
      const uint64_t index = first + static_cast<uint64_t>(done);
      if (child.Read(&frame, &verdict, options.seconds_for_one, &is_late)) {
        if (frame.is_done == 0) continue;
        report(index, verdict);
        ++k;
        ++done;
        if (SteadySeconds() > end) return done;
        continue;
      }
      const std::string how =
          is_late ? fmt::format("no end after {} s", options.seconds_for_one) : child.ExitText();
      report(index, {Judgement::kDiffers, note == nullptr ? "" : note, how, true});
      ++done;
      break;
    }
  }
  return done;
}

Verdict JudgeInSandbox(const std::string& text, uint64_t seed, const std::vector<Config>& configs,
                       double seconds) {
  Verdict result;
  RunTrials(
      0, 1, {.seconds_for_one = seconds}, [&](uint64_t) { return Judge(text, seed, configs); },
      [&](uint64_t, const Verdict& verdict) { result = verdict; });
  return result;
}

}  // namespace hlo::fuzz
