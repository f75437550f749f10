#pragma once
// Templates and sampling rates as bytes: "OUTLFLOW", a version, the length and a checksum, then the
// domains, the least recently used first.

#include <cstddef>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/ingest/flow/exporter_state.h"

namespace outlierd::ingest {

std::vector<std::byte> save_state(const ExporterState& state);
// All or nothing: on a reason the state is as it was. What exceeds its limits makes room as usual.
tl::expected<void, std::string> restore_state(std::span<const std::byte> bytes,
                                              ExporterState& state);

}  // namespace outlierd::ingest
