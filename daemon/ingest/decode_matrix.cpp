#include "daemon/ingest/decode_matrix.h"

#include <simdjson.h>

#include "daemon/ingest/cbor_message.h"
#include "daemon/ingest/json_message.h"
#include "daemon/ingest/part_builder.h"

namespace outlierd::ingest {

namespace {
constexpr std::size_t kKeptBytes = std::size_t{4} << 20;
}

static_assert(MatrixDecoder::kPadding >= simdjson::SIMDJSON_PADDING);

const char* name_of(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kMalformed:
      return "malformed";
    case RefusalReason::kUnknownNetwork:
      return "unknown_network";
    case RefusalReason::kUnknownNode:
      return "unknown_node";
    case RefusalReason::kUnknownMetric:
      return "unknown_metric";
    case RefusalReason::kBadTime:
      return "bad_time";
    case RefusalReason::kBadShape:
      return "bad_shape";
    case RefusalReason::kNotANumber:
      return "not_a_number";
    case RefusalReason::kBadField:
      return "bad_field";
  }
  return "unknown";
}

class MatrixDecoder::State {
 public:
  explicit State(const NetworkDirectory& known) : networks(known) {}

  const NetworkDirectory& networks;
  simdjson::dom::parser parser;
  MessageFields fields;
};

MatrixDecoder::MatrixDecoder(const NetworkDirectory& networks)
    : state_(std::make_unique<State>(networks)) {}
MatrixDecoder::~MatrixDecoder() = default;
MatrixDecoder::MatrixDecoder(MatrixDecoder&&) noexcept = default;

tl::expected<DecodedPart, Refusal> MatrixDecoder::json(std::string_view text,
                                                       std::string_view network) {
  state_->fields.clear();
  std::optional<Refusal> refusal = read_json(state_->parser, text, state_->fields);
  tl::expected<DecodedPart, Refusal> decoded =
      refusal ? tl::unexpected(std::move(*refusal))
              : finish(state_->fields, state_->networks, network);
  // One huge message must not hold its memory for months.
  if (text.size() > kKeptBytes) state_->parser = simdjson::dom::parser();
  return decoded;
}

tl::expected<DecodedPart, Refusal> MatrixDecoder::cbor(std::span<const std::byte> bytes,
                                                       std::string_view network) {
  state_->fields.clear();
  if (auto refusal = read_cbor(bytes, state_->fields)) return tl::unexpected(std::move(*refusal));
  return finish(state_->fields, state_->networks, network);
}

}  // namespace outlierd::ingest
