// outlierctl: asks a running outlierd, feeds it, and works on traffic files without one.
// main() turns words into a verb and its outcome into an exit code; the verbs are in verbs.cpp.

#include <csignal>
#include <exception>
#include <iostream>

#include "daemon/ctl/program.h"

int main(int argc, char** argv) try {
  using namespace outlierd::ctl;
  std::signal(SIGPIPE, SIG_IGN);  // a closed connection is an error code, not the end
  return run_program({argv + 1, argv + argc}, all_commands(), session_of_process());
} catch (const std::exception& error) {
  std::cerr << "outlierctl: " << error.what() << '\n';
  return outlierd::ctl::kFailed;
}
