#include "config/schema.h"

namespace outlierd::config {

Network network_of(const NetworkConfig& network) {
  return {network.name, network.nodes, network.metrics, int(network.bin.count())};
}

PipelineOptions pipeline_options_of(const NetworkConfig& network) {
  PipelineOptions options;
  options.model.max_rank = network.model.max_rank;
  options.model.window = network.model.window;
  options.model.forgetting = network.model.forgetting;
  options.detection.false_alarms_per_day = network.detection.false_alarms_per_day;
  options.detection.minimum_share = network.detection.minimum_share;
  options.detection.close_after_slices = network.detection.close_after_slices;
  return options;
}

Config demo_config() {
  NetworkConfig demo;
  demo.name = "demo";
  demo.nodes = {"amsterdam", "berlin", "dublin", "frankfurt", "london", "madrid",
                "milan",     "paris",  "prague", "stockholm", "vienna", "zurich"};
  Config config;
  config.networks.push_back(std::move(demo));
  return config;
}

}  // namespace outlierd::config
