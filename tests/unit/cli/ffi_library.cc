// Typed FFI handlers written against the binary interface only, like users' libraries.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <thread>

// The parts of XLA's FFI that these handlers use.
extern "C" {
struct XlaExtension {
  size_t struct_size;
  int type;
  XlaExtension* next;
};
struct XlaVersion {
  size_t struct_size;
  XlaExtension* extension_start;
  int major, minor;
};
struct XlaMetadata {
  size_t struct_size;
  XlaVersion api_version;
  uint32_t traits;
};
struct XlaMetadataExtension {
  XlaExtension base;
  XlaMetadata* metadata;
};
struct XlaBuffer {
  size_t struct_size;
  XlaExtension* extension_start;
  int dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};
struct XlaList {
  size_t struct_size;
  XlaExtension* extension_start;
  int64_t size;
  int* types;
  void** values;
};
struct XlaText {
  const char* ptr;
  size_t len;
};
struct XlaScalar {
  int dtype;
  void* value;
};
struct XlaArray {
  int dtype;
  size_t size;
  void* data;
};
struct XlaAttributes {
  size_t struct_size;
  XlaExtension* extension_start;
  int64_t size;
  int* types;
  XlaText** names;
  void** values;
};
struct XlaErrorCreate {
  size_t struct_size;
  XlaExtension* extension_start;
  const char* message;
  int code;
};
struct XlaAllocate {
  size_t struct_size;
  XlaExtension* extension_start;
  void* context;
  size_t size, alignment;
  void* data;
};
struct XlaFuture {
  size_t struct_size;
  XlaExtension* extension_start;
  void* future;
  void* error;
};
struct XlaApi {
  size_t struct_size;
  XlaExtension* extension_start;
  XlaVersion version;
  const void* internal;
  void* (*error_create)(XlaErrorCreate*);
  void* unused1[8];
  void* (*allocate)(XlaAllocate*);
  void* (*free)(XlaAllocate*);
  void* unused2[2];
  void* (*future_create)(XlaFuture*);
  void* (*future_set_available)(XlaFuture*);
  void* (*future_set_error)(XlaFuture*);
};
struct XlaFrame {
  size_t struct_size;
  XlaExtension* extension_start;
  const XlaApi* api;
  void* context;
  int stage;
  XlaList args, rets;
  XlaAttributes attrs;
  void* future;
};
}

namespace {

bool IsMetadataCall(XlaFrame* frame, int major, int minor) {
  if (frame->extension_start == nullptr || frame->extension_start->type != 1) return false;
  XlaVersion& version =
      reinterpret_cast<XlaMetadataExtension*>(frame->extension_start)->metadata->api_version;
  version.major = major;
  version.minor = minor;
  return true;
}

void* Error(const XlaFrame* frame, const char* message, int code) {
  XlaErrorCreate args{sizeof args, nullptr, message, code};
  return frame->api->error_create(&args);
}

XlaBuffer* Argument(XlaFrame* frame, int i) { return static_cast<XlaBuffer*>(frame->args.values[i]); }
XlaBuffer* Result(XlaFrame* frame, int i) { return static_cast<XlaBuffer*>(frame->rets.values[i]); }

}  // namespace

// (f32[r,c] x, s32[] n) -> (factor * x + offsets[column], {n + shift, length of name})
extern "C" void* ffi_scale(XlaFrame* frame) {
  // Handlers compiled with XLA's header require this size, which excludes `future`.
  if (frame->struct_size != offsetof(XlaFrame, future)) return Error(frame, "the frame has another size", 13);
  if (IsMetadataCall(frame, 0, 1)) return nullptr;
  const XlaAttributes& attrs = frame->attrs;
  if (attrs.size != 5) return Error(frame, "ffi_scale takes 5 attributes, and there are 1", 3);
  // Sorted by name: factor, more, name, offsets, shift.
  constexpr std::string_view kNames[] = {"factor", "more", "name", "offsets", "shift"};
  constexpr int kTypes[] = {3, 2, 4, 1, 3};
  for (int i = 0; i < 5; ++i) {
    if (std::string_view(attrs.names[i]->ptr, attrs.names[i]->len) != kNames[i] ||
        attrs.types[i] != kTypes[i])
      return Error(frame, "attributes are not sorted", 13);
  }
  float factor = 0;
  int64_t shift = 0;
  const auto* factor_scalar = static_cast<XlaScalar*>(attrs.values[0]);
  const auto* shift_scalar = static_cast<XlaScalar*>(attrs.values[4]);
  const auto* offsets = static_cast<XlaArray*>(attrs.values[3]);
  const auto* on = static_cast<XlaScalar*>(static_cast<XlaAttributes*>(attrs.values[1])->values[0]);
  if (factor_scalar->dtype != 11 || shift_scalar->dtype != 5 || offsets->dtype != 4 || on->dtype != 1)
    return Error(frame, "attributes have other types", 13);
  if (!*static_cast<bool*>(on->value)) return Error(frame, "ffi_scale is off", 9);
  std::memcpy(&factor, factor_scalar->value, sizeof factor);
  std::memcpy(&shift, shift_scalar->value, sizeof shift);
  const XlaBuffer* x = Argument(frame, 0);
  if (frame->args.size != 2 || frame->rets.size != 2 || x->rank != 2 || x->dtype != 11 || frame->stage != 3 ||
      Argument(frame, 1)->rank != 0 || offsets->size != static_cast<size_t>(x->dims[1]))
    return Error(frame, "buffers are other ones", 13);
  for (int64_t i = 0; i < x->dims[0] * x->dims[1]; ++i) {
    static_cast<float*>(Result(frame, 0)->data)[i] =
        factor * static_cast<float*>(x->data)[i] +
        static_cast<float>(static_cast<int32_t*>(offsets->data)[i % x->dims[1]]);
  }
  auto* counts = static_cast<int64_t*>(Result(frame, 1)->data);
  counts[0] = *static_cast<int32_t*>(Argument(frame, 1)->data) + shift;
  counts[1] = static_cast<int64_t>(static_cast<XlaText*>(attrs.values[2])->len);
  return nullptr;
}

// Reverses a vector on another thread; fails with RESOURCE_EXHAUSTED if the first element is negative.
extern "C" void* ffi_later(XlaFrame* frame) {
  if (IsMetadataCall(frame, 0, 5)) return nullptr;
  XlaFuture create{sizeof create, nullptr, nullptr, nullptr};
  frame->api->future_create(&create);
  frame->future = create.future;
  const XlaApi* api = frame->api;
  std::thread([api, future = create.future, x = *Argument(frame, 0), y = *Result(frame, 0)] {
    XlaFuture set{sizeof set, nullptr, future, nullptr};
    if (static_cast<float*>(x.data)[0] < 0) {
      XlaErrorCreate error{sizeof error, nullptr, "ffi_later refuses negative numbers", 8};
      set.error = api->error_create(&error);
      api->future_set_error(&set);
      return;
    }
    const size_t bytes = sizeof(float) * static_cast<size_t>(x.dims[0]);
    XlaAllocate block{sizeof block, nullptr, nullptr, bytes, 64, nullptr};
    api->allocate(&block);
    std::memcpy(block.data, x.data, bytes);
    for (int64_t i = 0; i < x.dims[0]; ++i)
      static_cast<float*>(y.data)[i] = static_cast<float*>(block.data)[x.dims[0] - 1 - i];
    XlaAllocate free{sizeof free, nullptr, nullptr, bytes, 0, nullptr};
    std::memcpy(&free.alignment, &block.data,
                sizeof free.alignment);  // The field after `size` in XLA's Free.
    api->free(&free);
    api->future_set_available(&set);
  }).detach();
  return nullptr;
}

// Compiled against a future version of the interface.
extern "C" void* ffi_future(XlaFrame* frame) {
  IsMetadataCall(frame, 7, 1);
  return nullptr;
}
