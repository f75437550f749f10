#include "daemon/ctl/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "daemon/ctl/style.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

constexpr std::array kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::size_t kAxis = 8;  // columns of the scale on the left

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

bool outside(const ChartPoint& point) {
  return point.observed > point.high || point.observed < point.low;
}

// The most anomalous of the points that share a column.
const ChartPoint& speaker(const ChartPoint* first, const ChartPoint* last) {
  const auto weight = [](const ChartPoint& point) {
    if (std::isnan(point.observed)) return -1.0;
    return (outside(point) ? 1e6 : 0.0) + (std::isnan(point.score) ? 0.0 : std::abs(point.score));
  };
  return *std::max_element(
      first, last, [&](const ChartPoint& a, const ChartPoint& b) { return weight(a) < weight(b); });
}

class Canvas {
 public:
  Canvas(Range range, int height, bool color) : range_(range), height_(height), color_(color) {}

  // From 0 at the top; nothing when there is no value.
  std::optional<int> row_of(double value) const {
    if (!std::isfinite(value)) return std::nullopt;
    const double span = range_.high - range_.low;
    const double share = span > 0 ? (value - range_.low) / span : 0.5;
    return int(std::lround((1.0 - std::clamp(share, 0.0, 1.0)) * (height_ - 1)));
  }

  std::string draw(const ChartPoint& point, int row) const {
    if (row_of(point.observed) == row)
      return outside(point) ? paint("!", Color::kRed, color_) : paint("●", Color::kBold, color_);
    if (row_of(point.expected) == row) return paint("─", Color::kGreen, color_);
    const auto top = row_of(point.high), bottom = row_of(point.low);
    if (top && bottom && *top <= row && row <= *bottom) return paint("░", Color::kDim, color_);
    return " ";
  }

 private:
  Range range_;
  int height_;
  bool color_;
};

}  // namespace

std::string sparkline(const std::vector<double>& values, std::size_t width) {
  Range range;
  for (double value : values) range.take(value);
  const std::size_t columns = std::min(width, values.size());
  std::string text;
  for (std::size_t k = 0; k < columns; ++k) {
    double most = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = k * values.size() / columns; i < (k + 1) * values.size() / columns; ++i)
      if (std::isnan(most) || values[i] > most) most = values[i];
    if (!std::isfinite(most)) {
      text += ' ';
      continue;
    }
    const double span = range.high - range.low;
    const double share = span > 0 ? (most - range.low) / span : 0.0;
    text += kBlocks[std::min<std::size_t>(7, std::size_t(share * 8.0))];
  }
  return text;
}

std::string render_chart(const std::vector<ChartPoint>& points, int width, int height, bool color) {
  if (points.empty()) return "no points\n";
  Range range;
  for (const ChartPoint& point : points) {
    range.take(point.observed);
    range.take(point.expected);
    range.take(point.low);
    range.take(point.high);
  }
  const std::size_t room = std::size_t(std::max(width, 30)) - kAxis - 1;
  const std::size_t columns = std::min(room, points.size());
  std::vector<ChartPoint> shown;
  for (std::size_t k = 0; k < columns; ++k)
    shown.push_back(speaker(points.data() + k * points.size() / columns,
                            points.data() + (k + 1) * points.size() / columns));
  const Canvas canvas(range, height, color);
  std::string text;
  for (int row = 0; row < height; ++row) {
    const bool labelled = row == 0 || row == height - 1 || row == height / 2;
    const double value = range.high - (range.high - range.low) * row / std::max(1, height - 1);
    std::string line =
        pad_left(labelled && std::isfinite(value) ? short_number(value) : "", kAxis - 1) + "│";
    for (const ChartPoint& point : shown) line += canvas.draw(point, row);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  const std::string first = format_time(points.front().time),
                    last = format_time(points.back().time);
  text += std::string(kAxis, ' ') + first;
  if (columns > first.size() + last.size() + 1)
    text += std::string(columns - first.size() - last.size(), ' ') + last;
  else
    text += " to " + last;
  return text + '\n';
}

}  // namespace outlierd::ctl
