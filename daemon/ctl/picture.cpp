#include "daemon/ctl/picture.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace outlierd::ctl {
namespace {

constexpr int kWidth = 930, kHeight = 340, kLeft = 56, kRight = 260, kTop = 30, kBottom = 44;
constexpr int kNameHeight = 17;  // of a line's name, beside the chart
constexpr std::array<const char*, 10> kColours = {"#1b6ca8", "#d1495b", "#3a7d44", "#e08e0b",
                                                  "#6f4e9c", "#00798c", "#8c564b", "#7f7f7f",
                                                  "#c71f8e", "#222222"};

void append_big_endian(std::string& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += char((value >> shift) & 0xff);
}

void append_chunk(std::string& png, const std::string& kind, const std::string& data) {
  append_big_endian(png, std::uint32_t(data.size()));
  const std::string body = kind + data;
  png += body;
  append_big_endian(
      png, std::uint32_t(crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size()))));
}

std::string base64(const std::string& bytes) {
  static const char* const kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j)
      three = three << 8 | (k + j < bytes.size() ? std::uint8_t(bytes[k + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      text += k + j > bytes.size() ? '=' : kLetters[three >> (18 - 6 * j) & 63];
  }
  return text;
}

// 1, 2 or 5 times a power of ten, so that there are about five steps.
double nice_step(double range) {
  const double raw = range / 5.0, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10.0 * power;
}

struct Axis {
  double low, high, from, to;  // values, pixels
  bool log;
  double at(double value) const {
    const auto place = [&](double v) { return log ? std::log10(v) : v; };
    return from + (to - from) * (place(value) - place(low)) / (place(high) - place(low));
  }
};

std::string ticks(const Axis& x, const Axis& y, const std::vector<double>& x_ticks) {
  std::string svg;
  for (double tick : x_ticks)
    svg += fmt::format("<text x='{:.1f}' y='{}' class='t' text-anchor='middle'>{:g}</text>",
                       x.at(tick), kHeight - kBottom + 16, tick);
  const double step = nice_step(y.high - y.low);
  for (double tick = std::ceil(y.low / step) * step; tick <= y.high + 1e-9; tick += step)
    svg += fmt::format(
        "<line x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}' class='g'/>"
        "<text x='{}' y='{:.1f}' class='t' text-anchor='end'>{:g}</text>",
        kLeft, kWidth - kRight, y.at(tick), y.at(tick), kLeft - 6, y.at(tick) + 4,
        std::round(tick / step) * step);
  return svg;
}

std::string path_of(const ChartLine& line, const Axis& x, const Axis& y) {
  std::string path;
  bool begun = false;
  for (const auto& [px, py] : line.points) {
    if (!std::isfinite(px) || !std::isfinite(py)) {
      begun = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", begun ? "L" : "M", x.at(px),
                        y.at(std::clamp(py, y.low, y.high)));
    begun = true;
  }
  return path;
}

// Where the colours begin again the line is another.
const char* dashes_of(std::size_t line) {
  constexpr std::array kDashes = {"", " stroke-dasharray='5 3'", " stroke-dasharray='1 3'"};
  return kDashes[line / kColours.size() % kDashes.size()];
}

}  // namespace

std::string grey_png_url(const std::vector<double>& values, int width, int height) {
  std::string raw;
  for (int row = 0; row < height; ++row) {
    raw += '\0';  // no filter
    for (int column = 0; column < width; ++column) {
      const double value = values[std::size_t(row) * std::size_t(width) + std::size_t(column)];
      raw += char(std::uint8_t(
          std::lround(255.0 * std::clamp(std::isfinite(value) ? value : 0.0, 0.0, 1.0))));
    }
  }
  uLongf size = compressBound(uLong(raw.size()));
  std::string packed(size, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
            reinterpret_cast<const Bytef*>(raw.data()), uLong(raw.size()), 9);
  packed.resize(size);
  std::string header;
  append_big_endian(header, std::uint32_t(width));
  append_big_endian(header, std::uint32_t(height));
  header += std::string("\x08\x00\x00\x00\x00", 5);  // eight bits, grey
  std::string png("\x89PNG\r\n\x1a\n", 8);
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", packed);
  append_chunk(png, "IEND", "");
  return "data:image/png;base64," + base64(png);
}

std::string html_text(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '<')
      out += "&lt;";
    else if (letter == '>')
      out += "&gt;";
    else if (letter == '&')
      out += "&amp;";
    else
      out += letter;
  }
  return out;
}

std::string svg_chart(const ChartText& text, const std::vector<ChartLine>& lines) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double low_x = kNone, high_x = -kNone, high_y = text.most_y;
  std::vector<double> x_ticks;
  for (const ChartLine& line : lines)
    for (const auto& [x, y] : line.points) {
      low_x = std::min(low_x, x);
      high_x = std::max(high_x, x);
      if (text.most_y == 0.0 && std::isfinite(y)) high_y = std::max(high_y, y);
      if (text.log_x) x_ticks.push_back(x);
    }
  if (!(high_x > low_x)) return "<p>(nothing to draw)</p>";
  if (!(high_y > text.least_y)) high_y = text.least_y + 1.0;
  if (!text.log_x)
    for (double step = nice_step(high_x - low_x), at = std::ceil(low_x / step) * step; at <= high_x;
         at += step)
      x_ticks.push_back(at);
  std::sort(x_ticks.begin(), x_ticks.end());
  x_ticks.erase(std::unique(x_ticks.begin(), x_ticks.end()), x_ticks.end());
  const Axis x{low_x, high_x, double(kLeft), double(kWidth - kRight), text.log_x};
  const Axis y{text.least_y, high_y, double(kHeight - kBottom), double(kTop), false};
  std::string svg = fmt::format(
      "<svg viewBox='0 0 {} {}' role='img' aria-label='{}'><text x='{}' y='18' class='h'>{}</text>",
      kWidth, std::max(kHeight, kTop + kNameHeight * int(lines.size()) + 8), html_text(text.title),
      kLeft, html_text(text.title));
  svg += ticks(x, y, x_ticks);
  svg += fmt::format("<text x='{}' y='{}' class='t' text-anchor='middle'>{}</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 8, html_text(text.x));
  svg += fmt::format(
      "<text x='14' y='{}' class='t' text-anchor='middle' transform='rotate(-90 14 {})'>{}</text>",
      (kTop + kHeight - kBottom) / 2, (kTop + kHeight - kBottom) / 2, html_text(text.y));
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const char* colour = kColours[k % kColours.size()];
    svg += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='1.6'{}/>",
                       path_of(lines[k], x, y), colour, dashes_of(k));
    const int at = kTop + 8 + int(k) * kNameHeight;
    svg += fmt::format(
        "<line x1='{}' x2='{}' y1='{}' y2='{}' stroke='{}' stroke-width='3'{}/>"
        "<text x='{}' y='{}' class='t'>{}</text>",
        kWidth - kRight + 10, kWidth - kRight + 28, at, at, colour, dashes_of(k),
        kWidth - kRight + 34, at + 4, html_text(lines[k].name));
  }
  return svg + "</svg>";
}

}  // namespace outlierd::ctl
