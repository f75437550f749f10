#include "daemon/ingest/flow/flow_receiver.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "core/aligned.h"
#include "daemon/ingest/flow/flow_json.h"

namespace outlierd::ingest {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kDatagrams = 64;               // of one system call
constexpr std::size_t kDatagramBytes = 65536 + 192;  // not a power of two: caches have sets
constexpr std::size_t kFew = kDatagrams / 2;         // fewer are worth a pause
constexpr std::size_t kBytesPerMicrosecond = 1000;   // faster than any link that exports flows
constexpr auto kLongestPause = 4000us;
constexpr auto kDeliverEvery = 1s;
constexpr auto kSaveEvery = 60s;
constexpr int kMostUntaken = 16;

std::int64_t now_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

IpAddress address_of(const sockaddr_storage& from) {
  IpAddress address;
  if (from.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(from);
    address.family = 4;
    std::memcpy(address.bytes.data(), &four.sin_addr, 4);
  } else if (from.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(from);
    if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
      address.family = 4;
      std::memcpy(address.bytes.data(), six.sin6_addr.s6_addr + 12, 4);
    } else {
      address.family = 6;
      std::memcpy(address.bytes.data(), six.sin6_addr.s6_addr, 16);
    }
  }
  return address;
}

[[noreturn]] void fail(const FlowReceiverOptions& options, const char* what) {
  throw std::runtime_error("cannot listen on udp://" + options.host + ":" +
                           std::to_string(options.port) + ": " + what + ": " +
                           std::generic_category().message(errno));
}

}  // namespace

struct FlowReceiver::Buffers {
  std::vector<std::byte, CacheLineAllocator<std::byte>> bytes;  // far apart: on huge pages
  std::array<mmsghdr, kDatagrams> messages{};
  std::array<iovec, kDatagrams> places{};
  std::array<sockaddr_storage, kDatagrams> senders{};
  std::string line;  // of JSON, with the padding its decoder needs
  FlowJsonDecoder json;

  Buffers() : bytes(kDatagrams * kDatagramBytes) {
    for (std::size_t k = 0; k < kDatagrams; ++k) {
      places[k] = {bytes.data() + k * kDatagramBytes, 65536};
      messages[k].msg_hdr.msg_iov = &places[k];
      messages[k].msg_hdr.msg_iovlen = 1;
      messages[k].msg_hdr.msg_name = &senders[k];
    }
  }
};

void FlowReceiverCounters::add(const FlowReceiverCounters& other) {
  datagrams += other.datagrams;
  bytes += other.bytes;
  records += other.records;
  not_allowed += other.not_allowed;
  kernel_drops += other.kernel_drops;
  without_template += other.without_template;
  templates_refused += other.templates_refused;
  ignored += other.ignored;
  for (std::size_t k = 0; k < refused.size(); ++k) refused[k] += other.refused[k];
  buffer_requested += other.buffer_requested;
  buffer_granted += other.buffer_granted;
  templates += other.templates;
  templates_evicted += other.templates_evicted;
}

FlowReceiver::FlowReceiver(FlowReceiverOptions options, std::shared_ptr<const NodeMap> map,
                           OnHarvest on_harvest)
    : options_(std::move(options)),
      on_harvest_(std::move(on_harvest)),
      allowed_(options_.exporters),
      buffers_(std::make_unique<Buffers>()),
      binner_(options_.binner, std::move(map)) {
  for (const auto& state : options_.decoder_states)
    (void)decoder_.restore(state);  // a bad one is told by who read it; templates come again
  open();
}

FlowReceiver::~FlowReceiver() {
  stop();
  if (thread_.joinable()) thread_.join();
  if (socket_ >= 0) ::close(socket_);
}

void FlowReceiver::open() {
  sockaddr_storage at{};
  socklen_t size = 0;
  auto& four = reinterpret_cast<sockaddr_in&>(at);
  auto& six = reinterpret_cast<sockaddr_in6&>(at);
  if (inet_pton(AF_INET, options_.host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(options_.port);
    size = sizeof four;
  } else if (inet_pton(AF_INET6, options_.host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(options_.port);
    size = sizeof six;
  } else {
    errno = EINVAL;
    fail(options_, "address");
  }
  socket_ = ::socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) fail(options_, "socket");
  const int one = 1;
  if (options_.shared && setsockopt(socket_, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) != 0)
    fail(options_, "SO_REUSEPORT");
  // Beyond the system's limit where we may; else as much as it grants.
  const int wanted = int(options_.receive_buffer);
  if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof wanted) != 0)
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
  int granted = 0;
  socklen_t length = sizeof granted;
  if (getsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &granted, &length) == 0)
    counters_.buffer_granted = std::size_t(granted) / 2;  // the kernel counts its own share too
  pause_ = std::min<std::chrono::microseconds>(
      std::chrono::microseconds(counters_.buffer_granted / kBytesPerMicrosecond), kLongestPause);
  counters_.buffer_requested = options_.receive_buffer;
  const timeval patience{0, 100'000};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::bind(socket_, reinterpret_cast<sockaddr*>(&at), size) != 0) fail(options_, "bind");
  length = sizeof at;
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &length) == 0)
    port_ = ntohs(at.ss_family == AF_INET ? four.sin_port : six.sin6_port);
}

void FlowReceiver::start() {
  thread_ = std::jthread([this] { run(); });
}

void FlowReceiver::use_map(std::shared_ptr<const NodeMap> map) {
  const std::lock_guard hold(orders_);
  new_map_ = std::move(map);
  has_orders_.store(true);
}

void FlowReceiver::follow_orders() {
  binner_.close_through(closed_through_.load(std::memory_order_relaxed));
  if (!has_orders_.load(std::memory_order_relaxed)) return;
  const std::lock_guard hold(orders_);
  if (new_map_) binner_.use_map(std::exchange(new_map_, nullptr));
  has_orders_.store(false);
}

void FlowReceiver::run() {
  auto delivered = Clock::now(), saved = delivered;
  while (!stopping_.load(std::memory_order_relaxed)) {
    follow_orders();
    const std::size_t count = read_some();
    if (count > 0 && count < kFew) std::this_thread::sleep_for(pause_);
    const auto now = Clock::now();
    if (now - delivered < kDeliverEvery && !binner_.turned() && !binner_.full()) continue;
    while (untaken_.load() >= kMostUntaken && !stopping_.load()) std::this_thread::sleep_for(1ms);
    delivered = now;
    if (now - saved >= kSaveEvery) {
      saved = now;
      FlowDelivery state;
      state.decoder_state = decoder_.save();
      state.counters = counters_;
      ++untaken_;
      on_harvest_(std::move(state));
    }
    deliver(false);
  }
  while (read_some() > 0) {
  }
  deliver(true);
}

void FlowReceiver::deliver(bool last) {
  std::uint32_t memory[SK_MEMINFO_VARS] = {};
  socklen_t size = sizeof memory;
  if (getsockopt(socket_, SOL_SOCKET, SO_MEMINFO, memory, &size) == 0)
    counters_.kernel_drops = memory[SK_MEMINFO_DROPS];
  const FlowDecoderCounts counts = decoder_.counts();
  counters_.templates = counts.templates;
  counters_.templates_evicted = counts.templates_evicted;
  FlowDelivery delivery;
  delivery.harvest = binner_.harvest();
  delivery.counters = counters_;
  delivery.last = last;
  if (last) delivery.decoder_state = decoder_.save();
  ++untaken_;
  on_harvest_(std::move(delivery));
}

// How many datagrams there were.
std::size_t FlowReceiver::read_some() {
  for (mmsghdr& message : buffers_->messages)
    message.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
  const int flags = stopping_.load(std::memory_order_relaxed) ? MSG_DONTWAIT : MSG_WAITFORONE;
  const int count = ::recvmmsg(socket_, buffers_->messages.data(), kDatagrams, flags, nullptr);
  if (count <= 0) return 0;
  const std::int64_t now = now_milliseconds();
  for (std::size_t k = 0; k < std::size_t(count); ++k) {
    const std::size_t size = buffers_->messages[k].msg_len;
    const IpAddress from = address_of(buffers_->senders[k]);
    ++counters_.datagrams;
    counters_.bytes += size;
    if (!options_.exporters.empty() && allowed_.find(from) == PrefixMap::kNone) {
      ++counters_.not_allowed;
      continue;
    }
    const std::span datagram(buffers_->bytes.data() + k * kDatagramBytes, size);
    if (options_.json) {
      take_lines(from, datagram, now);
    } else {
      take(from, datagram, now);
    }
  }
  return std::size_t(count);
}

void FlowReceiver::take(const IpAddress& from, std::span<const std::byte> datagram,
                        std::int64_t now) {
  const FlowRefusal refusal = decoder_.decode(from, datagram, batch_);
  if (refusal != FlowRefusal::kNone) ++counters_.refused[std::size_t(refusal)];
  bin(now);
}

void FlowReceiver::take_lines(const IpAddress& from, std::span<const std::byte> datagram,
                              std::int64_t now) {
  std::string_view rest(reinterpret_cast<const char*>(datagram.data()), datagram.size());
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string& line = buffers_->line;
    line.assign(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \r\t") == line.npos) continue;
    const std::size_t size = line.size();
    line.resize(size + FlowJsonDecoder::kPadding);
    const FlowRefusal refusal = buffers_->json.decode(std::string_view(line.data(), size), batch_);
    if (refusal != FlowRefusal::kNone) ++counters_.refused[std::size_t(refusal)];
    if (batch_.exporter.family == 0) batch_.exporter = from;
    bin(now);
  }
}

void FlowReceiver::bin(std::int64_t now) {
  counters_.records += batch_.records.size();
  counters_.without_template += batch_.sets_without_template;
  counters_.templates_refused += batch_.templates_refused;
  counters_.ignored += batch_.records_ignored + batch_.samples_ignored;
  const bool nothing = batch_.refusal != FlowRefusal::kNone && batch_.records.empty();
  if (batch_.exporter.family == 0 || nothing) return;
  binner_.add({.exporter = batch_.exporter,
               .agent = batch_.agent,
               .received = now,
               .export_time = batch_.export_time,
               .lost_records = batch_.lost_records,
               .found_records = batch_.found_records,
               .restarted = batch_.restarted,
               .count_egress = options_.count_egress},
              batch_.records);
}

}  // namespace outlierd::ingest
