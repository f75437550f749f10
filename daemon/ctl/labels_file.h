#pragma once
// Reads the labels of an injected set, as eval/inject.py and `outlierctl inject` write them.

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/traffic/network.h"

namespace outlierd::ctl {

struct LabelText {
  std::string kind;
  std::size_t first_bin = 0, bins = 0;
  std::vector<std::string> pairs;
};

struct LabelsFile {
  std::string source;  // as the file names it
  EpochSeconds start = 0;
  double days = 0.0;
  std::string profile = "subtle";
  double bin_seconds = 300.0;
  std::size_t clean_until_bin = 0;
  std::vector<LabelText> events;
};

// The reason names the file.
tl::expected<LabelsFile, std::string> read_labels(const std::string& path);

}  // namespace outlierd::ctl
