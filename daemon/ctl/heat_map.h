#pragma once
// A matrix of origins and destinations drawn in a terminal: 256 colours, or shades of ASCII.
// Pure: values in, text out. A matrix wider than the terminal is drawn in blocks of nodes, each by
// its most extreme cell.

#include <string>
#include <vector>

namespace outlierd::ctl {

struct HeatMap {
  std::vector<std::string> nodes;
  std::vector<std::vector<double>> values;  // origin, destination; NaN: not observed
  bool is_signed = false;  // scores: from blue over nothing to red, not from small to large
};

std::string render(const HeatMap& map, bool color, int width);

}  // namespace outlierd::ctl
