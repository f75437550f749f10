#pragma once
// Tail scores and normal sigmas. A tail score h is -log10 of how rarely something as large is seen;
// its sigma is how far out a normal variable is as rarely, on either side: p = 10^-h = P(|N| > s).

#include <span>

namespace outlierd::detect {

inline constexpr double kLargestTail = 300.0;  // a larger score says nothing more

double sigma_of_tail(double tail);   // 0 at 0; rises; sigma_of_tail(1.3) is about 1.96
double tail_of_sigma(double sigma);  // the other way

// The same from a table, for every cell of a slice: within 1e-3 of the above, never falling.
float quick_sigma_of_tail(float tail);
// Of many, each with the sign of its tail score; NaN stays NaN.
void quick_sigmas_of_tails(std::span<const float> tails, float* sigmas);

}  // namespace outlierd::detect
