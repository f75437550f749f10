#pragma once
// The web page, as it is embedded in this binary: what vite built, packed. Empty when it was built
// without (CMake: OUTLIERD_DASHBOARD).

#include <memory>
#include <string>
#include <vector>

namespace outlierd::dashboard {

struct File {
  std::string path;  // "/" is the page itself
  std::string content_type;
  std::shared_ptr<const std::string> plain, gzip;
  bool immutable = false;  // its path holds a hash of its content
};

// Unpacks them all; once, at start.
std::vector<File> files();

}  // namespace outlierd::dashboard
