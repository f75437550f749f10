#pragma once
// Pictures inside an HTML page: grey PNGs as data URLs, line charts as SVG. Pure.

#include <string>
#include <utility>
#include <vector>

namespace outlierd::ctl {

// Row by row, 0 black to 1 white; "data:image/png;base64,...".
std::string grey_png_url(const std::vector<double>& values, int width, int height);

struct ChartLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x, y; a NaN interrupts the line
};

struct ChartText {
  std::string title, x, y;
  bool log_x = false;
  double least_y = 0.0, most_y = 0.0;  // most_y 0: what the lines have
};

std::string svg_chart(const ChartText& text, const std::vector<ChartLine>& lines);
std::string html_text(const std::string& text);  // escaped

}  // namespace outlierd::ctl
