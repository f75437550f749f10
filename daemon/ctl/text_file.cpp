#include "daemon/ctl/text_file.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

namespace outlierd::ctl {
namespace {

constexpr std::size_t kMostAtOnce = 1 << 30;
constexpr unsigned kGzipBuffer = 1 << 18;

std::string file_reason(int error) { return std::generic_category().message(error); }

std::string gzip_reason(gzFile_s* file) {
  int error = Z_OK;
  const char* text = gzerror(file, &error);
  if (error == Z_ERRNO) return file_reason(errno);
  if (error == Z_BUF_ERROR) return "is cut short";
  return text != nullptr && *text != 0 ? text : "is damaged";
}

bool ends_with_gz(const std::string& path) {
  return path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0;
}

}  // namespace

void CloseGzip::operator()(gzFile_s* file) const { gzclose(file); }

tl::expected<InputFile, std::string> InputFile::open(const std::string& path) {
  double size = std::numeric_limits<double>::quiet_NaN();
  std::error_code error;
  if (path != "-") {
    if (std::filesystem::is_directory(path, error))
      return tl::unexpected(path + ": is a folder, not a file");
    const auto bytes = std::filesystem::file_size(path, error);
    if (!error && bytes > 0) size = double(bytes);
  }
  errno = 0;
  GzipFile file(path == "-" ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path.c_str(), "rb"));
  if (!file) return tl::unexpected(path + ": cannot be read: " + file_reason(errno));
  gzbuffer(file.get(), kGzipBuffer);
  return InputFile(std::move(file), path == "-" ? "standard input" : path, size);
}

tl::expected<std::size_t, std::string> InputFile::read(std::string& text, std::size_t bytes) {
  const std::size_t before = text.size();
  const std::size_t wanted = std::min(bytes, kMostAtOnce);
  text.resize(before + wanted);
  const int got = gzread(file_.get(), text.data() + before, unsigned(wanted));
  text.resize(before + std::size_t(std::max(got, 0)));
  int error = Z_OK;
  if (got <= 0)
    gzerror(file_.get(), &error);  // a file cut short ends like a whole one, but for this
  if (got < 0 || error != Z_OK) return tl::unexpected(name_ + ": " + gzip_reason(file_.get()));
  return std::size_t(got);
}

double InputFile::fraction_read() const {
  return std::min(1.0, double(gzoffset(file_.get())) / size_);
}

tl::expected<OutputFile, std::string> OutputFile::create(const std::string& path) {
  const char* mode = ends_with_gz(path) ? "wb6" : "wbT";  // T: as it is, without a gzip frame
  errno = 0;
  GzipFile file(path == "-" ? gzdopen(dup(STDOUT_FILENO), mode) : gzopen(path.c_str(), mode));
  if (!file) return tl::unexpected(path + ": cannot be written: " + file_reason(errno));
  gzbuffer(file.get(), kGzipBuffer);
  return OutputFile(std::move(file), path == "-" ? "standard output" : path);
}

tl::expected<void, std::string> OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const std::size_t part = std::min(text.size(), kMostAtOnce);
    if (gzwrite(file_.get(), text.data(), unsigned(part)) <= 0)
      return tl::unexpected(name_ + ": cannot be written: " + gzip_reason(file_.get()));
    text.remove_prefix(part);
  }
  return {};
}

tl::expected<void, std::string> OutputFile::close() {
  if (!file_) return {};
  errno = 0;
  const int status = gzclose(file_.release());
  if (status != Z_OK)
    return tl::unexpected(name_ + ": cannot be written: " +
                          (errno != 0 ? file_reason(errno) : std::string("the end is lost")));
  return {};
}

tl::expected<std::string, std::string> read_small_file(const std::string& path, std::size_t most) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  std::string text;
  while (text.size() <= most) {
    const auto got = file->read(text, most + 1 - text.size());
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) return text;
  }
  return tl::unexpected(path + ": is longer than " + std::to_string(most) + " bytes");
}

}  // namespace outlierd::ctl
