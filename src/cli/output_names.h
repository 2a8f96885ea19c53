#pragma once
// Names output files in a directory after the inputs from which they are computed.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hlo::cli {

class OutputNames {
 public:
  // `arguments` are the files and directories on the command line.
  OutputNames(std::string directory, const std::vector<std::string>& arguments);

  // Returns DIR/path/name.npz for base/path/name.hlo, where base is the common parent folder of all
  // arguments. If an earlier file has the name, the extension is kept: DIR/path/name.pb.npz. Creates the
  // folders.
  absl::StatusOr<std::string> For(const std::string& file, const std::string& ending);

 private:
  std::filesystem::path directory_, base_;
  std::set<std::string> taken_;
};

// True if the path ends in a slash or is an existing directory.
bool IsOutputDirectory(const std::string& path);

}  // namespace hlo::cli
