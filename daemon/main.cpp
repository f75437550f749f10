// outlierd watches traffic matrices and reports what does not belong.
// main() turns words into objects and failures into exit codes; the wiring is in daemon.h.

#include <iostream>

#include "config/dump.h"
#include "config/load.h"
#include "daemon/command_line.h"
#include "daemon/daemon.h"
#include "daemon/log.h"

enum ExitCode { kOk = 0, kFailed = 1, kBadUsage = 2, kBadConfig = 3 };

int main(int argc, char** argv) try {
  using namespace outlierd;
  using Action = CommandLine::Action;

  const auto command = parse_command_line(argc, argv);
  if (!command) {
    std::cerr << "outlierd: " << command.error() << "\n\n" << usage();
    return kBadUsage;
  }
  if (command->action == Action::kHelp) return std::cout << usage(), kOk;
  if (command->action == Action::kVersion) return std::cout << "outlierd " << kVersion << '\n', kOk;

  config::Loaded config = command->demo ? config::Loaded(config::demo_config())
                                        : config::load_file(command->config_file);
  if (!config) {
    for (const config::Problem& problem : config.error())
      std::cerr << format(command->config_file, problem) << '\n';
    return kBadConfig;
  }
  if (!command->store_path.empty()) config->store.path = command->store_path;
  if (command->action == Action::kDumpConfig) return std::cout << config::dump(*config), kOk;
  if (command->action == Action::kCheck) return kOk;

  log::start(config->log);
  Daemon daemon(*config, {.config_file = command->demo ? "" : command->config_file});
  daemon.run();  // until SIGINT or SIGTERM; every accepted slice is finished first
  return kOk;
} catch (const std::exception& error) {
  std::cerr << "outlierd: " << error.what() << '\n';
  return kFailed;
}
