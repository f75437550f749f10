#include "daemon/ctl/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "daemon/ctl/style.h"

namespace outlierd::ctl {
namespace {

constexpr std::array kRamp = {17, 18, 24, 30, 36, 42, 78, 114, 150, 186, 222, 228};
constexpr std::array kUp = {224, 217, 210, 203, 196, 160};
constexpr std::array kDown = {153, 117, 75, 33, 27, 21};
constexpr std::string_view kShades = " .:-=+*#%@";
constexpr std::string_view kSignedShades = " .:*#@";
constexpr double kSmallestShare = 1e-4;  // of the largest: the dark end of the ramp
constexpr double kFullScore = 8.0;       // the strongest colour of scores at least
constexpr std::size_t kLongestName = 12;

// Blocks of `size` nodes, by the cell that is furthest from nothing.
HeatMap in_blocks(const HeatMap& map, std::size_t size) {
  HeatMap small;
  small.is_signed = map.is_signed;
  const std::size_t nodes = map.nodes.size(), blocks = (nodes + size - 1) / size;
  for (std::size_t k = 0; k < nodes; k += size) small.nodes.push_back(map.nodes[k]);
  small.values.assign(blocks,
                      std::vector<double>(blocks, std::numeric_limits<double>::quiet_NaN()));
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t j = 0; j < nodes; ++j) {
      double& most = small.values[i / size][j / size];
      const double value = map.values[i][j];
      if (!std::isnan(value) && (std::isnan(most) || std::abs(value) > std::abs(most)))
        most = value;
    }
  return small;
}

double largest(const HeatMap& map) {
  double most = 0.0;
  for (const auto& row : map.values)
    for (double value : row)
      if (!std::isnan(value)) most = std::max(most, std::abs(value));
  return most;
}

// 0 to 1: how strong a value is drawn.
double strength(double value, double most, bool is_signed) {
  if (most <= 0) return 0.0;
  if (is_signed) return std::min(1.0, std::abs(value) / std::max(most, kFullScore));
  if (value <= kSmallestShare * most) return 0.0;
  return 1.0 - std::log(value / most) / std::log(kSmallestShare);
}

template <class Steps>
auto step_of(const Steps& steps, double strength) {
  return steps[std::min(steps.size() - 1, std::size_t(strength * double(steps.size())))];
}

std::string draw(double value, double most, const HeatMap& map, bool color, std::size_t wide) {
  if (std::isnan(value))
    return color ? paint(wide == 2 ? "··" : "·", Color::kDim, true)
                 : std::string(wide - 1, ' ') + "?";
  const double share = strength(value, most, map.is_signed);
  if (color) {
    const bool nothing = map.is_signed && share < 1.0 / 16;
    if (nothing) return std::string(wide, ' ');
    const int shade = !map.is_signed ? step_of(kRamp, share)
                      : value > 0    ? step_of(kUp, share)
                                     : step_of(kDown, share);
    return fmt::format("\x1b[48;5;{}m{}\x1b[0m", shade, std::string(wide, ' '));
  }
  const char shade = map.is_signed ? step_of(kSignedShades, share) : step_of(kShades, share);
  std::string text(wide, shade);
  if (map.is_signed && value < 0 && shade != ' ') text[0] = '-';
  return text;
}

// The names of the destinations, read downwards.
std::string headings(const std::vector<std::string>& names, std::size_t indent, std::size_t wide) {
  std::size_t longest = 0;
  for (const std::string& name : names)
    longest = std::max(longest, std::min(name.size(), kLongestName));
  std::string text;
  for (std::size_t line = 0; line < longest; ++line) {
    std::string row(indent, ' ');
    for (const std::string& name : names) {
      const std::size_t skipped = longest - std::min(name.size(), longest);
      row += line < skipped ? ' ' : name[line - skipped];
      row.append(wide - 1, ' ');
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

}  // namespace

std::string render(const HeatMap& map, bool color, int width) {
  std::size_t indent = 0;
  for (const std::string& node : map.nodes)
    indent = std::max(indent, std::min(node.size(), kLongestName));
  ++indent;
  const std::size_t room = std::size_t(std::max(width, 20)) - std::min(indent, std::size_t{15});
  if (map.nodes.size() > room)
    return render(in_blocks(map, (map.nodes.size() + room - 1) / room), color, width);
  const std::size_t wide = 2 * map.nodes.size() <= room ? 2 : 1;
  const double most = largest(map);
  std::string text = headings(map.nodes, indent, wide);
  for (std::size_t i = 0; i < map.nodes.size(); ++i) {
    text += pad(map.nodes[i].substr(0, kLongestName), indent);
    std::string row;
    for (double value : map.values[i]) row += draw(value, most, map, color, wide);
    if (!color) row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  const std::string hole = color ? "·" : "?";
  if (map.is_signed)
    text += fmt::format("up and down to {}, {} not observed\n", short_number(most), hole);
  else
    text += fmt::format("from {} to {} (logarithmic), {} not observed\n",
                        short_number(kSmallestShare * most), short_number(most), hole);
  return text;
}

}  // namespace outlierd::ctl
