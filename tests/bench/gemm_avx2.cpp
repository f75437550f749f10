#define Eigen EigenForAvx2
#define OUTLIERD_GEMM gemm_avx2
#include "tests/bench/gemm_body.h"
