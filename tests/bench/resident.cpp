#include "tests/bench/resident.h"

#include <malloc.h>

#include <fstream>
#include <string>

namespace outlierd::bench {

double resident_megabytes() {
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      double kilobytes = 0.0;
      status >> kilobytes;
      return kilobytes / 1024.0;
    }
  return 0.0;
}

}  // namespace outlierd::bench
