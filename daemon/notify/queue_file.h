#pragma once
// A map of texts on disk: changes are appended and made durable, and now and then the file is
// written anew. A line is "CRC KEY VALUE"; what was not whole when the machine died is left out.
//
// One thread. Failures are told, and everything is written again with the next change.

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace outlierd::notify {

class QueueFile {
 public:
  using Values = std::map<std::string, std::string>;

  explicit QueueFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~QueueFile();
  QueueFile(const QueueFile&) = delete;
  QueueFile& operator=(const QueueFile&) = delete;

  // What is there; empty when there is no file. damaged: lines left out.
  Values load(std::size_t& damaged) const;
  // Keys without white space, values without line ends; an empty value: the key goes. `all` gives
  // everything when the file has to be written anew. The reason if it could not be made durable.
  template <class All>
  std::optional<std::string> write(const Values& changes, const All& all) {
    if (descriptor_ < 0 || written_ > kLongest) return rewrite(all());
    return append(changes);
  }
  std::optional<std::string> append(const Values& changes);
  std::optional<std::string> rewrite(const Values& all);

 private:
  static constexpr std::size_t kLongest = std::size_t{4} << 20;
  std::optional<std::string> failure(const char* what);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t written_ = 0;  // appended since it was written anew
};

}  // namespace outlierd::notify
