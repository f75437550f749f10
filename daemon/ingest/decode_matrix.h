#pragma once
// Bytes into matrix parts: a JSON object or its CBOR twin (CONTRACT.md, "Matrices over a socket").
// Pure and total: any bytes give a part or a reason that names the place ("values[1][0]: not a
// number"). One decoder, one thread; it keeps its buffers between calls.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "core/traffic/matrix_part.h"
#include "daemon/ingest/network_directory.h"

namespace outlierd::ingest {

enum class RefusalReason {
  kMalformed,       // not JSON or CBOR, or not an object
  kUnknownNetwork,  // or none named
  kUnknownNode,
  kUnknownMetric,
  kBadTime,
  kBadShape,
  kNotANumber,  // or negative, or beyond all measure
  kBadField,    // a key of the wrong kind, or one nobody knows
};
inline constexpr int kRefusalReasons = 8;
const char* name_of(RefusalReason reason);

struct Refusal {
  RefusalReason reason = RefusalReason::kMalformed;
  std::string message;
};

struct DecodedPart {
  const KnownNetwork* network = nullptr;
  MatrixPart part;
  std::size_t cells = 0;  // observed cells it names
};

class MatrixDecoder {
 public:
  explicit MatrixDecoder(const NetworkDirectory& networks);
  ~MatrixDecoder();
  MatrixDecoder(MatrixDecoder&&) noexcept;

  // `text` must be followed by kPadding readable bytes. `network`, where not empty, is meant where
  // the object names none, and must be the one it names.
  tl::expected<DecodedPart, Refusal> json(std::string_view text, std::string_view network = {});
  tl::expected<DecodedPart, Refusal> cbor(std::span<const std::byte> bytes,
                                          std::string_view network = {});

  static constexpr std::size_t kPadding = 64;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace outlierd::ingest
