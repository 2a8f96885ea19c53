#pragma once
// Files below a directory of outputs, named after the inputs that they are computed from.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo::cli {

class OutputNames {
 public:
  // `arguments` are the files and directories that the command was given.
  OutputNames(std::string directory, const std::vector<std::string>& arguments);

  // DIR/path/name.npz for base/path/name.hlo, where base is the folder that all arguments have in common. A
  // name that an earlier file has taken keeps its ending: DIR/path/name.pb.npz. Creates the folders.
  absl::StatusOr<std::string> For(const std::string& file, const std::string& ending);

 private:
  std::filesystem::path directory_, base_;
  std::set<std::string> taken_;
};

// Whether the path names a directory of outputs: it ends in a slash, or there is such a directory.
bool IsOutputDirectory(const std::string& path);

}  // namespace hlo::cli
