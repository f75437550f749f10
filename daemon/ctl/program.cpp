#include "daemon/ctl/program.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

namespace outlierd::ctl {
namespace {

constexpr int kHelpColumn = 34;

void describe_globals(CLI::App& application, Session& session, bool& no_color,
                      std::string& format) {
  application.description(
      "The operator's command line of outlierd, which watches the traffic between the nodes of a "
      "network and says what does not belong.");
  application.add_option("--url", session.url, "Where the daemon's API is (or $OUTLIERD_URL)")
      ->type_name("URL")
      ->capture_default_str();
  application.add_option("--token-file", session.token_file, "File with the bearer token to send")
      ->type_name("FILE");
  application
      .add_option("--ca-file", session.ca_file,
                  "Certificates to trust for https:// and tls:// (default: the system's)")
      ->type_name("FILE");
  application.add_option("-o,--format", format, "Tables for people, or JSON as the API answers it")
      ->check(CLI::IsMember({"table", "json"}).description(""))
      ->type_name("table|json")
      ->capture_default_str();
  application.add_flag("--no-color", no_color, "No colour, even on a terminal");
  application.set_version_flag("--version", "outlierctl " OUTLIERD_VERSION);
  application.footer(
      "Exit codes: 0 fine, 1 failed, 2 bad usage, 3 the daemon cannot be reached.\n"
      "outlierctl VERB --help explains a verb, with examples.");
}

// "silence add" becomes add, under silence.
CLI::App* subcommand_of(CLI::App& application, std::string_view name) {
  const std::size_t blank = name.find(' ');
  if (blank == std::string_view::npos) return application.add_subcommand(std::string(name));
  const std::string group(name.substr(0, blank));
  CLI::App* parent = nullptr;
  for (CLI::App* known : application.get_subcommands([](CLI::App*) { return true; }))
    if (known->get_name() == group) parent = known;
  if (parent == nullptr) {
    parent = application.add_subcommand(group, "See outlierctl " + group + " --help");
    parent->require_subcommand(1)->fallthrough();
  }
  return parent->add_subcommand(std::string(name.substr(blank + 1)));
}

int explain(const CLI::App& application, const CLI::ParseError& error, Session& session) {
  if (error.get_exit_code() == int(CLI::ExitCodes::Success)) {
    application.exit(error, session.out, session.error);
    return kOk;
  }
  session.error << "outlierctl: " << error.what() << '\n';
  std::string verb;
  const CLI::App* place = &application;
  while (!place->get_subcommands().empty()) {
    place = place->get_subcommands().front();
    verb += " " + place->get_name();
  }
  session.error << "Try: outlierctl" << verb << " --help\n";
  return kBadUsage;
}

}  // namespace

int run_program(std::vector<std::string> words, const Commands& commands, Session session) {
  CLI::App application;
  application.name("outlierctl");
  application.get_formatter()->column_width(kHelpColumn);
  bool no_color = false;
  std::string format = "table";
  describe_globals(application, session, no_color, format);
  application.require_subcommand(1)->fallthrough();
  std::vector<std::pair<CLI::App*, Command*>> verbs;
  for (const auto& command : commands) {
    CLI::App* place = subcommand_of(application, command->name());
    place->fallthrough();
    Arguments arguments(*place);
    command->describe(arguments);
    verbs.emplace_back(place, command.get());
  }
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    application.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return explain(application, error, session);
  }
  session.url_was_given |= application.count("--url") > 0;
  session.json = format == "json";
  session.terminal.color &= !no_color;
  session.application = &application;
  for (const auto& [place, command] : verbs)
    if (place->parsed()) return command->run(session);
  return kBadUsage;
}

Session session_of_process() {
  Session session(std::cout, std::cerr);
  session.now = [] {
    using namespace std::chrono;
    return EpochSeconds(duration_cast<seconds>(system_clock::now().time_since_epoch()).count());
  };
  session.terminal.out = isatty(STDOUT_FILENO) == 1;
  session.terminal.error = isatty(STDERR_FILENO) == 1;
  // NOLINTBEGIN(concurrency-mt-unsafe): before any thread
  const char* no_color = std::getenv("NO_COLOR");
  session.terminal.color = session.terminal.out && (no_color == nullptr || *no_color == 0);
  if (const char* url = std::getenv("OUTLIERD_URL"); url != nullptr && *url != 0) {
    session.url = url;
    session.url_was_given = true;
  }
  // NOLINTEND(concurrency-mt-unsafe)
  winsize size{};
  if (ioctl(session.terminal.out ? STDOUT_FILENO : STDERR_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0)
    session.terminal.width = size.ws_col;
  return session;
}

}  // namespace outlierd::ctl
