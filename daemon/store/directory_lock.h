#pragma once
// One process, one directory: holds <directory>/lock (flock) until destroyed. The kernel lets go of
// it when the process dies, however it dies. The file names the process that holds it.

#include <filesystem>

#include "daemon/store/error.h"
#include "daemon/store/file.h"

namespace outlierd::store {

class DirectoryLock {
 public:
  // kLocked when another holds it; the sentence names the process if it is known.
  static Outcome<DirectoryLock> take(const std::filesystem::path& directory);

 private:
  File file_;
};

}  // namespace outlierd::store
