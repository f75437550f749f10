#include "daemon/store/file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace outlierd::store {
namespace fs = std::filesystem;

tl::unexpected<StoreError> disk_failure(const std::string& verb, const fs::path& path) {
  return disk_failure(verb, path, errno);
}

tl::unexpected<StoreError> disk_failure(const std::string& verb, const fs::path& path,
                                        int error_number) {
  return failure(StoreError::Kind::kDisk, "cannot " + verb + " " + path.string() + ": " +
                                              std::generic_category().message(error_number));
}

File::~File() { close(); }

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  path_ = std::move(other.path_);
  return *this;
}

void File::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Outcome<File> File::open(const fs::path& path, int flags) {
  File file;
  do {
    file.descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0640);
  } while (file.descriptor_ < 0 && errno == EINTR);
  if (file.descriptor_ < 0) return disk_failure(flags & O_CREAT ? "create" : "open", path);
  file.path_ = path;
  return file;
}

Outcome<std::uint64_t> File::size() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return disk_failure("look at", path_);
  return std::uint64_t(status.st_size);
}

Outcome<std::size_t> File::read_at(std::span<std::byte> out, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        pread(descriptor_, out.data() + done, out.size() - done, off_t(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return disk_failure("read", path_);
    if (got == 0) break;
    done += std::size_t(got);
  }
  return done;
}

Outcome<void> File::write_at(std::vector<iovec> pieces, std::uint64_t offset) {
  for (std::size_t next = 0; next < pieces.size();) {
    if (pieces[next].iov_len == 0) {
      ++next;
      continue;
    }
    const std::size_t count = std::min<std::size_t>(pieces.size() - next, IOV_MAX);
    const ssize_t put = pwritev(descriptor_, pieces.data() + next, int(count), off_t(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return disk_failure("write to", path_);
    if (put == 0) return disk_failure("write to", path_, ENOSPC);
    offset += std::uint64_t(put);
    for (std::size_t left = std::size_t(put); left > 0;) {
      iovec& piece = pieces[next];
      const std::size_t part = std::min(left, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + part;
      piece.iov_len -= part;
      left -= part;
      if (piece.iov_len == 0) ++next;
    }
  }
  return {};
}

Outcome<void> File::write_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  return write_at({iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}}, offset);
}

Outcome<void> File::truncate(std::uint64_t bytes) {
  if (ftruncate(descriptor_, off_t(bytes)) != 0) return disk_failure("truncate", path_);
  return {};
}

Outcome<void> File::sync() {
  if (fdatasync(descriptor_) != 0) return disk_failure("make durable", path_);
  return {};
}

Outcome<void> make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return disk_failure("create", directory, error.value());
  return {};
}

Outcome<void> sync_directory(const fs::path& directory) {
  auto opened = File::open(directory, O_RDONLY | O_DIRECTORY);
  if (!opened) return tl::unexpected(opened.error());
  if (fsync(opened->descriptor()) != 0) return disk_failure("make durable", directory);
  return {};
}

Outcome<void> rename_file(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return disk_failure("rename", from);
  return {};
}

Outcome<void> remove_file(const fs::path& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return disk_failure("remove", path);
  return {};
}

Outcome<std::vector<std::string>> list_directory(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return disk_failure("list", directory, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

fs::path unused_name(const fs::path& base) {
  fs::path name = base;
  std::error_code ignored;
  for (int n = 2; fs::exists(fs::symlink_status(name, ignored)); ++n)
    name = base.string() + "-" + std::to_string(n);
  return name;
}

}  // namespace outlierd::store
