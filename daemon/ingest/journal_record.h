#pragma once
// What the journal holds: the parts that came and the decisions to close a bin, in the order they
// were made, so that a replay ends where the daemon stood. A part carries the names of its nodes:
// when the configuration has changed since, what is left of them is put in its place. Pure.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/traffic/bin_assembler.h"
#include "daemon/ingest/network_directory.h"

namespace outlierd::ingest {

struct PartRecord {
  std::string network;
  EpochSeconds received = 0;  // wall clock
  MatrixPart part;
};
struct CloseRecord {
  std::string network;
  EpochSeconds time = 0;  // this bin and all earlier ones
};
using JournalRecord = std::variant<PartRecord, CloseRecord>;

std::vector<std::byte> encode_part(const Network& network, EpochSeconds received,
                                   const MatrixPart& part);
std::vector<std::byte> encode_close(const std::string& network, EpochSeconds time);

// Nothing for bytes that are no record, or of a network or metric that is not watched any more.
std::optional<JournalRecord> decode_record(std::span<const std::byte> bytes,
                                           const NetworkDirectory& networks);

// The assembler's memory, as it is kept beside a model's snapshot.
std::vector<std::byte> encode_memory(const BinAssembler::Memory& memory);
std::optional<BinAssembler::Memory> decode_memory(std::span<const std::byte> bytes);

}  // namespace outlierd::ingest
