#pragma once
// What is wrong with what we are told, not with the network: an exporter that is silent, loses
// records, has a wrong clock, whose traffic belongs to no node or whose sampling rate is unknown.
// Each has a beginning and an end, so that an operator sees why cells are not observed. Of one
// network; bounded: the oldest that are over go first. One thread; time is an argument.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/traffic/exporter_book.h"
#include "core/traffic/network.h"

namespace outlierd {

struct OperationalEvent {
  std::string id, network;
  std::string kind;      // exporter_silent, exporter_losing, ...: as in the log
  std::string exporter;  // its address; empty: those beyond the limit, together
  std::string summary;   // in plain words
  double figure = 0.0;   // as in ExporterNotice, when it began
  EpochSeconds opened = 0;
  std::optional<EpochSeconds> closed;
};

class OperationalEvents {
 public:
  explicit OperationalEvents(std::string network, std::size_t most = 1000)
      : network_(std::move(network)), most_(most) {}

  // What opened or closed by it; `nodes` are those whose traffic the exporter reports.
  std::vector<OperationalEvent> note(const ExporterNotice& notice,
                                     const std::vector<std::string>& nodes, EpochSeconds now);

  const std::deque<OperationalEvent>& all() const { return events_; }  // oldest first
  static const std::vector<std::string>& kinds();

 private:
  std::string network_;
  std::size_t most_;
  std::deque<OperationalEvent> events_;
};

}  // namespace outlierd
