#include "core/model/kernels.h"

namespace outlierd::model {

#include "core/model/kernels_body.h"

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = {
    "avx2",       multiply,    multiply_thin, multiply_transposed, subtract_low_rank,
    square_peaks, masked_sums, solve_rows};

}  // namespace outlierd::model
