// Reads literals that XLA writes after a HloUnoptimizedSnapshot.

#include <cstring>

#include "base/arithmetic.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "io/proto_text.h"
#include "types/packing.h"

namespace hlo::io {
namespace {

// Consumes bytes from the front.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}
  size_t left() const { return left_.size(); }
  absl::StatusOr<std::string_view> Take(uint64_t count) {
    if (count > left_.size()) {
      return absl::InvalidArgumentError(fmt::format("an argument ends too early, after {} of {}",
                                                    left_.size(),
                                                    Counted(static_cast<int64_t>(count), "byte")));
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

 private:
  std::string_view left_;
};

absl::StatusOr<Literal> TakeArray(const Shape& shape, ByteReader& bytes) {
  const std::optional<int64_t> count = shape.ElementCount();
  const int64_t bits = shape.type() == ElementType::kPred ? 1 : BitWidth(shape.type());
  const int64_t per_byte = bits < 8 ? 8 / bits : 1;
  // Checks the size before it allocates.
  if (!count || *count / per_byte > static_cast<int64_t>(bytes.left()))
    return absl::InvalidArgumentError(fmt::format("an argument of {} ends too early", ToString(shape)));
  HLO_ASSIGN_OR_RETURN(Literal array, Literal::Create(shape));
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!shape.IsDynamic(d)) continue;
    HLO_ASSIGN_OR_RETURN(const std::string_view taken, bytes.Take(sizeof(int32_t)));
    int32_t size;
    std::memcpy(&size, taken.data(), sizeof size);
    if (size < 0 || size > shape.dim(d))
      return absl::InvalidArgumentError(
          fmt::format("an argument of {} has the size {}", ToString(shape), size));
    array.set_dynamic_size(d, size);
  }
  if (bits >= 8) {
    HLO_ASSIGN_OR_RETURN(const std::string_view taken, bytes.Take(static_cast<uint64_t>(array.byte_count())));
    std::memcpy(array.mutable_data(), taken.data(), taken.size());
    return InRowMajorOrder(array);
  }
  HLO_ASSIGN_OR_RETURN(const std::string_view taken,
                       bytes.Take(static_cast<uint64_t>(CeilDiv(*count, per_byte))));
  for (int64_t i = 0; i < *count; ++i) {
    const auto shift = static_cast<int>(i % per_byte * bits);
    const auto element =
        static_cast<std::byte>(static_cast<uint8_t>(taken[i / per_byte]) >> shift & ((1 << bits) - 1));
    if (shape.type() == ElementType::kPred)
      array.mutable_data()[i] = element;
    else
      Unpack(shape.type(), &element, 1, array.mutable_data() + i);
  }
  return InRowMajorOrder(array);
}

absl::StatusOr<Literal> TakeValue(const Shape& shape, ByteReader& bytes) {
  if (shape.IsArray()) return TakeArray(shape, bytes);
  if (!shape.IsTuple()) return Literal::Create(shape);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    HLO_ASSIGN_OR_RETURN(Literal value, TakeValue(element, bytes));
    elements.push_back(std::move(value));
  }
  return Literal::Tuple(std::move(elements));
}

}  // namespace

absl::StatusOr<Literal> LiteralOfBytes(std::string_view text) {
  ByteReader bytes(text);
  uint64_t shape_size;
  HLO_ASSIGN_OR_RETURN(const std::string_view length, bytes.Take(sizeof shape_size));
  std::memcpy(&shape_size, length.data(), sizeof shape_size);
  HLO_ASSIGN_OR_RETURN(const std::string_view shape_bytes, bytes.Take(shape_size));
  proto::ShapeProto message;
  if (!message.ParseFromArray(shape_bytes.data(), static_cast<int>(shape_bytes.size())))
    return absl::InvalidArgumentError("the shape of an argument cannot be read");
  HLO_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(message));
  HLO_ASSIGN_OR_RETURN(Literal value, TakeValue(shape, bytes));
  if (bytes.left() > 0) {
    return absl::InvalidArgumentError(
        fmt::format("an argument of {} has {} too many", ToString(shape), Counted(bytes.left(), "byte")));
  }
  return value;
}

}  // namespace hlo::io
