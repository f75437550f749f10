// Fuzz target: any bytes into StreamingFactorizer::restore, for a few kinds of stream. What is
// taken must be a factorizer that works and can be saved again.
//
// The first byte says how to take the rest: even, as it stands; odd, behind a header made to fit,
// so that the checksum is no obstacle to what lies behind it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "core/byte_stream.h"
#include "core/model/streaming_factorizer.h"

namespace {

using namespace outlierd;
using namespace outlierd::model;

struct Kind {
  SliceShape shape;
  FactorizerOptions options;
};

FactorizerOptions small_options(int window, int max_rank, Rules rules = Rules::kOutlierd) {
  FactorizerOptions options;
  options.rules = rules;
  options.window = window;
  options.max_rank = max_rank;
  options.cold_sweeps = 5;
  options.level_slices = 2;
  options.reseed_slices = 1;
  return options;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {{{3, 4}, small_options(5, 2)},
                                        {{3, 2, 3}, small_options(6, 1)},
                                        {{5}, small_options(8, 2)},
                                        {{2, 3}, small_options(3, 2, Rules::kPaper)}};
  return all;
}

std::vector<std::byte> with_header(std::span<const std::byte> body) {
  ByteWriter out;
  for (char letter : {'O', 'U', 'T', 'L', 'F', 'A', 'C', 'T'}) out.number(letter);
  out.number(std::uint32_t{1});
  out.number(std::uint64_t(body.size()));
  out.number(crc64(body));
  for (std::byte byte : body) out.number(std::uint8_t(byte));
  return out.take();
}

void demand(bool holds) {
  if (!holds) std::abort();
}

void try_to_resume(std::span<const std::byte> bytes, const Kind& kind) {
  auto restored = StreamingFactorizer::restore(bytes, kind.shape, kind.options);
  if (!restored) {
    demand(!restored.error().empty());
    return;
  }
  // What was restored is what would be saved.
  const std::vector<std::byte> saved = restored->save();
  demand(saved.size() == bytes.size());
  Slice slice(kind.shape);
  for (std::size_t cell = 0; cell < slice.values.size(); ++cell)
    if (cell != 1) slice.set(cell, 1.0 + double(cell));
  for (int k = 0; k < 2; ++k) restored->update(slice);
  restored->fitted();
  restored->evidence_bound();
  restored->component_strengths();
  // Two slices on, it is still a state that can be saved and restored.
  demand(StreamingFactorizer::restore(restored->save(), kind.shape, kind.options).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const std::vector<std::byte> dressed =
      data[0] % 2 == 1 ? with_header(bytes) : std::vector<std::byte>(bytes.begin(), bytes.end());
  for (const Kind& kind : kinds()) try_to_resume(dressed, kind);
  return 0;
}
