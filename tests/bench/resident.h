#pragma once

namespace outlierd::bench {

// Memory of this process that is in use now, freed memory handed back first.
double resident_megabytes();

}  // namespace outlierd::bench
