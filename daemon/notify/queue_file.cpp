#include "daemon/notify/queue_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace outlierd::notify {
namespace {

std::string line_of(const std::string& key, const std::string& value) {
  const std::string text = key + ' ' + value;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(text.data()), uInt(text.size()));
  return fmt::format("{:08x} {}\n", sum, text);
}

bool write_all(int descriptor, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += std::size_t(wrote);
  }
  return true;
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

QueueFile::~QueueFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

QueueFile::Values QueueFile::load(std::size_t& damaged) const {
  Values values;
  std::ifstream in(path_, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    const std::size_t end = line.find(' ', 9);
    if (in.eof() || line.size() < 10 || end == std::string::npos) {
      ++damaged;
      continue;
    }
    const std::string key = line.substr(9, end - 9), value = line.substr(end + 1);
    if (line_of(key, value) != line + '\n') {
      ++damaged;
    } else if (value.empty()) {
      values.erase(key);
    } else {
      values[key] = value;
    }
  }
  return values;
}

std::optional<std::string> QueueFile::failure(const char* what) {
  const std::string reason =
      fmt::format("cannot {} {}: {}", what, path_.string(), std::strerror(errno));
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;  // whatever is in it now: written anew next time
  return reason;
}

std::optional<std::string> QueueFile::append(const Values& changes) {
  std::string text;
  for (const auto& [key, value] : changes) text += line_of(key, value);
  if (!write_all(descriptor_, text)) return failure("write");
  if (::fdatasync(descriptor_) != 0) return failure("sync");
  written_ += text.size();
  return std::nullopt;
}

std::optional<std::string> QueueFile::rewrite(const Values& all) {
  std::error_code ignored;  // opening says it
  std::filesystem::create_directories(path_.parent_path(), ignored);
  const std::filesystem::path fresh = path_.string() + ".new";
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return failure("create");
  if (const auto failed = append(all)) return failed;
  if (::rename(fresh.c_str(), path_.c_str()) != 0) return failure("rename");
  sync_folder(path_.parent_path());
  written_ = 0;
  return std::nullopt;
}

}  // namespace outlierd::notify
