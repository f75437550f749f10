#pragma once
// One CBOR map (RFC 8949) into the fields of a message, with packed float32 or float64 matrices
// (RFC 8746, tags 85 and 86). Total; nesting and lengths are bounded by the bytes at hand.

#include <cstddef>
#include <optional>
#include <span>

#include "daemon/ingest/part_builder.h"

namespace outlierd::ingest {

// Views in `fields` point into the bytes.
std::optional<Refusal> read_cbor(std::span<const std::byte> bytes, MessageFields& fields);

}  // namespace outlierd::ingest
