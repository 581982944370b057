#include "trials/hash_random.h"

#include <algorithm>
#include <cmath>

namespace quiesce::trials {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

// Natural logarithm of a positive finite number: exponent * ln 2 + 2 atanh((m - 1) / (m + 1)).
double natural_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact, [0.5, 1)
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);  // |z| < 0.1716, so z^2 gains 5 bits per term
  const double z2 = z * z;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * z2 + 1.0 / k;
  return exponent * kLn2 + 2 * z * sum;
}

double exponential(double x) {
  const double n = std::floor(x / kLn2 + 0.5);
  const double r = x - n * kLn2;  // |r| <= 0.35
  double sum = 1;
  for (int k = 16; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace

double log_interpolate(double low, double high, double unit) {
  const double log_low = natural_log(low);
  const double value = exponential(log_low + unit * (natural_log(high) - log_low));
  return std::clamp(value, low, high);
}

}  // namespace quiesce::trials
