#pragma once
// The parts of the detector that can be left out, to measure what each brings (docs/detection.md).
// Nobody runs it so: no configuration knows them.

#include <cstdint>

namespace outlierd::detect {

enum class Part : std::uint8_t {
  kLowRank,
  kDaily,
  kTogether,
  kVolumes,
  kShares,
  kLonger,
  kShifts,
  kCalm,
  kRange,
  kNews
};

class PartsLeftOut {
 public:
  PartsLeftOut() = default;
  explicit PartsLeftOut(Part part) : bits_(1u << unsigned(part)) {}

  bool has(Part part) const { return (bits_ >> unsigned(part) & 1u) != 0; }
  unsigned bits() const { return bits_; }

 private:
  unsigned bits_ = 0;
};

}  // namespace outlierd::detect
