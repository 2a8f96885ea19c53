#pragma once
// The bytes of messages between processes. All processes run the same program on machines of one byte order.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo_run/literal.h"

namespace hlo::spmd {

class MessageWriter {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) MessageWriter& Add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  MessageWriter& Add(std::string_view text);
  MessageWriter& Add(const std::string& text) { return Add(std::string_view(text)); }
  MessageWriter& Add(const char* text) { return Add(std::string_view(text)); }
  MessageWriter& Add(const absl::Status& status);
  MessageWriter& Add(const Shape& shape);
  MessageWriter& Add(const Literal& literal);
  template <class T>
  MessageWriter& Add(const std::vector<T>& values) {
    Add(static_cast<int64_t>(values.size()));
    for (const T& value : values) Add(value);
    return *this;
  }

  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what MessageWriter wrote, in the same order.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) T Read() {
    T value;
    std::memcpy(&value, Bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view ReadText();
  std::string_view Rest() const { return bytes_; }
  absl::Status ReadStatus();
  Shape ReadShape();
  // Returns ResourceExhausted if there is no memory for the elements.
  absl::StatusOr<Literal> ReadLiteral();
  absl::StatusOr<std::vector<Literal>> ReadLiterals();

 private:
  std::string_view Bytes(size_t count);
  std::string_view bytes_;
};

}  // namespace hlo::spmd
