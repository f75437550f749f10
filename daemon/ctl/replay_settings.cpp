#include "daemon/ctl/replay_settings.h"

#include <algorithm>

#include "config/load.h"
#include "config/time_zone.h"

namespace outlierd::ctl {
namespace {

tl::expected<config::NetworkConfig, std::string> chosen(const config::Config& config,
                                                        const std::string& file,
                                                        const std::string& name) {
  if (name.empty() && config.networks.size() == 1) return config.networks.front();
  std::string names;
  for (const config::NetworkConfig& network : config.networks) {
    if (network.name == name) return network;
    names += (names.empty() ? "" : ", ") + network.name;
  }
  if (name.empty()) return tl::unexpected(file + ": --network must say which of " + names);
  return tl::unexpected(file + ": no network " + name + ", only " + names);
}

}  // namespace

tl::expected<ReplaySettings, std::string> replay_settings(const std::string& file,
                                                          const std::string& network,
                                                          const std::string& metric) {
  const auto config = config::load_file(file);
  if (!config) {
    std::string reasons;
    for (const config::Problem& problem : config.error())
      reasons += (reasons.empty() ? "" : "\n") + config::format(file, problem);
    return tl::unexpected(reasons);
  }
  const auto found = chosen(*config, file, network);
  if (!found) return tl::unexpected(found.error());
  ReplaySettings settings{config::network_of(*found),
                          0,
                          config::pipeline_options_of(*found),
                          found->detection.method,
                          {}};
  if (!metric.empty()) {
    const auto& metrics = settings.network.metrics;
    const auto at = std::find(metrics.begin(), metrics.end(), metric);
    if (at == metrics.end())
      return tl::unexpected(file + ": network " + found->name + " has no metric " + metric);
    settings.metric = int(at - metrics.begin());
  }
  auto zone = config::TimeZone::load(found->time_zone);
  if (!zone) return tl::unexpected("time zone " + found->time_zone + ": " + zone.error());
  settings.local_offset = [zone = std::move(*zone)](EpochSeconds time) {
    return zone.offset_at(time);
  };
  return settings;
}

}  // namespace outlierd::ctl
