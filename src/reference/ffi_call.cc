#include "reference/ffi_call.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/ffi_api.h"
#include "reference/ffi_attributes.h"
#include "reference/native_value.h"

namespace hlo::reference {
namespace {

// The arrays and tokens of values in the form that handlers receive.
class FfiBuffers {
 public:
  absl::Status Add(const Literal& value, const Shape& shape) {
    HLO_ASSIGN_OR_RETURN(NativeValue native, NativeValue::Make(value, shape));
    values_.push_back(std::move(native));
    return absl::OkStatus();
  }

  // Returns a view of this object, which must not change afterwards.
  ffi::Values View() {
    std::vector<NativeValue*> leaves;
    for (NativeValue& value : values_) value.CollectLeaves(&leaves);
    dims_.resize(leaves.size());
    buffers_.reserve(leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      const Shape& shape = leaves[i]->shape();
      constexpr int32_t kToken = 17;
      const bool has_type = shape.IsArray() || shape.IsBuffer();
      if (has_type) dims_[i].assign(shape.dims().begin(), shape.dims().end());
      buffers_.push_back({.struct_size = sizeof(ffi::Buffer),
                          .extensions = nullptr,
                          .type = has_type ? Info(shape.type()).proto_number : kToken,
                          .data = leaves[i]->data(),
                          .rank = static_cast<int64_t>(dims_[i].size()),
                          .dims = dims_[i].data()});
    }
    kinds_.assign(leaves.size(), ffi::kBufferArgument);
    for (ffi::Buffer& buffer : buffers_) pointers_.push_back(&buffer);
    return {.struct_size = sizeof(ffi::Values),
            .extensions = nullptr,
            .size = static_cast<int64_t>(pointers_.size()),
            .kinds = kinds_.data(),
            .values = pointers_.data()};
  }

  const NativeValue& value(size_t i) const { return values_[i]; }

 private:
  std::vector<NativeValue> values_;
  std::vector<std::vector<int64_t>> dims_;
  std::vector<ffi::Buffer> buffers_;
  std::vector<int32_t> kinds_;
  std::vector<void*> pointers_;
};

ffi::CallFrame EmptyFrame() {
  // XLA excludes `future` from the size, and handlers require this size.
  return {.struct_size = offsetof(ffi::CallFrame, future),
          .extensions = nullptr,
          .api = &ffi::HostApi(),
          .context = nullptr,
          .stage = ffi::kExecuteStage,
          .arguments = {sizeof(ffi::Values), nullptr, 0, nullptr, nullptr},
          .results = {sizeof(ffi::Values), nullptr, 0, nullptr, nullptr},
          .attributes = {sizeof(ffi::Attributes), nullptr, 0, nullptr, nullptr, nullptr},
          .future = nullptr};
}

// Checks the API version for which the handler was compiled.
absl::Status CheckVersion(ffi::Handler handler, std::string_view target) {
  ffi::Metadata metadata{
      sizeof(ffi::Metadata), {sizeof(ffi::Version), nullptr, ffi::kMajor, ffi::kMinor}, 0, 0};
  ffi::MetadataExtension extension{{sizeof(ffi::MetadataExtension), ffi::kMetadataExtension, nullptr},
                                   &metadata};
  ffi::CallFrame frame = EmptyFrame();
  frame.extensions = &extension.base;
  HLO_RETURN_IF_ERROR(ffi::TakeError(handler(&frame)));
  if (metadata.version.major == ffi::kMajor) return absl::OkStatus();
  return absl::UnimplementedError(
      fmt::format("the handler '{}' has version {}.{} of XLA's interface, expected {}.x", target,
                  metadata.version.major, metadata.version.minor, ffi::kMajor));
}

}  // namespace

absl::StatusOr<Literal> CallFfi(ffi::Handler handler, const Instruction& call,
                                absl::Span<const Literal> operands) {
  HLO_RETURN_IF_ERROR(CheckVersion(handler, call.Get<attr::custom_call_target>()));
  HLO_ASSIGN_OR_RETURN(const FfiAttributes attributes,
                       FfiAttributes::Parse(call.Get<attr::backend_config>().text));
  FfiBuffers arguments, results;
  for (size_t i = 0; i < operands.size(); ++i)
    HLO_RETURN_IF_ERROR(arguments.Add(operands[i], OperandInMemory(call, i)));
  HLO_ASSIGN_OR_RETURN(const Literal zeros, Literal::CreateZeros(call.shape()));
  HLO_RETURN_IF_ERROR(results.Add(zeros, call.shape()));
  ffi::CallFrame frame = EmptyFrame();
  frame.arguments = arguments.View();
  frame.results = results.View();
  frame.attributes = attributes.view();
  HLO_RETURN_IF_ERROR(ffi::TakeError(handler(&frame)));
  if (frame.future != nullptr) HLO_RETURN_IF_ERROR(ffi::Await(frame.future));
  return results.value(0).Read();
}

}  // namespace hlo::reference
