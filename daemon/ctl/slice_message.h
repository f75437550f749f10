#pragma once
// A bin of traffic as the daemon takes it: JSON, or CBOR with the values packed as float32
// (RFC 8746, tag 85). Cells without a column, and empty ones, are not observed.

#include <cstdint>
#include <string>

#include "daemon/ctl/traffic_csv.h"

namespace outlierd::ctl {

class SliceMessage {
 public:
  // The sequence of a part is the number of its bin, so that sending it again replaces it.
  SliceMessage(const TrafficColumns& columns, std::string network, std::string source,
               int bin_seconds);

  void append_json(const TrafficRow& row, std::string& out) const;  // without a line's end
  void append_cbor(const TrafficRow& row, std::string& out) const;

 private:
  std::int64_t sequence_of(const TrafficRow& row) const;

  std::string network_, source_;
  std::vector<std::string> nodes_;
  std::string json_begin_, json_nodes_, json_source_;
  std::vector<std::int64_t> column_of_cell_;  // -1: none
  int bin_seconds_;
};

}  // namespace outlierd::ctl
