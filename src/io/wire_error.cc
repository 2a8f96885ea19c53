#include "io/wire_error.h"

#include <cstdint>

namespace hlo::io {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

class Walk {
 public:
  explicit Walk(std::string_view bytes) : bytes_(bytes) {}

  // Parses the fields up to `end`; returns false at the first error, to which `at_` then points.
  bool Message(const Descriptor* type, size_t end, int depth) {
    constexpr int kDeepest = 100;
    while (at_ < end) {
      const size_t begin = at_;
      uint64_t tag;
      if (!Varint(end, &tag)) return Fail(begin);
      const FieldDescriptor* field =
          type == nullptr ? nullptr : type->FindFieldByNumber(static_cast<int>(tag >> 3));
      const size_t path_size = path_.size();
      if (field != nullptr) path_ += (path_.empty() ? "" : ".") + field->name();
      if (tag >> 3 == 0 || !Field(static_cast<int>(tag & 7), field, end, depth < kDeepest ? depth : -1))
        return Fail(begin);
      path_.resize(path_size);
    }
    return true;
  }

  WireError error() const { return {failed_at_, path_}; }

 private:
  bool Fail(size_t at) {
    if (!failed_) failed_at_ = at;
    failed_ = true;
    return false;
  }

  bool Varint(size_t end, uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ >= end) return false;
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      if (shift < 64) *value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return true;
    }
    return false;
  }

  bool Skip(size_t count, size_t end) {
    if (count > end - at_) return false;
    at_ += count;
    return true;
  }

  bool Field(int wire_type, const FieldDescriptor* field, size_t end, int depth) {
    uint64_t size;
    switch (wire_type) {
      case 0:
        return Varint(end, &size);
      case 1:
        return Skip(8, end);
      case 2:
        if (!Varint(end, &size) || size > end - at_) return false;
        if (field == nullptr || field->message_type() == nullptr) return Skip(size, end);
        return depth >= 0 && Message(field->message_type(), at_ + size, depth + 1);
      case 5:
        return Skip(4, end);
      default:
        return false;
    }
  }

  std::string_view bytes_;
  size_t at_ = 0;
  size_t failed_at_ = 0;
  bool failed_ = false;
  std::string path_;
};

}  // namespace

std::optional<WireError> FindWireError(const Descriptor& type, std::string_view bytes) {
  Walk walk(bytes);
  if (walk.Message(&type, bytes.size(), 0)) return std::nullopt;
  return walk.error();
}

}  // namespace hlo::io
