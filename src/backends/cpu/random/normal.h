/* SPDX-License-Identifier: MIT
 *
 * Normal deviates from random words by the inverse of the distribution function: algorithm AS 241
 * (Wichura 1988), PPND7 for float and PPND16 for double. The words' top bit is the sign, the others
 * a probability below one half, so that the tails keep a relative precision. Only additions,
 * products, quotients and square roots are used, which IEEE defines to the last bit: every SIMD
 * level and every device gives the same deviates. The numerator and denominator of a region are
 * chosen before the division, because a quotient takes as long as all other steps. */
#ifndef HT_BACKENDS_CPU_RANDOM_NORMAL_H
#define HT_BACKENDS_CPU_RANDOM_NORMAL_H

#include "backends/cpu/float_math.h"

HT_INLINE float ht__normal_float(uint32_t word)
{
    float p = ((float)(int32_t)(word & 0x7fffffff) + 0.5f) * 0x1p-32f; /* 2^-33 ... 1/2 */
    float q = 0.5f - p, r = 0.180625f - q * q;
    float t = sqrtf(-ht__log_normal_float(p, 0)) - 1.6f;
    bool in_center = q <= 0.425f;
    float center, center_den, tail, tail_den, z;

    center = ((5.9109374720e+1f * r + 1.5929113202e+2f) * r + 5.0434271938e+1f) * r + 3.3871327179f;
    center *= q;
    center_den = ((6.7187563600e+1f * r + 7.8757757664e+1f) * r + 1.7895169469e+1f) * r + 1.0f;
    tail = ((1.7023821103e-1f * t + 1.3067284816f) * t + 2.7568153900f) * t + 1.4234372777f;
    tail_den = (1.2021132975e-1f * t + 7.3700164250e-1f) * t + 1.0f;
    z = (in_center ? center : tail) / (in_center ? center_den : tail_den);
    return ht__bits_to_float(ht__float_to_bits(z) ^ (word & 0x80000000));
}

/* log x of a normal number, as fdlibm's e_log.c computes it. */
HT_INLINE double ht__log_normal_double(double x)
{
    uint64_t offset = ht__double_to_bits(x) - 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    int32_t exponent = (int32_t)(uint32_t)(offset >> 32) >> 20;
    double n = (double)exponent;
    double f = ht__bits_to_double((offset & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
    double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    double p = 1.479819860511658591e-01;

    p = p * z + 1.531383769920937332e-01;
    p = p * z + 1.818357216161805012e-01;
    p = p * z + 2.222219843214978396e-01;
    p = p * z + 2.857142874366239149e-01;
    p = p * z + 3.999999999940941908e-01;
    p = p * z + 6.666666666666735130e-01;
    p = p * z;
    return n * 6.93147180369123816490e-01 -
           ((h - (s * (h + p) + n * 1.90821492927058770002e-10)) - f);
}

/* c (8): coefficients from the highest power down. Not a loop, inside which there would be no
 * vector code. */
HT_INLINE double ht__polynomial_double(double x, const double c[8])
{
    double high = ((c[0] * x + c[1]) * x + c[2]) * x + c[3];

    return (((high * x + c[4]) * x + c[5]) * x + c[6]) * x + c[7];
}

HT_INLINE double ht__normal_double(uint64_t word)
{
    static const double center_num[8] = {2.5090809287301226727e+3, 3.3430575583588128105e+4,
                                         6.7265770927008700853e+4, 4.5921953931549871457e+4,
                                         1.3731693765509461125e+4, 1.9715909503065514427e+3,
                                         1.3314166789178437745e+2, 3.3871328727963666080};
    static const double center_den[8] = {5.2264952788528545610e+3, 2.8729085735721942674e+4,
                                         3.9307895800092710610e+4, 2.1213794301586595867e+4,
                                         5.3941960214247511077e+3, 6.8718700749205790830e+2,
                                         4.2313330701600911252e+1, 1.0};
    static const double tail_num[8] = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                                       2.41780725177450611770e-1, 1.27045825245236838258,
                                       3.64784832476320460504,    5.76949722146069140550,
                                       4.63033784615654529590,    1.42343711074968357734};
    static const double tail_den[8] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                       1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                       6.89767334985100004550e-1, 1.67638483018380384940,
                                       2.05319162663775882187,    1.0};
    static const double far_num[8] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                      1.24266094738807843860e-3, 2.65321895265761230930e-2,
                                      2.96560571828504891230e-1, 1.78482653991729133580,
                                      5.46378491116411436990,    6.65790464350110377720};
    static const double far_den[8] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                      1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                      1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                      5.99832206555887937690e-1,  1.0};
    uint64_t fraction = word << 1 >> 12; /* 52 bits, made a double by the exponent of 2^52 */
    double p = (ht__bits_to_double(fraction | 0x4330000000000000) - 0x1p52 + 0.5) * 0x1p-53;
    double q = 0.5 - p, t = sqrt(-ht__log_normal_double(p)), r = 0.180625 - q * q;
    bool in_center = q <= 0.425, in_tail = t <= 5.0;
    double num = in_tail ? ht__polynomial_double(t - 1.6, tail_num)
                         : ht__polynomial_double(t - 5.0, far_num);
    double den = in_tail ? ht__polynomial_double(t - 1.6, tail_den)
                         : ht__polynomial_double(t - 5.0, far_den);
    double z;

    num = in_center ? ht__polynomial_double(r, center_num) : num;
    den = in_center ? ht__polynomial_double(r, center_den) : den;
    z = (in_center ? q : 1.0) * (num / den);
    return ht__bits_to_double(ht__double_to_bits(z) ^ (word & 0x8000000000000000));
}

#endif
