/* SPDX-License-Identifier: MIT
 *
 * Windows over the axes behind the channels. */
#ifndef HT_FUZZ_OPS_WINDOWS_H
#define HT_FUZZ_OPS_WINDOWS_H

#include "fuzz/ops/nn/ops_layers.h"

enum { AXES = 3 };
struct windows {
    int axes;
    int64_t in[AXES], out[AXES], kernel[AXES], stride[AXES], padding[AXES], dilation[AXES];
    int64_t places, size; /* windows of a plane, elements of a window */
};

/* (N, C, ...) with 1 to 3 axes behind the channels, none of them empty. */
bool is_plane(struct run *run, const struct variable *x);
/* Windows of the statement's seed over the axes of x, which all fit; dilated ones, or not. */
struct windows windows_of(const struct statement *s, const struct array *x, bool dilated);
/* Counts places from kernel, stride, padding and dilation; false: no window fits. */
bool windows_fit(struct windows *w, bool ceil_mode);
/* The place in the input plane of element k of window j; -1: in the padding. */
int64_t window_place(const struct windows *w, int64_t j, int64_t k);
/* A result (N, C, ...) with other lengths behind the channels. */
struct array planes(const struct array *x, ht_dtype dtype, const int64_t length[]);
struct number at_place(const struct array *x, int64_t plane, int64_t place);
/* Element i of a result: the largest element of a plane of x at `count` places, where -1 means
 * none; for a result of int64, the first place that has it. */
void put_largest(struct run *run, const struct array *x, struct array *out, int64_t i,
                 int64_t plane, const int64_t place[], int64_t count);
void pool_options_of(const struct windows *w, ht_pool_options *options);

#endif
