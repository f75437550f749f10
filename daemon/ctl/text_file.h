#pragma once
// Text files, plain or gzip, read and written as streams; "-" is standard input or output.
//
// A file is read as what it is, and written as gzip when its name ends in .gz. Every failure is a
// sentence that names the file. One object, one thread.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

struct gzFile_s;

namespace outlierd::ctl {

struct CloseGzip {
  void operator()(gzFile_s* file) const;
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

class InputFile {
 public:
  static tl::expected<InputFile, std::string> open(const std::string& path);

  // Appends up to `bytes` to text; 0 at the end of the file.
  tl::expected<std::size_t, std::string> read(std::string& text, std::size_t bytes);
  double fraction_read() const;  // of the file as it lies on disk; NaN when its size is not known
  const std::string& name() const { return name_; }

 private:
  InputFile(GzipFile file, std::string name, double size)
      : file_(std::move(file)), name_(std::move(name)), size_(size) {}
  GzipFile file_;
  std::string name_;
  double size_;
};

class OutputFile {
 public:
  static tl::expected<OutputFile, std::string> create(const std::string& path);

  tl::expected<void, std::string> write(std::string_view text);
  // Only after this has returned a value is the file whole.
  tl::expected<void, std::string> close();
  const std::string& name() const { return name_; }

 private:
  OutputFile(GzipFile file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  GzipFile file_;
  std::string name_;
};

// The whole of a small file, e.g. a token; at most `most` bytes.
tl::expected<std::string, std::string> read_small_file(const std::string& path, std::size_t most);

}  // namespace outlierd::ctl
