#pragma once
// A consistent copy of the database while it is being written: a single file that Store::open
// takes. On a connection of its own, so from any thread; the writer goes on meanwhile.

#include <cstdint>
#include <filesystem>
#include <functional>

#include "daemon/store/error.h"

namespace outlierd::store {

// After each step; false stops the backup.
using BackupProgress = std::function<bool(std::uint64_t pages_done, std::uint64_t pages)>;

// The copy appears under its name only when it is complete and durable. kExists: there is
// something of that name already. kCancelled: the callback said so.
Outcome<void> backup_database(const std::filesystem::path& database,
                              const std::filesystem::path& destination,
                              const BackupProgress& progress = {}, int pages_a_step = 256);

}  // namespace outlierd::store
