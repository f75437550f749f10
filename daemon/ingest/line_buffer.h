#pragma once
// Bytes as they come, lines as they are whole. Every line is followed by readable bytes, as parsers
// that read ahead want it. A line over the limit is thrown away as it comes, and reported once.

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

namespace outlierd::ingest {

class LineBuffer {
 public:
  LineBuffer(std::size_t max_line, std::size_t padding) : max_line_(max_line), padding_(padding) {}

  // Room for the next read.
  std::pair<char*, std::size_t> room() {
    if (begin_ == end_) begin_ = end_ = scanned_ = 0;
    if (begin_ > 0 && buffer_.size() < end_ + kLeastRoom + padding_) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      scanned_ -= begin_;
      begin_ = 0;
    }
    if (buffer_.size() < end_ + kLeastRoom + padding_)
      buffer_.resize(std::max(2 * buffer_.size(), end_ + kLeastRoom + padding_));
    return {buffer_.data() + end_, buffer_.size() - padding_ - end_};
  }
  void filled(std::size_t bytes) { end_ += bytes; }

  enum class Found { kNothing, kLine, kTooLong };
  // The next whole line, without its end; valid until room().
  Found next(std::string_view& line) {
    const char* data = buffer_.data();
    const void* end =
        end_ == scanned_ ? nullptr : std::memchr(data + scanned_, '\n', end_ - scanned_);
    if (!end) {
      scanned_ = end_;
      if (end_ - begin_ > max_line_) {
        skipping_ = true;
        begin_ = end_;
      }
      if (skipping_) begin_ = end_;
      return Found::kNothing;
    }
    const std::size_t at = std::size_t(static_cast<const char*>(end) - data);
    const bool too_long = skipping_ || at - begin_ > max_line_;
    line = trimmed({data + begin_, at - begin_});
    begin_ = scanned_ = at + 1;
    skipping_ = false;
    return too_long ? Found::kTooLong : Found::kLine;
  }
  // What stands at the end of the stream without an end of line.
  Found last(std::string_view& line) {
    if (skipping_) return Found::kTooLong;
    line = trimmed({buffer_.data() + begin_, end_ - begin_});
    begin_ = end_;
    return line.empty() ? Found::kNothing : Found::kLine;
  }
  // Gives memory back after a long line.
  void shrink() {
    if (begin_ == end_ && buffer_.size() > kKept) {
      std::vector<char>().swap(buffer_);
      begin_ = end_ = scanned_ = 0;
    }
  }

 private:
  static constexpr std::size_t kLeastRoom = 16 << 10, kKept = 256 << 10;

  static std::string_view trimmed(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    return line;
  }

  const std::size_t max_line_, padding_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, scanned_ = 0, end_ = 0;  // of what has not been given out
  bool skipping_ = false;
};

}  // namespace outlierd::ingest
