// libFuzzer: any bytes as a message in JSON and in CBOR, and as a record of the journal. The first
// byte chooses. What is accepted must be safe to add to a bin.

#include "daemon/ingest/decode_matrix.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/traffic/bin_assembler.h"
#include "daemon/ingest/journal_record.h"

namespace {

using namespace outlierd;

const Network& network() {
  static const Network made{.name = "n", .nodes = {"A", "B", "C"}, .metrics = {"bytes", "packets"}};
  return made;
}

const ingest::NetworkDirectory& networks() {
  static const ingest::NetworkDirectory made = [] {
    ingest::NetworkDirectory directory;
    directory.emplace("n", ingest::KnownNetwork(network()));
    return directory;
  }();
  return made;
}

void add(const MatrixPart& part) {
  BinAssembler bins(network(), {});
  bins.add(part, 0);
  for (const ClosedBin& bin : bins.close_through(part.time))
    if (bin.slice.values.size() != 18) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  static ingest::MatrixDecoder decoder(networks());
  if (data[0] % 3 == 0) {
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    text.resize(text.size() + ingest::MatrixDecoder::kPadding);
    if (const auto decoded = decoder.json({text.data(), bytes.size()})) add(decoded->part);
  } else if (data[0] % 3 == 1) {
    if (const auto decoded = decoder.cbor(bytes)) add(decoded->part);
  } else if (const auto record = ingest::decode_record(bytes, networks())) {
    if (const auto* part = std::get_if<ingest::PartRecord>(&*record)) add(part->part);
  }
  return 0;
}
