// Fuzzes the message and protobuf text parsers with arbitrary bytes: both must return a module or an error
// with a message.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "hlo_run/check.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"

namespace {

void Read(const char* name, std::string bytes) {
  const absl::StatusOr<hlo::ModuleFile> file =
      hlo::ParseModuleFile(std::make_shared<const hlo::SourceText>(name, std::move(bytes)));
  if (!file.ok()) {
    if (file.status().message().empty()) std::abort();
    return;
  }
  hlo::Diagnostics diagnostics;
  std::shared_ptr<hlo::Module> module = hlo::Parse(
      file->text, diagnostics, {.infer_shape = hlo::InferMissingShape, .max_literal_bytes = 1 << 20});
  if (module == nullptr && diagnostics.ok()) std::abort();
  if (module == nullptr) return;
  (void)hlo::Check(module, diagnostics);
  (void)hlo::Print(*module);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Read("fuzz.pb", bytes);
  Read("fuzz.pbtxt", bytes);
  return 0;
}
