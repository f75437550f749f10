#pragma once
// One description of a state for both ways: each part names its members once, in order, and a
// StateStream either writes them or reads them back.
//
// Reading may go from one set of nodes and metrics to another: arrays that run over them keep the
// entries of those in both and leave the others as the new object made them. The reader is total:
// after bytes that contradict themselves it reads nothing more, and failed() says so.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/byte_stream.h"

namespace outlierd::detect {

// Where each node and metric of the new network was in the old one; -1: nowhere.
struct Rearrangement {
  int old_nodes = 0, old_metrics = 0;
  std::vector<int> node_from, metric_from;
  bool same = true;  // nothing moved

  // The new index of an old one, or -1.
  int node_to(int old) const { return find(node_from, old); }
  int metric_to(int old) const { return find(metric_from, old); }

 private:
  static int find(const std::vector<int>& from, int old) {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] == old) return int(i);
    return -1;
  }
};

class StateStream {
 public:
  static constexpr std::uint32_t kVersion = 4;
  static constexpr std::uint32_t kOldest = 2;  // still read

  explicit StateStream(ByteWriter& out, std::uint32_t version = kVersion)
      : out_(&out), version_(version) {}
  StateStream(ByteReader& in, const Rearrangement& map, std::uint32_t version = kVersion)
      : in_(&in), map_(&map), version_(version) {}

  // Of the bytes. 3 has what 2 has not: pending events, usual ranges, profiles in 16 bits; 4 news.
  std::uint32_t version() const { return version_; }

  bool reading() const { return in_ != nullptr; }
  bool failed() const { return failed_ || (in_ && in_->failed()); }
  void fail() { failed_ = true; }
  const Rearrangement& map() const { return *map_; }

  template <PlainNumber T>
  void number(T& value) {
    if (!reading()) return out_->number(value);
    if (failed()) return;
    const T read = in_->number<T>();
    if (check(read)) value = read;
  }
  // As number(), refused outside [low, high].
  template <PlainNumber T>
  void number(T& value, T low, T high) {
    number(value);
    if (reading() && !(value >= low && value <= high)) {
      value = low;
      fail();
    }
  }
  // A list whose length may vary up to `most`.
  template <PlainNumber T>
  void list(std::vector<T>& values, std::size_t most) {
    std::uint64_t size = values.size();
    number(size, std::uint64_t{0}, std::uint64_t(most));
    if (reading()) {
      if (failed() || size * sizeof(T) > in_->rest().size()) return fail();
      values.resize(size);
    }
    fixed(values);
  }
  // Its length is known to both sides.
  template <PlainNumber T>
  void fixed(std::vector<T>& values) {
    if (!reading()) return out_->numbers(std::span<const T>(values));
    read_into(values);
  }
  void text(std::string& value, std::size_t most = 65536) {
    std::vector<char> letters(value.begin(), value.end());
    list(letters, most);
    if (reading()) value.assign(letters.begin(), letters.end());
  }

  // Arrays that run over nodes x nodes x metrics, nodes x metrics, metrics.
  template <PlainNumber T>
  void per_cell(std::vector<T>& values) {
    arranged(values, 2);
  }
  template <PlainNumber T>
  void per_node(std::vector<T>& values) {
    arranged(values, 1);
  }
  template <PlainNumber T>
  void per_metric(std::vector<T>& values) {
    arranged(values, 0);
  }
  // Bytes of a part that has its own format.
  void bytes(std::span<const std::byte> values) {
    out_->numbers(std::span<const std::uint8_t>(
        reinterpret_cast<const std::uint8_t*>(values.data()), values.size()));
  }
  std::span<const std::byte> take_bytes(std::uint64_t size) {
    if (failed() || size > in_->rest().size()) {
      fail();
      return {};
    }
    const auto taken = in_->rest().first(std::size_t(size));
    in_->skip(std::size_t(size));
    return taken;
  }

 private:
  template <PlainNumber T>
  bool check(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) fail();
    }
    return !failed();
  }
  template <PlainNumber T>
  void read_into(std::vector<T>& values) {
    if (failed()) return;
    std::vector<T> read(values.size());
    in_->numbers(std::span<T>(read));
    for (T value : read)
      if (!check(value)) return;
    if (!failed()) values.swap(read);
  }
  template <PlainNumber T>
  void arranged(std::vector<T>& values, int node_modes) {
    if (!reading()) return out_->numbers(std::span<const T>(values));
    if (map_->same) return read_into(values);
    std::size_t old_size = std::size_t(map_->old_metrics);
    for (int mode = 0; mode < node_modes; ++mode) old_size *= std::size_t(map_->old_nodes);
    if (failed() || old_size * sizeof(T) > in_->rest().size()) return fail();
    std::vector<T> old(old_size);
    read_into(old);
    if (failed()) return;
    const std::size_t nodes = map_->node_from.size(), metrics = map_->metric_from.size();
    for (std::size_t at = 0; at < values.size(); ++at) {
      std::size_t rest = at / metrics;
      const int metric = map_->metric_from[at % metrics];
      int low = 0, high = 0;
      if (node_modes > 0) low = map_->node_from[rest % nodes];
      if (node_modes > 1) high = map_->node_from[rest / nodes];
      if (metric < 0 || low < 0 || high < 0) continue;
      const std::size_t row = std::size_t(high) * std::size_t(map_->old_nodes) + std::size_t(low);
      values[at] = old[row * std::size_t(map_->old_metrics) + std::size_t(metric)];
    }
  }

  ByteWriter* out_ = nullptr;
  ByteReader* in_ = nullptr;
  const Rearrangement* map_ = nullptr;
  std::uint32_t version_ = kVersion;
  bool failed_ = false;
};

}  // namespace outlierd::detect
