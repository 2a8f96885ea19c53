#pragma once
// Shapes and modules from text, and temporary files.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/status.h"
#include "gtest/gtest.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"

namespace hlo {

inline std::string Data(const std::string& name) { return "tests/unit/io/data/" + name; }

inline Shape ShapeOf(const std::string& text) {
  Diagnostics diagnostics;
  const Shape shape = ParseShape(SourceText("shape", text), diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << text;
  return shape;
}

inline Literal LiteralOf(const std::string& shape, const std::string& text) {
  absl::StatusOr<Literal> literal = ParseLiteral(SourceText("literal", text), ShapeOf(shape));
  EXPECT_TRUE(literal.ok()) << literal.status();
  return literal.ok() ? *literal : Literal();
}

inline std::shared_ptr<Module> ModuleOf(const std::string& text) {
  Diagnostics diagnostics;
  auto source = std::make_shared<SourceText>("m.hlo", text);
  std::shared_ptr<Module> module = Parse(source, diagnostics);
  EXPECT_TRUE(module != nullptr) << Render(diagnostics, *source);
  return module;
}

inline std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A folder that is deleted with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "io_test.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }
  int64_t FileCount() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::string path_;
};

// Returns the error's message, or "no error".
template <class T>
std::string ErrorOf(const absl::StatusOr<T>& result) {
  return result.ok() ? "no error" : std::string(Message(result.status()));
}

}  // namespace hlo
