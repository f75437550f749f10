#pragma once
// What embed.mjs writes, or no_page.cpp where the page is not built.

#include <cstddef>
#include <span>

namespace outlierd::dashboard {

struct EmbeddedFile {
  const char* path;
  const char* content_type;
  const char* gzip;
  std::size_t gzip_size, plain_size;
  bool immutable;
};

std::span<const EmbeddedFile> embedded_files();

}  // namespace outlierd::dashboard
