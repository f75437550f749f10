#pragma once
// Streams whose truth is known: low rank, noise, outliers, holes. Seeded; the same on every
// machine.

#include <cstdint>
#include <vector>

#include "core/traffic/slice.h"

namespace outlierd::test {

struct SyntheticOptions {
  SliceShape shape = {20, 20};
  int slices = 60;
  int rank = 3;
  double noise_db = -20.0;       // power of the noise relative to that of L
  double outlier_share = 0.0;    // of the cells
  double outlier_sigmas = 10.0;  // their size, either sign, in standard deviations of the noise
  double missing_share = 0.0;    // of the cells
  bool smooth = false;           // c_t: waves about a level instead of independent normals
  double scale = 1.0;            // of everything
  std::uint64_t seed = 1;
};

struct SyntheticStream {
  std::vector<Slice> slices;                       // Y_t; NaN stands where nothing was observed
  std::vector<std::vector<double>> low_rank;       // L_t, every cell
  std::vector<std::vector<std::uint8_t>> outlier;  // 1 where one was planted, observed or not
  double sigma = 0.0;                              // of the noise
};

SyntheticStream synthetic_stream(const SyntheticOptions& options);

}  // namespace outlierd::test
