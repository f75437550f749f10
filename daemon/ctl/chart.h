#pragma once
// A series in a terminal: a line of eighth blocks, or a small chart with the band of what is
// usual. Pure. Where there are more points than columns, a column shows its most anomalous point.

#include <string>
#include <vector>

#include "core/traffic/network.h"

namespace outlierd::ctl {

// ▁▂▃▄▅▆▇█, a blank for NaN; from the smallest to the largest value.
std::string sparkline(const std::vector<double>& values, std::size_t width);

struct ChartPoint {  // NaN: not known
  EpochSeconds time = 0;
  double observed = 0.0, expected = 0.0, low = 0.0, high = 0.0, score = 0.0;
};

// ● observed (! where it lies outside the band), ─ expected, ░ the band.
std::string render_chart(const std::vector<ChartPoint>& points, int width, int height, bool color);

}  // namespace outlierd::ctl
