#pragma once
// Everything about flows that has a life of its own: receivers and listeners, the flow side of each
// network, and the state that outlives a restart (templates, bins that still run). Finished bins go
// the way of any part: journalled, added up, closed. Network thread only.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/schema.h"
#include "daemon/flow_network.h"
#include "daemon/ingest/flow/flow_receiver.h"
#include "daemon/ingest/matrix_listener.h"
#include "daemon/ingestion.h"

namespace outlierd {

class FlowIntake {
 public:
  // A UDP or JSON listener, as the metrics show it.
  struct Door {
    std::string name;  // udp://0.0.0.0:2055
    std::size_t network = 0;
    std::vector<std::unique_ptr<ingest::FlowReceiver>> receivers;
    std::vector<ingest::FlowReceiverCounters> counters;  // of each
    std::vector<std::vector<std::byte>> decoder_states;
    std::unique_ptr<ingest::MatrixListener> listener;  // of JSON over TCP or Unix
  };

  // Throws std::runtime_error saying what is wrong or cannot be listened to. Reads nothing before
  // start(); `state` is what save() gave last, or empty.
  FlowIntake(boost::asio::any_io_executor network, const config::Config& config,
             Ingestion& ingestion, std::span<const std::byte> state);

  // Told of what opens and closes; before start().
  void on_operational(std::function<void(const OperationalEvent&)> told) {
    on_operational_ = std::move(told);
  }
  void start();
  void tick();  // every second
  // New node maps, without a pause; what is bad is named and the old stay.
  std::vector<std::string> reload(const config::Config& config);
  // Nothing more is read; when all that was is handed over, done.
  void stop(std::function<void()> done);
  // Templates and who was behind events; with the bins that still run, at the end.
  std::vector<std::byte> save(bool with_bins) const;

  void on_report(std::size_t network, const SliceReport& report) {
    networks_[network]->on_report(report);
  }
  const Behind* behind_event(const std::string& id) const;

  FlowNetwork& network(std::size_t k) { return *networks_[k]; }
  const std::vector<std::unique_ptr<FlowNetwork>>& networks() const { return networks_; }
  const std::vector<Door>& doors() const { return doors_; }
  std::uint16_t port(std::size_t door) const;
  static std::int64_t now();  // milliseconds

 private:
  void open(const config::FlowListener& settings, const config::Config& config,
            const std::vector<std::vector<std::byte>>& decoder_states);
  void open_udp(Door& door, std::size_t index, const config::FlowListener& settings,
                const config::NetworkConfig& network,
                const std::vector<std::vector<std::byte>>& decoder_states);
  void open_lines(Door& door, const config::FlowListener& settings);
  void take(std::size_t door, std::size_t receiver, ingest::FlowDelivery delivery);
  void hand_in(std::size_t network, std::vector<FinishedBin> finished);
  void tell(std::size_t network);
  void door_closed();

  boost::asio::any_io_executor executor_;
  Ingestion& ingestion_;
  std::vector<std::unique_ptr<FlowNetwork>> networks_;
  std::vector<std::shared_ptr<const NodeMap>> maps_;
  std::vector<Door> doors_;
  std::function<void()> stopped_;
  std::function<void(const OperationalEvent&)> on_operational_;
  std::size_t open_doors_ = 0;
};

}  // namespace outlierd
