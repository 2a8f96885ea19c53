#pragma once
// Runs the command in a temporary folder.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace hlo::cli_test {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

inline std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Cli : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "hlo-run-cli-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Writes a file in the test's folder.
  std::string Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return (folder_ / name).string();
  }
  std::string Path(const std::string& name) { return (folder_ / name).string(); }

  // Runs `hlo-run ARGUMENTS` in a shell.
  Outcome Run(const std::string& arguments) { return RunTo(Path("stdout"), arguments); }
  Outcome RunTo(const std::string& output, const std::string& arguments) {
    return RunShell(std::string(HLO_RUN_BINARY) + " " + arguments + " >" + output);
  }
  // Runs it in another working directory.
  Outcome RunIn(const fs::path& directory, const std::string& arguments) {
    return RunShell("cd " + directory.string() + " && " + HLO_RUN_BINARY + " " + arguments + " >" +
                    Path("stdout"));
  }
  Outcome RunShell(const std::string& words) {
    const std::string command = words + " 2>" + Path("stderr");
    const int raw = std::system(command.c_str());
    return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128, ReadFile(Path("stdout")), ReadFile(Path("stderr"))};
  }

  fs::path folder_;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "in: " << (text)

inline constexpr char kAdd[] = R"(HloModule m
ENTRY e {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  ROOT r = f32[2] add(a, b)
}
)";

}  // namespace hlo::cli_test
