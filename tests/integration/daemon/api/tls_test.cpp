// TLS with certificates made by the openssl command, seen by its client.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemon/api/http_server.h"
#include "tests/support/http_client.h"
#include "tests/support/net_thread.h"

namespace outlierd::api {
namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");  // NOLINT
  std::array<char, 4096> block;
  while (std::size_t got = fread(block.data(), 1, block.size(), pipe))
    text.append(block.data(), got);
  pclose(pipe);
  return text;
}

class TlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (output_of("openssl version 2>/dev/null").empty())
      GTEST_SKIP() << "needs the openssl command";
    char name[] = "/tmp/outlierd_tls_XXXXXX";
    folder_ = mkdtemp(name);
    make_certificate("first", "one");
    install("first", "first");
  }
  void TearDown() override {
    net_.run([this] { server_.reset(); });
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  void make_certificate(const std::string& file, const std::string& name) const {
    output_of("cd " + folder_.string() + " && openssl req -x509 -newkey ec -pkeyopt " +
              "ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=" + name + " -keyout " + file +
              ".key -out " + file + ".pem 2>/dev/null");
  }
  void install(const std::string& certificate, const std::string& key) const {
    const auto over = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(folder_ / (certificate + ".pem"), folder_ / "now.pem", over);
    std::filesystem::copy_file(folder_ / (key + ".key"), folder_ / "now.key", over);
  }
  std::string start() {
    return net_.run([this]() -> std::string {
      HttpOptions options;
      options.port = 0;
      options.tls = TlsFiles{folder_ / "now.pem", folder_ / "now.key"};
      options.header_time = std::chrono::milliseconds(500);
      server_ = std::make_unique<HttpServer>(
          net_.io, options,
          [](const Request& head) {
            Admission admission;
            admission.handle = [tls = head.tls](Request&, const Reply& reply) {
              reply(json_response(200, tls ? "over TLS" : "in the clear"));
            };
            return admission;
          },
          nullptr);
      const auto started = server_->start();
      return started ? "" : started.error();
    });
  }
  // What the client saw: the certificate's subject and the answer.
  std::string ask(const std::string& options = "") {
    const int port = net_.run([this] { return int(server_->port()); });
    return output_of(
        "printf 'GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' | "
        "timeout 10 openssl s_client -ign_eof -connect 127.0.0.1:" +
        std::to_string(port) + " " + options + " 2>&1");
  }
  std::string reload() {
    return net_.run([this]() -> std::string {
      const auto reloaded = server_->reload_tls();
      return reloaded ? "" : reloaded.error();
    });
  }

  std::filesystem::path folder_;
  test::NetThread net_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(TlsTest, AnswersOverTlsFromVersion12On) {
  ASSERT_EQ(start(), "");
  const std::string seen = ask();
  EXPECT_NE(seen.find("CN = one"), std::string::npos) << seen;
  EXPECT_NE(seen.find("over TLS"), std::string::npos) << seen;
  EXPECT_NE(ask("-tls1_2").find("over TLS"), std::string::npos);
  EXPECT_EQ(ask("-tls1_1 -cipher DEFAULT@SECLEVEL=0").find("over TLS"), std::string::npos);
}

TEST_F(TlsTest, TakesNewCertificatesAndKeepsTheOldWhenTheNewAreBad) {
  ASSERT_EQ(start(), "");
  make_certificate("second", "two");
  install("second", "first");  // the key of another
  EXPECT_NE(reload(), "");
  EXPECT_NE(ask().find("CN = one"), std::string::npos);
  install("second", "second");
  EXPECT_EQ(reload(), "");
  EXPECT_NE(ask().find("CN = two"), std::string::npos);
  std::ofstream(folder_ / "now.pem") << "nonsense";
  EXPECT_NE(reload().find("now.pem: not a usable certificate chain"), std::string::npos);
  EXPECT_NE(ask().find("CN = two"), std::string::npos);
}

TEST_F(TlsTest, DoesNotStartWithoutACertificate) {
  std::filesystem::remove(folder_ / "now.pem");
  EXPECT_NE(start().find("now.pem"), std::string::npos);
}

TEST_F(TlsTest, EndsWhoSpeaksInTheClearOrNotAtAll) {
  ASSERT_EQ(start(), "");
  const int port = net_.run([this] { return int(server_->port()); });
  test::HttpClient clear(port), silent(port);
  clear.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_FALSE(clear.receive());
  EXPECT_TRUE(silent.ended());
  for (int wait = 0;
       wait < 100 && net_.run([this] { return server_->counters().tls_failures; }) < 2; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(net_.run([this] { return server_->counters().tls_failures; }), 2u);
}

}  // namespace
}  // namespace outlierd::api
