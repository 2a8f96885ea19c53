#pragma once
// A host whose values are stored in files: --infeed and --outfeed.

#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "hlo_run/io.h"
#include "hlo_run/run.h"

namespace hlo::cli {

struct HostOptions {
  std::vector<std::string> infeed;
  std::string outfeed;
  bool remove = false;  // --remove-infeed-outfeed.
};
// Adds --infeed, --outfeed and --remove-infeed-outfeed.
void AddHostFlags(CLI::App& app, HostOptions& options);

class FileHost : public Host {
 public:
  explicit FileHost(const HostOptions& options) : options_(options) {}

  bool has_values() const override { return options_.remove || !options_.infeed.empty(); }
  // Returns the next value: that of a literal or file, or those under the keys 0, 1, ... of an archive.
  absl::StatusOr<Literal> Read(const Instruction& reader, const Shape& shape) override;
  absl::Status Write(const Instruction& writer, Literal value) override;
  // Writes the received values to the file of the options, if any.
  absl::Status Finish() const;
  const std::vector<Literal>& given() const { return given_; }
  // Returns a warning if a value or file of --infeed was not read, or nothing was written for --outfeed;
  // otherwise "".
  std::string UnusedText() const;

 private:
  absl::StatusOr<Literal> TakeFromArchive(const Shape& shape);
  void NextSource();

  const HostOptions& options_;
  size_t source_ = 0;                 // The index of the current infeed.
  std::unique_ptr<Archive> archive_;  // The open archive, while it is read.
  int64_t taken_from_archive_ = 0;
  int64_t taken_ = 0;
  std::vector<Literal> given_;
};

}  // namespace hlo::cli
