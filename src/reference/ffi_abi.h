#pragma once
// The ABI of XLA's typed FFI, version 0.5 (API_VERSION_TYPED_FFI): call frames of handlers and the functions
// that handlers may call. Every struct starts with its size, so that both sides may have been built for
// different versions.

#include <cstddef>
#include <cstdint>

namespace hlo::ffi {

struct Error;    // Defined in ffi_api.cc.
struct Context;  // The context of one call.
struct Future;
struct Api;
struct Extension {
  size_t struct_size;
  int32_t type;
  Extension* next;
};
inline constexpr int32_t kMetadataExtension = 1;

struct Version {
  size_t struct_size;
  Extension* extensions;
  int32_t major;
  int32_t minor;
};
inline constexpr int32_t kMajor = 0, kMinor = 5;

// Element types have PrimitiveType's numbers.
struct Buffer {
  size_t struct_size;
  Extension* extensions;
  int32_t type;
  void* data;
  int64_t rank;
  int64_t* dims;
};
inline constexpr int32_t kBufferArgument = 1;  // The only kind of argument and result.

struct Values {  // Arguments or results.
  size_t struct_size;
  Extension* extensions;
  int64_t size;
  int32_t* kinds;
  void** values;
};

struct Text {
  const char* data;
  size_t size;
};
struct Scalar {
  int32_t type;
  void* value;
};
struct Array {
  int32_t type;
  size_t size;
  void* data;
};
enum AttributeKind : int32_t { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };
struct Attributes {  // Sorted by name. Values are Array, Attributes, Scalar or Text.
  size_t struct_size;
  Extension* extensions;
  int64_t size;
  int32_t* kinds;
  Text** names;
  void** values;
};

inline constexpr int32_t kExecuteStage = 3;
struct CallFrame {
  size_t struct_size;
  Extension* extensions;
  const Api* api;
  Context* context;
  int32_t stage;
  Values arguments;
  Values results;
  Attributes attributes;
  Future* future;  // Set by a handler that continues after it returns.
};
using Handler = Error* (*)(CallFrame*);

// A handler that is called with this extension only fills in the metadata.
struct Metadata {
  size_t struct_size;
  Version version;
  uint32_t traits;
  int64_t state_type;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

// The arguments of the API functions, one struct each.
struct Header {
  size_t struct_size;
  Extension* extensions;
};
struct ErrorCreate : Header {
  const char* message;
  int32_t code;  // Those of absl::StatusCode.
};
struct ErrorDetails : Header {
  Error* error;
  const char* message;
  int32_t code;
};
struct ErrorDestroy : Header {
  Error* error;
};
struct StreamGet : Header {
  Context* context;
  void* stream;
};
struct TypeRegister : Header {
  Text name;
  int64_t* type;
  const void* info;
};
struct ContextGet : Header {
  Context* context;
  int64_t* type;
  void* data;
};
struct StateAccess : Header {
  Context* context;
  int32_t stage;
  int64_t* type;
  void* state;
};
struct MemoryAllocate : Header {
  Context* context;
  size_t size;
  size_t alignment;
  void* data;
};
struct MemoryFree : Header {
  Context* context;
  size_t size;
  void* data;
};
struct ThreadPoolSchedule : Header {
  Context* context;
  void (*task)(void* data);
  void* data;
};
struct ThreadPoolSize : Header {
  Context* context;
  int64_t* threads;
};
struct FutureCreate : Header {
  Future* future;
};
struct FutureSetError : Header {
  Future* future;
  Error* error;  // Ownership passes to the future.
};
struct RunIdGet : Header {
  Context* context;
  int64_t run_id;
};
struct DeviceOrdinalGet : Header {
  Context* context;
  int32_t ordinal;
};
struct ExtensionFind : Header {
  Context* context;
  int64_t type;
  const void* extension;
};
struct CustomOptionsGet : Header {
  Context* context;
  const Attributes* attributes;
};

struct Api {
  size_t struct_size;
  Extension* extensions;
  Version version;
  const void* internal;
  Error* (*error_create)(ErrorCreate*);
  void (*error_details)(ErrorDetails*);
  void (*error_destroy)(ErrorDestroy*);
  Error* (*handler_register)(void*);
  Error* (*stream_get)(StreamGet*);
  Error* (*type_register)(TypeRegister*);
  Error* (*context_get)(ContextGet*);
  Error* (*state_set)(StateAccess*);
  Error* (*state_get)(StateAccess*);
  Error* (*memory_allocate)(MemoryAllocate*);
  Error* (*memory_free)(MemoryFree*);
  Error* (*thread_pool_schedule)(ThreadPoolSchedule*);
  Error* (*thread_pool_size)(ThreadPoolSize*);
  Error* (*future_create)(FutureCreate*);
  Error* (*future_set_available)(FutureCreate*);
  Error* (*future_set_error)(FutureSetError*);
  Error* (*run_id_get)(RunIdGet*);
  Error* (*device_ordinal_get)(DeviceOrdinalGet*);
  Error* (*extension_find)(ExtensionFind*);
  Error* (*custom_options_get)(CustomOptionsGet*);
};

}  // namespace hlo::ffi
