#include "daemon/dashboard/dashboard.h"

#include <zlib.h>

#include "daemon/dashboard/embedded.h"

namespace outlierd::dashboard {
namespace {

// Empty when the bytes are not what embed.mjs wrote, which a test would see.
std::string unpacked(const EmbeddedFile& file) {
  std::string plain(file.plain_size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.gzip));  // zlib only reads it
  stream.avail_in = uInt(file.gzip_size);
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = uInt(plain.size());
  const int outcome = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return outcome == Z_STREAM_END && stream.avail_out == 0 ? plain : std::string();
}

}  // namespace

std::vector<File> files() {
  std::vector<File> files;
  for (const EmbeddedFile& each : embedded_files())
    files.push_back(
        {each.path, each.content_type, std::make_shared<const std::string>(unpacked(each)),
         std::make_shared<const std::string>(each.gzip, each.gzip_size), each.immutable});
  return files;
}

}  // namespace outlierd::dashboard
