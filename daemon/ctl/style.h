#pragma once
// Text for people: colour, columns, short numbers. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace outlierd::ctl {

enum class Color { kNone, kRed, kYellow, kGreen, kDim, kBold };
std::string paint(std::string_view text, Color color, bool on);

std::size_t display_width(std::string_view text);           // characters of UTF-8, not bytes
std::string pad(std::string_view text, std::size_t width);  // with blanks on the right
std::string pad_left(std::string_view text, std::size_t width);
std::string shorten(std::string_view text, std::size_t width);  // with … where it was cut

std::string short_number(double value);  // 912, 1.2k, 34M, -5.1G; "-" for NaN

// Columns as wide as what is in them, two blanks between; the last one is not padded.
class Table {
 public:
  struct Cell {
    Cell(std::string text_in, Color color_in = Color::kNone)
        : text(std::move(text_in)), color(color_in) {}
    Cell(const char* text_in) : text(text_in) {}
    std::string text;
    Color color = Color::kNone;
  };

  // A heading that begins with > is of a column of numbers, aligned on the right.
  explicit Table(const std::vector<std::string>& headings);
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  // Lines are cut at `width` when it is not 0.
  std::string render(bool color, std::size_t width = 0) const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<Cell>> rows_;  // the first: headings
};

}  // namespace outlierd::ctl
