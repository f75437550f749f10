#pragma once
// What a verb runs with: where it writes, what the terminal can do, which daemon it asks.
// Made once by the program from the global options; verbs read it.

#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "core/traffic/network.h"

namespace CLI {
class App;
}

namespace outlierd::ctl {

enum ExitCode { kOk = 0, kFailed = 1, kBadUsage = 2, kUnreachable = 3 };

inline constexpr std::string_view kDefaultUrl = "http://127.0.0.1:9471";

struct Terminal {
  bool out = false, error = false;  // is standard output, is standard error, one
  bool color = false;               // wanted on standard output
  int width = 80;
};

struct Session {
  Session(std::ostream& out_in, std::ostream& error_in) : out(out_in), error(error_in) {}

  std::ostream& out;
  std::ostream& error;
  Terminal terminal;
  std::function<EpochSeconds()> now;

  std::string url{kDefaultUrl};
  bool url_was_given = false;  // by --url or $OUTLIERD_URL
  std::string token_file, ca_file;
  bool json = false;
  const CLI::App* application = nullptr;  // the whole command line, for completion and manual

  // Says what went wrong and gives the code back, so that a verb can return it.
  int fail(std::string_view reason, ExitCode code = kFailed) const {
    error << "outlierctl: " << reason << '\n';
    return code;
  }
};

}  // namespace outlierd::ctl
