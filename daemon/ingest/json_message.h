#pragma once
// One JSON object into the fields of a message. simdjson's DOM chooses its instructions when the
// program runs (its on-demand parser does so when compiled). For .cpp files only: it is heavy.

#include <simdjson.h>

#include <optional>
#include <string_view>

#include "daemon/ingest/part_builder.h"

namespace outlierd::ingest {

// The text must be followed by simdjson::SIMDJSON_PADDING readable bytes. Views in `fields` point
// into the parser: valid until its next use.
std::optional<Refusal> read_json(simdjson::dom::parser& parser, std::string_view text,
                                 MessageFields& fields);

}  // namespace outlierd::ingest
