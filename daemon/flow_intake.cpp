#include "daemon/flow_intake.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <stdexcept>

#include "config/address.h"
#include "core/byte_stream.h"
#include "core/traffic/address_text.h"
#include "core/traffic/time_text.h"
#include "daemon/flow_rules.h"
#include "daemon/log.h"

namespace outlierd {
namespace {

constexpr std::uint32_t kStateVersion = 2;

std::size_t index_of(const config::Config& config, const std::string& network) {
  for (std::size_t k = 0; k < config.networks.size(); ++k)
    if (config.networks[k].name == network) return k;
  return 0;  // not said, and there is only one
}

IpAddress parsed(std::string_view text) {
  const auto address = config::parse_ip(text);
  return address ? address_of(*address) : IpAddress{};
}

struct SavedState {
  std::vector<std::vector<std::byte>> decoders;
  std::map<std::string, std::vector<std::byte>> bins, behind;  // by network
};

void put(ByteWriter& out, std::span<const std::byte> bytes) {
  out.number(std::uint64_t(bytes.size()));
  out.numbers(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

std::vector<std::byte> get(ByteReader& in) {
  const auto size = in.number<std::uint64_t>();
  if (in.failed() || size > in.rest().size()) {
    in.skip(in.rest().size() + 1);
    return {};
  }
  const auto bytes = in.rest().first(size);
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  in.skip(size);
  return out;
}

SavedState read_state(std::span<const std::byte> bytes) {
  SavedState state;
  ByteReader in(bytes);
  const auto version = in.number<std::uint32_t>();
  if (version == 0 || version > kStateVersion) return {};
  for (auto count = in.number<std::uint32_t>(); count > 0 && !in.failed(); --count)
    state.decoders.push_back(get(in));
  const auto by_network = [&](std::map<std::string, std::vector<std::byte>>& all) {
    for (auto count = in.number<std::uint32_t>(); count > 0 && !in.failed(); --count) {
      const std::vector<std::byte> name = get(in);
      all[std::string(reinterpret_cast<const char*>(name.data()), name.size())] = get(in);
    }
  };
  by_network(state.bins);
  if (version >= 2) by_network(state.behind);
  if (in.failed()) return {};
  return state;
}

}  // namespace

std::int64_t FlowIntake::now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

FlowIntake::FlowIntake(boost::asio::any_io_executor network, const config::Config& config,
                       Ingestion& ingestion, std::span<const std::byte> state)
    : executor_(std::move(network)), ingestion_(ingestion) {
  const SavedState saved = read_state(state);
  for (std::size_t k = 0; k < config.networks.size(); ++k) {
    auto map = node_map_of(config.networks[k]);
    if (!map) throw std::runtime_error(map.error().front());
    maps_.push_back(*map);
    networks_.push_back(std::make_unique<FlowNetwork>(config.networks[k], *map, now(),
                                                      ingestion.assembler(k).closed_through()));
    const auto bins = saved.bins.find(config.networks[k].name);
    if (bins != saved.bins.end()) networks_[k]->bins().restore(bins->second, now());
    const auto behind = saved.behind.find(config.networks[k].name);
    if (behind != saved.behind.end()) networks_[k]->restore_behind(behind->second);
  }
  doors_.reserve(config.flows.size());
  for (const config::FlowListener& one : config.flows) open(one, config, saved.decoders);
}

void FlowIntake::open(const config::FlowListener& settings, const config::Config& config,
                      const std::vector<std::vector<std::byte>>& decoder_states) {
  doors_.emplace_back();
  Door& door = doors_.back();
  door.name = config::text_of(settings.listen);
  door.network = index_of(config, settings.network);
  if (settings.listen.transport == config::Transport::kUdp) {
    open_udp(door, doors_.size() - 1, settings, config.networks[door.network], decoder_states);
  } else {
    open_lines(door, settings);
  }
}

void FlowIntake::open_udp(Door& door, std::size_t index, const config::FlowListener& settings,
                          const config::NetworkConfig& network,
                          const std::vector<std::vector<std::byte>>& decoder_states) {
  ingest::FlowReceiverOptions options;
  options.host = settings.listen.host;
  options.port = settings.listen.port;
  options.shared = settings.receivers > 1;
  options.json = settings.protocol == config::FlowProtocol::kJson;
  options.receive_buffer = settings.receive_buffer;
  options.exporters = allow_list(settings.exporters);
  options.binner = binner_options(network);
  options.count_egress = settings.count_egress;
  options.decoder_states = decoder_states;
  for (int k = 0; k < settings.receivers; ++k) {
    const std::size_t receiver = door.receivers.size();
    door.receivers.push_back(std::make_unique<ingest::FlowReceiver>(
        options, maps_[door.network], [this, index, receiver](ingest::FlowDelivery delivery) {
          boost::asio::post(executor_,
                            [this, index, receiver,
                             moved = std::make_shared<ingest::FlowDelivery>(std::move(delivery))] {
                              take(index, receiver, std::move(*moved));
                            });
        }));
    options.port = door.receivers.back()->port();  // 0 became one: the others share it
  }
  door.counters.resize(door.receivers.size());
  door.decoder_states.resize(door.receivers.size());
}

void FlowIntake::open_lines(Door& door, const config::FlowListener& settings) {
  using Kind = ingest::ListenAddress::Kind;
  ingest::ListenerOptions options;
  const config::Endpoint& at = settings.listen;
  options.address = {at.transport == config::Transport::kUnix ? Kind::kUnix : Kind::kTcp, at.host,
                     at.port, at.path};
  options.max_line = std::size_t{1} << 20;
  if (!settings.exporters.empty())
    options.may_connect =
        [allowed = PrefixMap(allow_list(settings.exporters))](std::string_view address) {
          return allowed.find(parsed(address)) != PrefixMap::kNone;
        };
  FlowNetwork* to = networks_[door.network].get();
  // Collectors do not read answers: none are sent.
  door.listener = std::make_unique<ingest::MatrixListener>(
      executor_, std::move(options), nullptr,
      [to, count_egress = settings.count_egress](
          std::string_view line, std::uint64_t,
          const ingest::MatrixListener::Answer& answer) -> const ingest::Backlog* {
        if (to->line(line, {}, now(), count_egress) != ingest::FlowRefusal::kNone)
          log::warn("flow_line_refused",
                    {{"network", to->network().name}, {"reason", to->problem()}});
        answer("");
        return nullptr;
      },
      [](std::string_view, bool) { return true; });
}

void FlowIntake::start() {
  for (std::size_t k = 0; k < doors_.size(); ++k)
    log::info("flow_listening", {{"listener", doors_[k].name}, {"port", std::to_string(port(k))}});
  for (Door& door : doors_)
    for (std::size_t k = 0; k < door.receivers.size(); ++k) {
      if (const auto closed = networks_[door.network]->bins().closed_through())
        door.receivers[k]->close_through(*closed);
      door.receivers[k]->start();
    }
}

std::uint16_t FlowIntake::port(std::size_t door) const {
  const Door& at = doors_.at(door);
  return at.listener ? at.listener->port() : at.receivers.at(0)->port();
}

void FlowIntake::take(std::size_t at, std::size_t receiver, ingest::FlowDelivery delivery) {
  Door& door = doors_[at];
  const std::uint64_t dropped = door.counters[receiver].kernel_drops;
  if (door.counters[receiver].buffer_requested == 0 &&
      delivery.counters.buffer_granted < delivery.counters.buffer_requested)
    log::warn("flow_buffer_small",
              {{"listener", door.name},
               {"requested", std::to_string(delivery.counters.buffer_requested)},
               {"granted", std::to_string(delivery.counters.buffer_granted)}});
  if (delivery.counters.kernel_drops > dropped)
    log::warn("flow_datagrams_dropped",
              {{"listener", door.name},
               {"datagrams", std::to_string(delivery.counters.kernel_drops - dropped)}});
  door.counters[receiver] = delivery.counters;
  if (!delivery.decoder_state.empty())
    door.decoder_states[receiver] = std::move(delivery.decoder_state);
  const std::int64_t at_now = now();
  networks_[door.network]->add(std::move(delivery.harvest), at_now);
  door.receivers[receiver]->taken();
  hand_in(door.network, networks_[door.network]->due(at_now));
  if (delivery.last) door_closed();
}

void FlowIntake::tick() {
  for (std::size_t k = 0; k < networks_.size(); ++k) hand_in(k, networks_[k]->due(now()));
}

void FlowIntake::hand_in(std::size_t network, std::vector<FinishedBin> finished) {
  for (FinishedBin& bin : finished) {
    if (bin.hidden_rows > 0)
      log::warn("flow_rows_unobserved", {{"network", networks_[network]->network().name},
                                         {"bin", time_text(bin.time)},
                                         {"rows", std::to_string(bin.hidden_rows)}});
    for (MatrixPart& part : bin.parts)
      ingestion_.part(network, std::move(part), [](const Receipt& receipt) {
        if (receipt.fate == Fate::kAccepted) return;
        log::warn("flow_bin_refused",
                  {{"network", receipt.network},
                   {"bin", time_text(receipt.time)},
                   {"reason", receipt.fate == Fate::kNotDurable ? "not durable" : receipt.error}});
      });
  }
  if (!finished.empty())
    if (const auto closed = networks_[network]->bins().closed_through())
      for (Door& door : doors_)
        if (door.network == network)
          for (auto& receiver : door.receivers) receiver->close_through(*closed);
  tell(network);
}

void FlowIntake::tell(std::size_t network) {
  const std::string& name = networks_[network]->network().name;
  for (const FlowNetwork::News& news : networks_[network]->take_news(now())) {
    const std::string exporter = address_text(news.notice.exporter);
    const std::string figure = fmt::format("{:.3g}", news.notice.figure);
    switch (news.notice.news) {
      case ExporterNews::kSilent:
        log::warn("exporter_silent",
                  {{"network", name}, {"exporter", exporter}, {"seconds", figure}});
        break;
      case ExporterNews::kLosing:
        log::warn("exporter_losing",
                  {{"network", name}, {"exporter", exporter}, {"share", figure}});
        break;
      case ExporterNews::kClockOff:
        log::warn("exporter_clock_off",
                  {{"network", name}, {"exporter", exporter}, {"seconds", figure}});
        break;
      case ExporterNews::kUnmapped:
        log::warn("exporter_unmapped",
                  {{"network", name}, {"exporter", exporter}, {"share", figure}});
        break;
      case ExporterNews::kUnknownRate:
        log::warn("exporter_sampling_unknown",
                  {{"network", name}, {"exporter", exporter}, {"share", figure}});
        break;
      default:
        log::info(name_of(news.notice.news), {{"network", name}, {"exporter", exporter}});
        break;
    }
    if (on_operational_)
      for (const OperationalEvent& event : news.changed) on_operational_(event);
  }
}

std::vector<std::string> FlowIntake::reload(const config::Config& config) {
  std::vector<std::string> problems;
  for (std::size_t k = 0; k < networks_.size(); ++k)
    for (const config::NetworkConfig& settings : config.networks) {
      const Network& network = networks_[k]->network();
      if (settings.name != network.name || settings.nodes != network.nodes) continue;
      auto map = node_map_of(settings);
      if (!map) {
        problems.insert(problems.end(), map.error().begin(), map.error().end());
        continue;
      }
      maps_[k] = *map;
      networks_[k]->use_map(*map);
      for (Door& door : doors_)
        if (door.network == k)
          for (auto& receiver : door.receivers) receiver->use_map(*map);
    }
  return problems;
}

void FlowIntake::stop(std::function<void()> done) {
  stopped_ = std::move(done);
  open_doors_ = 1;
  for (Door& door : doors_) {
    open_doors_ += door.receivers.size() + (door.listener ? 1 : 0);
    for (auto& receiver : door.receivers) receiver->stop();
    if (door.listener) door.listener->stop([this] { door_closed(); });
  }
  door_closed();
}

void FlowIntake::door_closed() {
  if (--open_doors_ > 0) return;
  for (std::size_t k = 0; k < networks_.size(); ++k) hand_in(k, networks_[k]->flush(now()));
  std::exchange(stopped_, {})();
}

std::vector<std::byte> FlowIntake::save(bool with_bins) const {
  ByteWriter out;
  out.number(kStateVersion);
  std::vector<const std::vector<std::byte>*> decoders;
  for (const Door& door : doors_)
    for (const auto& state : door.decoder_states)
      if (!state.empty()) decoders.push_back(&state);
  out.number(std::uint32_t(decoders.size()));
  for (const auto* state : decoders) put(out, *state);
  out.number(std::uint32_t(with_bins ? networks_.size() : 0));
  for (const auto& network : networks_) {
    if (!with_bins) break;
    put(out, std::as_bytes(std::span(network->network().name)));
    put(out, network->bins().save(now()));
  }
  out.number(std::uint32_t(networks_.size()));
  for (const auto& network : networks_) {
    put(out, std::as_bytes(std::span(network->network().name)));
    put(out, network->save_behind());
  }
  return out.take();
}

const Behind* FlowIntake::behind_event(const std::string& id) const {
  for (const auto& network : networks_)
    if (const Behind* found = network->behind_event(id)) return found;
  return nullptr;
}

}  // namespace outlierd
