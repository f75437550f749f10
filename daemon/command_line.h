#pragma once
// What outlierd was asked to do.

#include <string>
#include <tl/expected.hpp>

namespace outlierd {

struct CommandLine {
  std::string config_file = "/etc/outlierd/outlierd.yaml";
  bool demo = false;       // the embedded configuration instead of a file
  std::string store_path;  // with demo: where to keep things
  enum class Action { kRun, kCheck, kDumpConfig, kVersion, kHelp } action = Action::kRun;
};

tl::expected<CommandLine, std::string> parse_command_line(int argc, const char* const* argv);
std::string usage();

}  // namespace outlierd
