#pragma once
// Who is behind a cell's traffic: a bounded sample of flow records, drawn in proportion to their
// bytes, from which the heaviest prefixes, ports, protocols and ASNs of any cell are estimated. A
// record is taken whenever so many further bytes have passed (systematic sampling), so that a
// record costs one addition and one comparison. A share s of n samples is off by about
// sqrt(s (1 - s) / n).
//
// Plain values; one thread each.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/traffic/flow_record.h"
#include "core/traffic/network.h"

namespace outlierd {

struct Talker {
  EpochSeconds bin = 0;
  std::uint32_t pair = 0;  // origin * nodes + destination
  double bytes = 0.0;      // that it stands for
  IpAddress source, destination;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint32_t source_as = 0, destination_as = 0;
  std::uint8_t protocol = 0;
};

class TalkerSampler {
 public:
  explicit TalkerSampler(std::size_t most = 512) : most_(most) {}

  void add(double bytes, const FlowRecord& record, std::uint32_t pair, EpochSeconds bin) {
    passed_ += bytes;
    if (passed_ >= step_) take(record, pair, bin);
  }
  std::vector<Talker> take();

 private:
  void take(const FlowRecord& record, std::uint32_t pair, EpochSeconds bin);

  std::size_t most_;
  double step_ = 1.0, passed_ = 0.0;
  std::vector<Talker> talkers_;
};

// At most `most` of them, standing for the same bytes.
void thin(std::vector<Talker>& talkers, std::size_t most);

// What one value of one dimension carries.
struct TalkerShare {
  std::string what;     // "192.0.2.0/24", "443", "udp", "AS64500"
  double bytes = 0.0;   // about, in the cells and the bin asked for
  double share = 0.0;   // of all bytes there
  double usual = -1.0;  // share in earlier bins; -1: nothing is known
};
struct TalkerDimension {
  std::string name;  // source_prefix, destination_prefix, source_port, ...
  std::vector<TalkerShare> top;
};
struct Behind {
  EpochSeconds time = 0;  // of the bin
  std::size_t samples = 0;
  std::vector<TalkerDimension> dimensions;
};

// Of the pairs given: `now` are talkers of the bin asked about, `before` of earlier ones.
Behind behind(std::span<const Talker> now, std::span<const Talker> before,
              const std::vector<bool>& pairs, std::size_t most_each = 5);

}  // namespace outlierd
