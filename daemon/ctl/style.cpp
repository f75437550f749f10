#include "daemon/ctl/style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace outlierd::ctl {
namespace {

bool begins_character(char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; }

const char* code_of(Color color) {
  switch (color) {
    case Color::kRed:
      return "31";
    case Color::kYellow:
      return "33";
    case Color::kGreen:
      return "32";
    case Color::kDim:
      return "2";
    case Color::kBold:
      return "1";
    case Color::kNone:
      break;
  }
  return "0";
}

}  // namespace

std::string paint(std::string_view text, Color color, bool on) {
  if (!on || color == Color::kNone || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(color), text);
}

std::size_t display_width(std::string_view text) {
  return std::size_t(std::count_if(text.begin(), text.end(), begins_character));
}

std::string pad(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, display_width(text)), ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ') + std::string(text);
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t end = 0, characters = 0;
  for (; end < text.size(); ++end)
    if (begins_character(text[end]) && ++characters == width) break;
  return std::string(text.substr(0, end)) + "…";
}

std::string short_number(double value) {
  if (std::isnan(value)) return "-";
  constexpr std::array kUnits = {"", "k", "M", "G", "T", "P", "E"};
  double size = std::abs(value);
  std::size_t unit = 0;
  while (size >= 999.5 && unit + 1 < kUnits.size()) {
    size /= 1000.0;
    ++unit;
  }
  const char* sign = value < 0 ? "-" : "";
  if (size >= 999.5) return fmt::format("{:.2g}", value);
  if (size != 0 && size < 0.01) return fmt::format("{}{:.1e}", sign, size);
  std::string digits = size < 9.95 ? fmt::format("{:.{}f}", size, size < 0.995 ? 2 : 1)
                                   : fmt::format("{:.0f}", size);
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  return sign + digits + kUnits[unit];
}

Table::Table(const std::vector<std::string>& headings) {
  std::vector<Cell> row;
  for (const std::string& heading : headings) {
    right_.push_back(heading.starts_with('>'));
    row.emplace_back(heading.substr(right_.back() ? 1 : 0), Color::kBold);
  }
  rows_.push_back(std::move(row));
}

std::string Table::render(bool color, std::size_t width) const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t k = 0; k < row.size(); ++k)
      widths[k] = std::max(widths[k], display_width(row[k].text));
  std::string text;
  for (const auto& row : rows_) {
    std::size_t used = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const bool last = k + 1 == row.size();
      std::string cell = row[k].text;
      if (last && width > 0 && !right_[k])
        cell = shorten(cell, std::max<std::size_t>(width - std::min(width, used + 1), 8));
      const std::size_t blanks = widths[k] - std::min(widths[k], display_width(cell));
      if (k > 0) text += "  ";
      if (right_[k]) text.append(blanks, ' ');
      text += paint(cell, row[k].color, color);
      if (!right_[k] && !last) text.append(blanks, ' ');
      used += widths[k] + 2;
    }
    text += '\n';
  }
  return text;
}

}  // namespace outlierd::ctl
