#pragma once
// The real outlierd binary, started with a configuration in a folder of its own, on free ports.

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace outlierd::test {

class DaemonProcess {
 public:
  // `binary` is run with the configuration, whose store and Unix socket are in `folder`.
  DaemonProcess(std::string binary, std::filesystem::path folder);
  ~DaemonProcess();  // kills it
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // More of the configuration: whole YAML lines, before start().
  std::string networks = "networks: [{name: n, nodes: [A, B, C, D, E, F]}]\n";
  std::string extra;

  void start();     // returns once it listens; throws if it does not within ten seconds
  void kill();      // -9, at once
  int terminate();  // SIGTERM; its exit code
  void signal(int number) const;
  int exit_code();  // waits for its end; minus the signal that ended it
  bool running();

  pid_t pid() const { return pid_; }
  int http_port() const { return http_port_; }
  std::string socket_path() const { return (folder_ / "matrices.sock").string(); }
  std::string log() const;                           // all it wrote so far
  std::string get(const std::string& target) const;  // the body; throws unless 200

 private:
  std::string binary_;
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  int http_port_ = 0;
};

// A line for network n, six nodes: smooth traffic with noise, the same for the same bin. Bins
// 150, 650, ... have a surge towards C.
std::string matrix_line(int bin);
long long bin_time(int bin);

}  // namespace outlierd::test
