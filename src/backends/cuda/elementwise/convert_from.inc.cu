/* SPDX-License-Identifier: MIT
 *
 * Template inside convert.inc.cu: conversion to DTYPE from SOURCE. */

#include "backends/cpu/convert/convert_one.inc.c"

struct PAIR(convert) {
    typedef T out;
    typedef S in0, in1, in2;
    enum { inputs = 1 };
    static __forceinline__ __device__ out apply(S x, S, S, const double[])
    {
        return PAIR(convert_one)(SOURCE_LOAD(x));
    }
};

#undef S
#undef SC
#undef SOURCE_LOAD
#undef SOURCE_KIND
#undef PAIR
