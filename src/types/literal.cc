#include "hlo_run/literal.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/pages.h"
#include "base/status.h"
#include "fmt/format.h"
#include "types/memory_use.h"

namespace hlo {
namespace {

constexpr int64_t kLargeBlock = 4 << 20;  // Large pages are worthwhile from here on.

std::atomic<int64_t> g_limit{0};
std::atomic<int64_t> g_current{0};
std::atomic<int64_t> g_peak{0};

int64_t MachineMemory() {
  static const int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return bytes;
}

}  // namespace

void SetMemoryLimit(int64_t byte_count) {
  g_limit = byte_count;
  EnablePageCache(byte_count == 0);  // With a limit, freed blocks are not cached.
}
int64_t MemoryLimit() { return g_limit; }
MemoryUse BufferMemoryUse() { return {g_current, g_peak}; }
void ResetPeakMemoryUse() { g_peak = g_current.load(); }

absl::Status ClaimMemory(int64_t byte_count) {
  const int64_t limit = g_limit > 0 ? g_limit.load() : MachineMemory();
  const int64_t used = g_current.fetch_add(byte_count) + byte_count;
  if (used > limit) {
    g_current -= byte_count;
    return absl::ResourceExhaustedError(fmt::format(
        "{} bytes do not fit into memory: {} are in use and the limit is {}{}", byte_count, used - byte_count,
        limit, g_limit > 0 ? "" : " (this machine's memory; see --max-memory)"));
  }
  int64_t peak = g_peak;
  while (used > peak && !g_peak.compare_exchange_weak(peak, used)) {
  }
  return absl::OkStatus();
}
void ReleaseMemory(int64_t byte_count) { g_current -= byte_count; }

absl::StatusOr<std::shared_ptr<Buffer>> Buffer::Allocate(int64_t byte_count) {
  HLO_CHECK(byte_count >= 0);
  HLO_RETURN_IF_ERROR(ClaimMemory(byte_count));
  auto* data = static_cast<std::byte*>(AllocatePages(byte_count, kLargeBlock));
  if (data == nullptr) {
    ReleaseMemory(byte_count);
    return absl::ResourceExhaustedError(fmt::format("no memory for {} bytes", byte_count));
  }
  return std::shared_ptr<Buffer>(new Buffer(data, byte_count));
}

std::shared_ptr<Buffer> Buffer::Wrap(const void* data, int64_t byte_count, std::function<void()> release) {
  auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(data));
  std::shared_ptr<Buffer> buffer(new Buffer(bytes, byte_count));
  buffer->release_ = std::move(release);
  return buffer;
}

Buffer::~Buffer() {
  if (release_ != nullptr) {
    release_();
  } else {
    FreePages(data_, byte_count_, kLargeBlock);
    ReleaseMemory(byte_count_);
  }
}

absl::StatusOr<Literal> Literal::Create(const Shape& shape) {
  Literal literal;
  literal.shape_ = shape;
  if (shape.IsTuple()) {
    literal.elements_.reserve(shape.elements().size());
    for (const Shape& element : shape.elements()) {
      HLO_ASSIGN_OR_RETURN(Literal value, Create(element));
      literal.elements_.push_back(std::move(value));
    }
    return literal;
  }
  if (shape.IsBuffer()) return Create(shape.element(0));
  if (!shape.IsArray()) return literal;
  if (shape.HasUnboundedDim()) {
    return absl::InvalidArgumentError(
        fmt::format("{} has an unbounded size, so it cannot hold a value", ToString(shape)));
  }
  const std::optional<int64_t> bytes = DenseByteCount(shape);
  if (!bytes)
    return absl::ResourceExhaustedError(
        fmt::format("{} has more bytes than can be counted", ToString(shape)));
  literal.element_count_ = *shape.ElementCount();
  absl::StatusOr<std::shared_ptr<Buffer>> buffer = Buffer::Allocate(*bytes);
  if (!buffer.ok()) {
    return absl::ResourceExhaustedError(fmt::format("{}: {}", ToString(shape), Message(buffer.status())));
  }
  literal.buffer_ = *std::move(buffer);
  return literal;
}

absl::StatusOr<Literal> Literal::CreateZeros(const Shape& shape) {
  HLO_ASSIGN_OR_RETURN(Literal literal, Create(shape));
  if (literal.buffer_) std::memset(literal.mutable_data(), 0, literal.buffer_->byte_count());
  for (Literal& element : literal.elements_) {
    HLO_ASSIGN_OR_RETURN(element, CreateZeros(element.shape()));
  }
  return literal;
}

Literal Literal::Tuple(std::vector<Literal> elements) {
  std::vector<Shape> shapes;
  shapes.reserve(elements.size());
  for (const Literal& element : elements) shapes.push_back(element.shape());
  Literal literal;
  literal.shape_ = Shape::Tuple(std::move(shapes));
  literal.elements_ = std::move(elements);
  return literal;
}

Literal Literal::Token() {
  Literal literal;
  literal.shape_ = Shape::Token();
  return literal;
}

Literal Literal::Elided(Shape shape) {
  Literal literal;
  literal.shape_ = std::move(shape);
  return literal;
}

Literal Literal::FromBuffer(Shape shape, std::shared_ptr<Buffer> buffer) {
  const std::optional<int64_t> bytes = DenseByteCount(shape);
  HLO_CHECK(shape.IsArray() && bytes && *bytes == buffer->byte_count());
  Literal literal;
  literal.element_count_ = *shape.ElementCount();
  literal.shape_ = std::move(shape);
  literal.buffer_ = std::move(buffer);
  return literal;
}

bool Literal::IsUnique() const {
  if (buffer_ && buffer_.use_count() > 1) return false;
  return std::all_of(elements_.begin(), elements_.end(), [](const Literal& e) { return e.IsUnique(); });
}

absl::Status Literal::MakeUnique() {
  for (Literal& element : elements_) HLO_RETURN_IF_ERROR(element.MakeUnique());
  if (!buffer_ || buffer_.use_count() == 1) return absl::OkStatus();
  HLO_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> copy, Buffer::Allocate(buffer_->byte_count()));
  std::memcpy(copy->data(), buffer_->data(), buffer_->byte_count());
  buffer_ = std::move(copy);
  return absl::OkStatus();
}

Literal Literal::WithShape(Shape shape) const {
  Literal literal;
  literal.element_count_ = shape.ElementCount().value_or(0);
  HLO_CHECK(!buffer_ || literal.element_count_ * ByteCount(shape.type()) == byte_count());
  literal.shape_ = std::move(shape);
  literal.buffer_ = buffer_;
  literal.elements_ = elements_;
  if (literal.shape_.rank() == rank()) literal.dynamic_sizes_ = dynamic_sizes_;
  return literal;
}

void Literal::set_dynamic_size(int64_t dim, int64_t size) {
  if (dynamic_sizes_.empty()) dynamic_sizes_.assign(shape_.dims().begin(), shape_.dims().end());
  dynamic_sizes_[dim] = size;
}

}  // namespace hlo
