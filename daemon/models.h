#pragma once
// The networks' models. Each is touched by one thread at a time: at start by the caller, then by
// its lane of the math threads.

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/schema.h"
#include "config/time_zone.h"
#include "core/baselines/method.h"
#include "core/pipeline.h"
#include "core/traffic/bin_assembler.h"

namespace outlierd {

class Model {
 public:
  explicit Model(const config::NetworkConfig& settings);

  const std::shared_ptr<const Network>& network() const { return network_; }
  const PipelineOptions& options() const { return options_; }

  struct Processed {
    std::shared_ptr<const SliceReport> report;  // null: the bin is in the model already
    std::chrono::duration<double> time{};
  };
  Processed process(const ClosedBin& bin);

  std::vector<Event> pending_events() const;

  // With what the assembler must remember, as one snapshot. Of another method than outlierd's only
  // that: it begins anew.
  std::vector<std::byte> save(const BinAssembler::Memory& memory) const;
  // What the assembler remembered; or why this cannot be used, the model being new then.
  tl::expected<BinAssembler::Memory, std::string> restore(std::span<const std::byte> state);

 private:
  std::shared_ptr<const Network> network_;
  PipelineOptions options_;
  config::TimeZone time_zone_;
  // One of the two.
  std::optional<Pipeline> own_;
  std::unique_ptr<baselines::Method> other_;
  EpochSeconds last_time_ = std::numeric_limits<EpochSeconds>::min();
};

}  // namespace outlierd
