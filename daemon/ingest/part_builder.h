#pragma once
// What JSON and CBOR have in common: the fields of a message, checked and put together into a part.
// Keys may come in any order, so names and values are gathered first and resolved in finish().

#include <optional>
#include <string>
#include <vector>

#include "daemon/ingest/decode_matrix.h"

namespace outlierd::ingest {

struct NamedCell {
  std::string_view origin, destination;  // into the message
  double value = 0.0;
};

struct MessageFields {
  std::optional<std::string_view> network, time, source, metric, rest;
  std::optional<std::uint64_t> sequence;
  bool complete = false;
  std::optional<std::vector<std::string_view>> nodes;

  bool has_values = false;  // a matrix, row by row, NaN where not observed
  std::vector<double> values;
  std::size_t rows = 0, columns = 0;

  bool has_cells = false;
  std::vector<NamedCell> cells;

  void clear();
};

Refusal refuse(RefusalReason reason, std::string message);
Refusal wrong_kind(std::string_view key, const char* wanted);

// `meant` is the network of the request's path, or empty.
tl::expected<DecodedPart, Refusal> finish(MessageFields& fields, const NetworkDirectory& networks,
                                          std::string_view meant);

// A volume: finite, not negative, and small enough to be squared.
std::optional<std::string> problem_of_value(double value);

}  // namespace outlierd::ingest
