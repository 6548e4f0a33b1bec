/* SPDX-License-Identifier: MIT
 *
 * Reductions in the fuzzer's own words, with the options of the long forms. */
#ifndef HT_FUZZ_REDUCTIONS_H
#define HT_FUZZ_REDUCTIONS_H

#include "fuzz/fuzz.h"

enum { SUM, PROD, MEAN, VAR, STD, MAX, MIN, ARGMAX, ARGMIN };

#define ALL_AXES UINT32_MAX

struct reduction {
    int what;
    uint32_t axes; /* a set of them */
    bool keepdims;
    ht_dtype dtype; /* HT_DTYPE_COUNT: none is asked for */
    int64_t ddof;
    const ht_number *initial;  /* or NULL */
    const struct array *where; /* or NULL; broadcasts to x */
};

/* The dtype of a result for which the program gives none. */
ht_dtype reduction_dtype(int what, ht_dtype dtype);

/* The expected result in the form of references' answers; *out in case of success. */
int reduce_array(struct run *run, const struct array *x, const struct reduction *r,
                 struct array *out);

#endif
