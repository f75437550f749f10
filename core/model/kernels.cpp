#include "core/model/kernels.h"

namespace outlierd::model {

extern const Kernels kBaselineKernels;
#ifdef OUTLIERD_HAS_AVX2
extern const Kernels kAvx2Kernels;
#endif

const Kernels& baseline_kernels() { return kBaselineKernels; }

const Kernels& kernels() {
#ifdef OUTLIERD_HAS_AVX2
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2) return kAvx2Kernels;
#endif
  return kBaselineKernels;
}

}  // namespace outlierd::model
