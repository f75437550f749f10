#include "daemon/store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <string>
#include <utility>

namespace outlierd::store {
namespace {

std::string holder_of(const File& file) {
  std::array<std::byte, 20> bytes{};
  const auto got = file.read_at(bytes, 0);
  std::string digits;
  for (std::size_t i = 0; got && i < *got && std::isdigit(int(bytes[i])); ++i)
    digits += char(bytes[i]);
  return digits.empty() ? "another process" : "process " + digits;
}

}  // namespace

Outcome<DirectoryLock> DirectoryLock::take(const std::filesystem::path& directory) {
  auto file = File::open(directory / "lock", O_RDWR | O_CREAT);
  if (!file) return tl::unexpected(file.error());
  if (flock(file->descriptor(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return disk_failure("lock", file->path());
    return failure(StoreError::Kind::kLocked,
                   directory.string() + " is in use by " + holder_of(*file));
  }
  // Who holds it is only for the reader of an error: a full disk does not matter here.
  const std::string text = std::to_string(getpid()) + "\n";
  if (file->truncate(0)) (void)file->write_at(std::as_bytes(std::span(text)), 0);
  DirectoryLock lock;
  lock.file_ = std::move(*file);
  return lock;
}

}  // namespace outlierd::store
