// flow_sender PORT RATE SECONDS PREFIXES: sends NetFlow v9 datagrams of 28 records to loopback at
// RATE records a second, addresses uniform over the prefixes 10.0.0.0/24 and on. Prints what was
// sent.

#include <arpa/inet.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "daemon/ctl/flow_encoder.h"

namespace {

using namespace outlierd;
using Clock = std::chrono::steady_clock;
using Datagram = std::vector<std::byte>;

constexpr std::int64_t kBooted = 1'000'000'000;
constexpr std::size_t kTogether = 32;

void put32(Datagram& datagram, std::size_t at, std::uint32_t value) {
  value = htonl(value);
  std::memcpy(datagram.data() + at, &value, 4);
}

IpAddress address(std::uint32_t prefix, std::uint32_t host) {
  const std::uint32_t bits = (10u << 24) + (prefix << 8) + host;
  IpAddress out;
  out.family = 4;
  for (std::size_t k = 0; k < 4; ++k) out.bytes[k] = std::uint8_t(bits >> (24 - 8 * k));
  return out;
}

std::vector<Datagram> make(std::uint32_t prefixes, bool with_template, std::size_t count) {
  std::mt19937_64 random(3);
  std::vector<Datagram> all;
  ctl::FlowEncoder encoder(ctl::ExportProtocol::kNetflow9, kBooted, 1, {});
  while (all.size() < count) {
    std::vector<FlowRecord> records(28);
    for (FlowRecord& record : records) {
      record.source =
          address(std::uint32_t(random() % prefixes), std::uint32_t(random() % 254) + 1);
      record.destination = address(std::uint32_t(random() % prefixes), 1);
      record.bytes = 40 + random() % 100'000;
      record.packets = 1 + random() % 100;
      record.protocol = 6;
      record.source_port = std::uint16_t(random());
      record.destination_port = 443;
      record.sampling_rate = 1;
      record.end = kBooted + 1'000'000 - std::int64_t(random() % 1000);
      record.start = record.end - std::int64_t(random() % 1000);
    }
    const auto bytes = encoder.encode(records, kBooted + 1'000'000);
    const bool has_template = bytes[20] == std::byte{0} && bytes[21] == std::byte{0};
    if (has_template == with_template) all.emplace_back(bytes.begin(), bytes.end());
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "flow_sender PORT RATE SECONDS PREFIXES\n"), 2;
  const double rate = std::atof(argv[2]), seconds = std::atof(argv[3]);
  const auto prefixes = std::uint32_t(std::atoi(argv[4]));
  std::vector<Datagram> data = make(prefixes, false, 4096), templates = make(prefixes, true, 1);
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(std::uint16_t(std::atoi(argv[1])));
  if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return 1;

  std::vector<mmsghdr> messages(kTogether);
  std::vector<iovec> places(kTogether);
  const auto begun = Clock::now();
  std::uint64_t sent = 0;
  std::uint32_t sequence = 1;
  while (std::chrono::duration<double>(Clock::now() - begun).count() < seconds) {
    const auto now = std::uint32_t(std::time(nullptr));
    for (std::size_t k = 0; k < kTogether; ++k) {
      Datagram& one = sequence % 2000 == 1 ? templates[0] : data[sequence % data.size()];
      put32(one, 8, now);
      put32(one, 12, sequence++);
      places[k] = {one.data(), one.size()};
      messages[k].msg_hdr.msg_iov = &places[k];
      messages[k].msg_hdr.msg_iovlen = 1;
    }
    for (std::size_t done = 0; done < kTogether;) {
      const int count = ::sendmmsg(socket, messages.data() + done, unsigned(kTogether - done), 0);
      if (count > 0) done += std::size_t(count);
    }
    sent += 28 * kTogether;
    std::this_thread::sleep_until(begun + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(double(sent) / rate)));
  }
  std::printf("%llu\n", static_cast<unsigned long long>(sent));
}
