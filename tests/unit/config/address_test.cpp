#include "config/address.h"

#include <gtest/gtest.h>

#include "config/prefix_file.h"

namespace outlierd::config {
namespace {

TEST(Prefix, IsWrittenAsItWasRead) {
  for (const char* text : {"192.0.2.0/24", "0.0.0.0/0", "10.1.2.3/32", "2001:db8::/32", "::/0",
                           "fe80::1/128", "128.0.0.0/1"}) {
    const auto prefix = parse_prefix(text);
    ASSERT_TRUE(prefix.has_value()) << text << ": " << prefix.error();
    EXPECT_EQ(text_of(*prefix), text);
  }
}

TEST(Prefix, OfAnAddressAloneHasItsFullLength) {
  EXPECT_EQ(text_of(*parse_prefix("192.0.2.7")), "192.0.2.7/32");
  EXPECT_EQ(text_of(*parse_prefix("2001:db8::7")), "2001:db8::7/128");
}

TEST(Prefix, RefusesWhatIsNone) {
  for (const char* text : {"", "/", "1.2.3/8", "1.2.3.4/", "1.2.3.4/-1", "1.2.3.4/33", "::1/129",
                           "1.2.3.4/8x", "1.2.3.4/8", "host/8", "[::1]/128", "1.2.3.4 /32"})
    EXPECT_FALSE(parse_prefix(text).has_value()) << text;
}

TEST(Prefix, ContainsItsAddressesAndNoOthers) {
  const auto prefix = *parse_prefix("10.20.128.0/17");
  EXPECT_TRUE(contains(prefix, *parse_ip("10.20.128.0")));
  EXPECT_TRUE(contains(prefix, *parse_ip("10.20.255.255")));
  EXPECT_FALSE(contains(prefix, *parse_ip("10.20.127.255")));
  EXPECT_FALSE(contains(prefix, *parse_ip("10.21.128.0")));
  EXPECT_FALSE(contains(*parse_prefix("0.0.0.0/0"), *parse_ip("::1")));
  EXPECT_TRUE(contains(*parse_prefix("::/0"), *parse_ip("2001:db8::1")));
}

TEST(Listener, IsWrittenAsItWasRead) {
  for (const char* text : {"tcp://127.0.0.1:9470", "tls://[2001:db8::1]:0", "udp://0.0.0.0:65535",
                           "unix:/run/outlierd/matrices.sock"}) {
    const auto endpoint =
        parse_listener(text, {Transport::kTcp, Transport::kTls, Transport::kUdp, Transport::kUnix});
    ASSERT_TRUE(endpoint.has_value()) << text << ": " << endpoint.error();
    EXPECT_EQ(text_of(*endpoint), text);
  }
}

TEST(Listener, KnowsItsParts) {
  const auto endpoint = parse_listener("tls://[::1]:9470", {Transport::kTls});
  ASSERT_TRUE(endpoint.has_value());
  EXPECT_EQ(*endpoint, (Endpoint{Transport::kTls, "::1", 9470, ""}));
  EXPECT_EQ(*parse_host_port("localhost:1"), (Endpoint{Transport::kTcp, "127.0.0.1", 1, ""}));
  EXPECT_EQ(parse_listener("unix:///run/x", {Transport::kUnix})->path, "/run/x");
}

TEST(Listener, RefusesWhatCannotBeListenedOn) {
  for (const char* text : {"",
                           "tcp://",
                           "tcp://:9470",
                           "tcp://127.0.0.1",
                           "tcp://127.0.0.1:",
                           "tcp://127.0.0.1:x",
                           "tcp://127.0.0.1:65536",
                           "tcp://127.0.0.1:-1",
                           "tcp://[::1:9470",
                           "tcp://[::1]9470",
                           "tcp://[::1]",
                           "tcp://[127.0.0.1]:1",
                           "tcp://example.net:1",
                           "tcp://*:1",
                           "udp://[::1]:1",
                           "127.0.0.1:1",
                           "TCP://127.0.0.1:1",
                           "unix:",
                           "unix:/",
                           "unix:x",
                           "tcp://127.0.0.1:1/"})
    EXPECT_FALSE(parse_listener(text, {Transport::kTcp, Transport::kUnix}).has_value()) << text;
  EXPECT_TRUE(parse_listener("unix:/" + std::string(106, 'x'), {Transport::kUnix}).has_value());
  EXPECT_FALSE(parse_listener("unix:/" + std::string(107, 'x'), {Transport::kUnix}).has_value());
}

TEST(Listener, IsLocalOnLoopbackAndUnixSocketsOnly) {
  const auto local = [](const char* text) { return is_local(*parse_host_port(text)); };
  EXPECT_TRUE(local("127.0.0.1:1"));
  EXPECT_TRUE(local("127.9.9.9:1"));
  EXPECT_TRUE(local("[::1]:1"));
  EXPECT_TRUE(local("[::ffff:127.0.0.1]:1"));
  EXPECT_FALSE(local("0.0.0.0:1"));
  EXPECT_FALSE(local("[::]:1"));
  EXPECT_FALSE(local("192.0.2.1:1"));
  EXPECT_FALSE(local("[::ffff:192.0.2.1]:1"));
  EXPECT_FALSE(local("[2001:db8::1]:1"));
  EXPECT_TRUE(is_local(*parse_listener("unix:/run/x", {Transport::kUnix})));
}

TEST(Target, MayBeAName) {
  const auto target = parse_target("udp://syslog.example.net:514", {Transport::kUdp});
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(*target, (Endpoint{Transport::kUdp, "syslog.example.net", 514, ""}));
  EXPECT_FALSE(parse_target("udp://127.0.0.1:0", {Transport::kUdp}).has_value());
  EXPECT_FALSE(parse_target("udp://a b:1", {Transport::kUdp}).has_value());
}

TEST(Url, KnowsItsParts) {
  const auto url = parse_url("https://me:pw@example.net:8443/hook?a=b");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(*url, (Url{true, "me:pw", "example.net", 8443, "/hook?a=b"}));
  EXPECT_EQ(*parse_url("http://[::1]"), (Url{false, "", "::1", 80, "/"}));
  EXPECT_EQ(*parse_url("https://h?q"), (Url{true, "", "h", 443, "/?q"}));
}

TEST(Url, IsReadBackFromItsText) {
  for (const char* text : {"http://127.0.0.1:9093/", "https://example.net/hook", "http://[::1]:1/",
                           "https://a:b@h/x?y=z"}) {
    const auto url = parse_url(text);
    ASSERT_TRUE(url.has_value()) << text << ": " << url.error();
    EXPECT_EQ(text_of(*url), text);
  }
}

TEST(Url, RefusesWhatIsNone) {
  for (const char* text :
       {"", "example.net", "ftp://example.net", "http://", "http:///x", "http://a b", "http://h:0",
        "http://h:65536", "http://h:x", "http://h/#f", "http://[::1", "http://[h]", "http://h\n",
        "http://::1/", "http://h:"})
    EXPECT_FALSE(parse_url(text).has_value()) << text;
}

TEST(Url, HidesItsSecret) {
  EXPECT_EQ(text_without_secret(*parse_url("https://me:pw:x@h/")), "https://me:<secret>@h/");
  EXPECT_EQ(text_without_secret(*parse_url("https://token@h/")), "https://<secret>@h/");
  EXPECT_EQ(text_without_secret(*parse_url("https://h/")), "https://h/");
}

}  // namespace
}  // namespace outlierd::config

namespace outlierd::config {
namespace {

TEST(PrefixFile, TakesPrefixesCommentsAndAHeaderAndNamesEveryBadLine) {
  const std::vector<std::string> nodes = {"ATLA", "CHIN"};
  const auto good = parse_prefix_file(
      "prefix,node\r\n192.0.2.0/24,ATLA\n\n# all of it\n 2001:db8::/32 , CHIN # here\n", nodes);
  ASSERT_TRUE(good);
  ASSERT_EQ(good->size(), 2u);
  EXPECT_EQ(text_of((*good)[0].prefix), "192.0.2.0/24");
  EXPECT_EQ((*good)[1].node, "CHIN");
  const auto bad = parse_prefix_file("192.0.2.0/24\n192.0.2.0/24,DNVR\n300.0.0.0/8,ATLA\n", nodes);
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 3u);
  EXPECT_EQ(bad.error()[0], "1: must be prefix,node, such as 192.0.2.0/24,ATLA");
  EXPECT_EQ(bad.error()[1], "2: no node of the network is called that");
  EXPECT_TRUE(bad.error()[2].starts_with("3: "));
  EXPECT_TRUE(parse_prefix_file("", nodes)->empty());
  EXPECT_FALSE(load_prefix_file("/nowhere/prefixes.csv", nodes));
}

}  // namespace
}  // namespace outlierd::config
