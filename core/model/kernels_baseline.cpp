#include "core/model/kernels.h"

namespace outlierd::model {

#include "core/model/kernels_body.h"
#include "core/model/kernels_rows_body.h"

extern const Kernels kBaselineKernels;
const Kernels kBaselineKernels = {
    "baseline",   multiply,     multiply_thin,  multiply_transposed, subtract_low_rank,
    square_peaks, masked_sums,  solve_rows,     weigh_rows,          sum_weighted_rows,
    sum_rows,     sum_products, second_moments, sum_of_squares};

}  // namespace outlierd::model
