#include "reference/ffi_api.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "base/arithmetic.h"

namespace hlo::ffi {

struct Error {
  std::string message;
  int32_t code;
};
struct Future {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_set = false;
  Error* error = nullptr;
};

namespace {

Error* MakeError(absl::StatusCode code, std::string message) {
  return new Error{std::move(message), static_cast<int32_t>(code)};
}
Error* Unsupported(std::string what) {
  return MakeError(absl::StatusCode::kUnimplemented, std::move(what) + " is not supported on this host");
}

Error* CreateError(ErrorCreate* args) {
  return new Error{args->message == nullptr ? "" : args->message, args->code};
}
void GetErrorDetails(ErrorDetails* args) {
  args->message = args->error->message.c_str();
  args->code = args->error->code;
}
void DestroyError(ErrorDestroy* args) { delete args->error; }

Error* RegisterHandler(void*) { return Unsupported("the registration of handlers"); }
Error* GetStream(StreamGet*) { return Unsupported("a stream of a device"); }
Error* RegisterType(TypeRegister* args) {
  static std::atomic<int64_t> last{0};
  if (*args->type == 0) *args->type = ++last;
  return nullptr;
}
Error* GetFromContext(ContextGet*) {
  return MakeError(absl::StatusCode::kNotFound, "there is no user data in the context of the call");
}
Error* SetState(StateAccess*) { return Unsupported("the state of a handler"); }
Error* GetState(StateAccess*) { return Unsupported("the state of a handler"); }

Error* Allocate(MemoryAllocate* args) {
  const size_t alignment =
      args->alignment < alignof(std::max_align_t) ? alignof(std::max_align_t) : args->alignment;
  if (args->size > PTRDIFF_MAX - alignment || (alignment & (alignment - 1)) != 0)
    return MakeError(absl::StatusCode::kInvalidArgument, "no such block of memory");
  args->data = std::aligned_alloc(alignment, RoundUp(args->size, alignment));
  return args->data == nullptr ? MakeError(absl::StatusCode::kResourceExhausted, "there is no memory")
                               : nullptr;
}
Error* Free(MemoryFree* args) {
  std::free(args->data);
  return nullptr;
}

// Runs the task immediately, because the pool has no threads.
Error* Schedule(ThreadPoolSchedule* args) {
  args->task(args->data);
  return nullptr;
}
Error* GetThreadCount(ThreadPoolSize* args) {
  *args->threads = 1;
  return nullptr;
}

Error* CreateFuture(FutureCreate* args) {
  args->future = new Future;
  return nullptr;
}
void Set(Future* future, Error* error) {
  const std::lock_guard<std::mutex> lock(future->mutex);
  future->error = error;
  future->is_set = true;
  future->changed.notify_all();
}
Error* SetAvailable(FutureCreate* args) {
  Set(args->future, nullptr);
  return nullptr;
}
Error* SetFutureError(FutureSetError* args) {
  Set(args->future, args->error);
  return nullptr;
}

Error* GetRunId(RunIdGet* args) {
  args->run_id = 0;
  return nullptr;
}
Error* GetDeviceOrdinal(DeviceOrdinalGet* args) {
  args->ordinal = 0;
  return nullptr;
}
Error* FindExtension(ExtensionFind* args) {
  args->extension = nullptr;
  return nullptr;
}
Error* GetCustomOptions(CustomOptionsGet* args) {
  static const Attributes none{sizeof(Attributes), nullptr, 0, nullptr, nullptr, nullptr};
  args->attributes = &none;
  return nullptr;
}

}  // namespace

const Api& HostApi() {
  static const Api api{
      .struct_size = sizeof(Api),
      .extensions = nullptr,
      .version = {sizeof(Version), nullptr, kMajor, kMinor},
      .internal = nullptr,
      .error_create = &CreateError,
      .error_details = &GetErrorDetails,
      .error_destroy = &DestroyError,
      .handler_register = &RegisterHandler,
      .stream_get = &GetStream,
      .type_register = &RegisterType,
      .context_get = &GetFromContext,
      .state_set = &SetState,
      .state_get = &GetState,
      .memory_allocate = &Allocate,
      .memory_free = &Free,
      .thread_pool_schedule = &Schedule,
      .thread_pool_size = &GetThreadCount,
      .future_create = &CreateFuture,
      .future_set_available = &SetAvailable,
      .future_set_error = &SetFutureError,
      .run_id_get = &GetRunId,
      .device_ordinal_get = &GetDeviceOrdinal,
      .extension_find = &FindExtension,
      .custom_options_get = &GetCustomOptions,
  };
  return api;
}

absl::Status TakeError(Error* error) {
  if (error == nullptr) return absl::OkStatus();
  const std::unique_ptr<Error> owned(error);
  const bool is_known =
      owned->code > 0 && owned->code <= static_cast<int32_t>(absl::StatusCode::kUnauthenticated);
  return absl::Status(is_known ? static_cast<absl::StatusCode>(owned->code) : absl::StatusCode::kUnknown,
                      owned->message);
}

absl::Status Await(Future* future) {
  Error* error = nullptr;
  {
    std::unique_lock<std::mutex> lock(future->mutex);
    future->changed.wait(lock, [&] { return future->is_set; });
    error = future->error;
  }
  delete future;
  return TakeError(error);
}

}  // namespace hlo::ffi
