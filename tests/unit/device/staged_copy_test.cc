// Copies through pieces, with a GPU that transfers bytes only when somebody waits for them.

#include "device/staged_copy.h"

#include <array>
#include <cstring>
#include <mutex>
#include <random>
#include <vector>

#include "base/parallel.h"
#include "gtest/gtest.h"

namespace hlo::device::staged_copy_test {
namespace {

class LateTransfer : public PieceTransfer {
 public:
  LateTransfer(std::vector<std::byte>& device, bool to_host) : device_(device), to_host_(to_host) {
    for (std::vector<std::byte>& memory : memory_) memory.resize(kPieceBytes, std::byte{0xff});
  }
  std::byte* memory(int slot) override { return memory_[slot].data(); }
  absl::Status Start(int slot, int64_t offset, int64_t byte_count) override {
    const std::lock_guard lock(mutex_);
    if (starts_++ == fail_at) return absl::InternalError("no transfer");
    EXPECT_EQ(pending_[slot].byte_count, 0) << "slot " << slot << " is on its way";
    EXPECT_GT(byte_count, 0);
    EXPECT_LE(byte_count, kPieceBytes);
    pending_[slot] = {offset, byte_count};
    // Nobody sees the bytes of a piece before it has arrived.
    if (to_host_) std::memset(memory(slot), 0xff, kPieceBytes);
    return absl::OkStatus();
  }
  absl::Status Wait(int slot) override {
    const std::lock_guard lock(mutex_);
    const Piece piece = std::exchange(pending_[slot], {});
    std::byte* device = device_.data() + piece.offset;
    std::memcpy(to_host_ ? memory(slot) : device, to_host_ ? device : memory(slot),
                static_cast<size_t>(piece.byte_count));
    return absl::OkStatus();
  }

  int fail_at = -1;

 private:
  struct Piece {
    int64_t offset = 0, byte_count = 0;
  };
  std::mutex mutex_;
  std::vector<std::byte>& device_;
  bool to_host_;
  int starts_ = 0;
  std::array<std::vector<std::byte>, kSlots> memory_;
  std::array<Piece, kSlots> pending_;
};

std::vector<std::byte> RandomBytes(int64_t count) {
  std::mt19937 random(static_cast<uint32_t>(count));
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class StagedCopy : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { SetThreadCount(GetParam()); }
  void TearDown() override { SetThreadCount(0); }
};

constexpr int64_t kPiece = PieceTransfer::kPieceBytes;
const int64_t kSizes[] = {0,          1,          kPiece - 1,      kPiece,          kPiece + 1,
                          4 * kPiece, 5 * kPiece, 8 * kPiece + 17, 23 * kPiece + 5, 24 * kPiece};

TEST_P(StagedCopy, CopiesAllBytesFromTheGpu) {
  for (const int64_t size : kSizes) {
    std::vector<std::byte> device = RandomBytes(size), host(device.size());
    LateTransfer transfer(device, true);
    ASSERT_TRUE(CopyFromGpu(host.data(), size, transfer).ok());
    EXPECT_EQ(host, device) << size;
  }
}

TEST_P(StagedCopy, CopiesAllBytesToTheGpu) {
  for (const int64_t size : kSizes) {
    std::vector<std::byte> host = RandomBytes(size), device(host.size());
    const std::vector<std::byte> want = host;
    LateTransfer transfer(device, false);
    ASSERT_TRUE(CopyToGpu(host.data(), size, transfer).ok());
    std::fill(host.begin(), host.end(), std::byte{0});  // The caller may change the source.
    for (int slot = 0; slot < PieceTransfer::kSlots; ++slot) ASSERT_TRUE(transfer.Wait(slot).ok());
    EXPECT_EQ(device, want) << size;
  }
}

TEST_P(StagedCopy, ReportsFailures) {
  std::vector<std::byte> device = RandomBytes(9 * kPiece), host(device.size());
  for (const int at : {0, 5}) {
    LateTransfer transfer(device, true);
    transfer.fail_at = at;
    EXPECT_EQ(CopyFromGpu(host.data(), 9 * kPiece, transfer).code(), absl::StatusCode::kInternal);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, StagedCopy, testing::Values(1, 2, 4));

}  // namespace
}  // namespace hlo::device::staged_copy_test
