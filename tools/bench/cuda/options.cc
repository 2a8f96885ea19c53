#include "options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

namespace hlo::bench {

Options::Options(int argc, char** argv, const std::string& about) {
  CLI::App app(about);
  std::string filter;
  app.add_flag("--json", json_, "Print a JSON object for each case");
  app.add_flag("--list", list_, "Print the names of the cases and measure nothing");
  app.add_option("--filter", filter,
                 "Measure only the cases of whose names this regular expression matches a part");
  try {
    app.parse(argc, argv);
    if (!filter.empty()) filter_.emplace(filter);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  } catch (const std::regex_error& error) {
    std::fprintf(stderr, "--filter: %s\n", error.what());
    std::exit(2);
  }
}

bool Options::IsSelected(const std::string& name) const {
  if (filter_.has_value() && !std::regex_search(name, *filter_)) return false;
  if (list_) std::printf("%s\n", name.c_str());
  return !list_;
}

}  // namespace hlo::bench
