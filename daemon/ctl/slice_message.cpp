#include "daemon/ctl/slice_message.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

enum CborMajor : unsigned {
  kUnsigned = 0,
  kNegative = 1,
  kBytes = 2,
  kText = 3,
  kArray = 4,
  kMap = 5,
  kTag = 6
};
constexpr unsigned kFloat32LittleEndian = 85;

void cbor_head(std::string& out, CborMajor major, std::uint64_t value) {
  const int bytes = value < 24         ? 0
                    : value < 0x100    ? 1
                    : value < 0x10000  ? 2
                    : value >> 32 == 0 ? 4
                                       : 8;
  const unsigned low =
      bytes == 0 ? unsigned(value) : 24u + unsigned(std::countr_zero(unsigned(bytes)));
  out += char(major << 5 | low);
  for (int k = bytes - 1; k >= 0; --k) out += char(value >> (8 * k) & 0xff);
}
void cbor_text(std::string& out, std::string_view text) {
  cbor_head(out, kText, text.size());
  out += text;
}
void cbor_integer(std::string& out, std::int64_t value) {
  if (value >= 0) return cbor_head(out, kUnsigned, std::uint64_t(value));
  cbor_head(out, kNegative, std::uint64_t(-(value + 1)));
}

}  // namespace

SliceMessage::SliceMessage(const TrafficColumns& columns, std::string network, std::string source,
                           int bin_seconds)
    : network_(std::move(network)),
      source_(std::move(source)),
      nodes_(columns.nodes),
      column_of_cell_(columns.nodes.size() * columns.nodes.size(), -1),
      bin_seconds_(bin_seconds) {
  for (std::size_t k = 0; k < columns.pairs.size(); ++k)
    column_of_cell_[std::size_t(columns.pairs[k].origin) * nodes_.size() +
                    std::size_t(columns.pairs[k].destination)] = std::int64_t(k);
  for (const std::string& node : nodes_)
    json_nodes_ += (json_nodes_.empty() ? "" : ",") + json_text(node);
  json_begin_ = "{\"network\":" + json_text(network_) + ",\"time\":\"";
  json_source_ = json_text(source_);
}

std::int64_t SliceMessage::sequence_of(const TrafficRow& row) const {
  return row.time / bin_seconds_;
}

void SliceMessage::append_json(const TrafficRow& row, std::string& out) const {
  out += json_begin_;
  out += format_time(row.time);
  out += "\",\"nodes\":[";
  out += json_nodes_;
  out += "],\"values\":[";
  const std::size_t nodes = nodes_.size();
  for (std::size_t cell = 0; cell < column_of_cell_.size(); ++cell) {
    if (cell % nodes == 0)
      out += cell == 0 ? "[" : "],[";
    else
      out += ',';
    const std::int64_t column = column_of_cell_[cell];
    if (column < 0 || std::isnan(row.values[std::size_t(column)]))
      out += "null";
    else
      append_number(out, row.values[std::size_t(column)]);
  }
  out += fmt::format("]],\"source\":{},\"sequence\":{},\"complete\":true}}", json_source_,
                     sequence_of(row));
}

void SliceMessage::append_cbor(const TrafficRow& row, std::string& out) const {
  cbor_head(out, kMap, 7);
  cbor_text(out, "network");
  cbor_text(out, network_);
  cbor_text(out, "time");
  cbor_text(out, format_time(row.time));
  cbor_text(out, "nodes");
  cbor_head(out, kArray, nodes_.size());
  for (const std::string& node : nodes_) cbor_text(out, node);
  cbor_text(out, "source");
  cbor_text(out, source_);
  cbor_text(out, "sequence");
  cbor_integer(out, sequence_of(row));
  cbor_text(out, "complete");
  out += char(0xf5);  // true
  cbor_text(out, "values");
  cbor_head(out, kTag, kFloat32LittleEndian);
  cbor_head(out, kBytes, column_of_cell_.size() * sizeof(float));
  for (const std::int64_t column : column_of_cell_) {
    const float value = column < 0 ? std::numeric_limits<float>::quiet_NaN()
                                   : float(row.values[std::size_t(column)]);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int k = 0; k < 4; ++k) out += char(bits >> (8 * k) & 0xff);
  }
}

}  // namespace outlierd::ctl
