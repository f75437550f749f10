#include "daemon/dashboard/embedded.h"

namespace outlierd::dashboard {

std::span<const EmbeddedFile> embedded_files() { return {}; }

}  // namespace outlierd::dashboard
