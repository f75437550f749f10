#include "tests/support/daemon_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "core/traffic/time_text.h"
#include "tests/support/http_client.h"
#include "tests/support/random.h"

namespace outlierd::test {

using namespace std::chrono_literals;

DaemonProcess::DaemonProcess(std::string binary, std::filesystem::path folder)
    : binary_(std::move(binary)), folder_(std::move(folder)) {}

DaemonProcess::~DaemonProcess() {
  if (running()) kill();
}

void DaemonProcess::start() {
  const std::string config = (folder_ / "outlierd.yaml").string();
  std::ofstream(config) << "http: {listen: 127.0.0.1:0}\n"
                        << "matrices: [{listen: 'unix:" << socket_path() << "'}]\n"
                        << "store: {path: '" << (folder_ / "store").string() << "'" << extra
                        << "}\n"
                        << networks;
  const std::string log_file = (folder_ / "log").string();
  std::filesystem::remove(log_file);
  pid_ = ::fork();
  if (pid_ == 0) {
    const int out = ::open(log_file.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    ::execl(binary_.c_str(), binary_.c_str(), "--config", config.c_str(), nullptr);
    ::_exit(127);
  }
  for (int look = 0; look < 10000; ++look) {
    const std::string text = log();
    const std::size_t at = text.find(" http=");
    if (text.find("event=started") != std::string::npos && text.back() == '\n') {
      http_port_ = std::stoi(text.substr(at + 6));
      return;
    }
    if (!running()) break;
    std::this_thread::sleep_for(1ms);
  }
  throw std::runtime_error("outlierd did not start: " + log());
}

std::string DaemonProcess::log() const {
  std::ifstream in(folder_ / "log");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool DaemonProcess::running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

int DaemonProcess::exit_code() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void DaemonProcess::signal(int number) const { ::kill(pid_, number); }

void DaemonProcess::kill() {
  signal(SIGKILL);
  exit_code();
}

int DaemonProcess::terminate() {
  signal(SIGTERM);
  return exit_code();
}

std::string DaemonProcess::get(const std::string& target) const {
  HttpClient client(http_port_);
  const auto answer = client.get(target);
  if (!answer || answer->status != 200)
    throw std::runtime_error(target + ": " + (answer ? answer->body : "no answer"));
  return answer->body;
}

long long bin_time(int bin) { return 1'600'000'200LL / 300 * 300 + 300LL * bin; }

std::string matrix_line(int bin) {
  Random random(std::uint64_t(bin) + 1);
  std::ostringstream line;
  line.precision(17);
  line << R"({"network":"n","time":")" << time_text(bin_time(bin))
       << R"(","source":"test","sequence":)" << bin << R"(,"complete":true,"values":[)";
  for (int i = 0; i < 6; ++i) {
    line << (i ? ",[" : "[");
    for (int j = 0; j < 6; ++j) {
      const double base = 1000.0 * (i + 1) * (j + 2) * (1.5 + std::sin(bin * 2 * M_PI / 288));
      const double surge = bin % 500 == 150 && j == 2 ? 6.0 : 1.0;
      line << (j ? "," : "") << base * surge * std::exp(0.1 * random.normal());
    }
    line << "]";
  }
  line << "]}\n";
  return line.str();
}

}  // namespace outlierd::test
