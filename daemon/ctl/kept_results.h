#pragma once
// Finished results, a small JSON file each, so that an evaluation that was stopped goes on where it
// stood. A result is good only for what it was made from: the key says all of it.

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "daemon/ctl/evaluation.h"

namespace outlierd::ctl {

// This build of the program: another one may give other results.
std::string program_fingerprint();
// Size and time of a file, cheap and good enough to notice another one.
std::string file_fingerprint(const std::string& path);

class KeptResults {
 public:
  KeptResults(std::string folder, bool keep_old) : folder_(std::move(folder)), old_(keep_old) {}

  std::optional<JudgedSet> find(const std::string& name, const std::string& key) const;
  tl::expected<void, std::string> keep(const std::string& name, const std::string& key,
                                       const JudgedSet& result) const;
  // Text of any other part of a report.
  std::optional<std::string> find_text(const std::string& name, const std::string& key) const;
  tl::expected<void, std::string> keep_text(const std::string& name, const std::string& key,
                                            const std::string& text) const;

 private:
  std::string path_of(const std::string& name) const;

  std::string folder_;
  bool old_;
};

}  // namespace outlierd::ctl
