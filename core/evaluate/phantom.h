#pragma once
// A moving picture in the manner of a cardiac MRI slice: a body, lungs, spine, two chambers that
// beat and a chest that breathes. Generated, so that anyone can have it; values from 0 to 1.
//
// observe() gives what a scanner in a hurry would have of a frame: a few of the pixels, with noise,
// and a few of those corrupted. Pure and seeded.

#include <cstdint>
#include <vector>

#include "core/traffic/slice.h"

namespace outlierd::evaluate {

struct PhantomOptions {
  int size = 128;
  double beat_frames = 12.5, breath_frames = 47.0;
  double observed = 0.15;    // share of the pixels
  double noise = 0.02;       // standard deviation
  double corrupted = 0.005;  // share of the observed pixels that are anything between -1 and 2
  std::uint64_t seed = 1;
};

// Row by row, size x size.
std::vector<double> phantom_frame(const PhantomOptions& options, int frame);
Slice observe(const PhantomOptions& options, int frame, const std::vector<double>& truth);

}  // namespace outlierd::evaluate
