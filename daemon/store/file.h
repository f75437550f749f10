#pragma once
// Files with errors as values: open, read and write at an offset, make durable. Owns a descriptor;
// one thread at a time.

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "daemon/store/error.h"

namespace outlierd::store {

// "cannot <verb> <path>: <the system's reason>", from errno unless told.
tl::unexpected<StoreError> disk_failure(const std::string& verb, const std::filesystem::path& path);
tl::unexpected<StoreError> disk_failure(const std::string& verb, const std::filesystem::path& path,
                                        int error_number);

class File {
 public:
  File() = default;
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  // flags as of open(2); O_CLOEXEC is added.
  static Outcome<File> open(const std::filesystem::path& path, int flags);

  Outcome<std::uint64_t> size() const;
  // Fewer than asked for only at the end of the file.
  Outcome<std::size_t> read_at(std::span<std::byte> out, std::uint64_t offset) const;
  // All of it, in as few calls as the system allows. What was written before a failure stays.
  Outcome<void> write_at(std::vector<iovec> pieces, std::uint64_t offset);
  Outcome<void> write_at(std::span<const std::byte> bytes, std::uint64_t offset);
  Outcome<void> truncate(std::uint64_t bytes);
  Outcome<void> sync();  // fdatasync

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }
  void close();

 private:
  int descriptor_ = -1;
  std::filesystem::path path_;
};

Outcome<void> make_directory(const std::filesystem::path& directory);  // and its parents
Outcome<void> sync_directory(const std::filesystem::path& directory);
Outcome<void> rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
Outcome<void> remove_file(const std::filesystem::path& path);  // fine if there is none
// The names in it, sorted.
Outcome<std::vector<std::string>> list_directory(const std::filesystem::path& directory);
// base, base-2, base-3, ...: the first that does not exist.
std::filesystem::path unused_name(const std::filesystem::path& base);

}  // namespace outlierd::store
