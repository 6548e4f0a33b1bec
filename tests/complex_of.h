/* SPDX-License-Identifier: MIT */
/* C11's CMPLX, which glibc has for gcc alone. re + im * I would not keep signs of zero. */
#ifndef HT_COMPLEX_OF_H
#define HT_COMPLEX_OF_H

#include <complex.h>
#include <string.h>

static inline double complex complex_of(double re, double im)
{
    const double parts[2] = {re, im};
    double complex z;

    memcpy(&z, parts, sizeof z);
    return z;
}

#endif
