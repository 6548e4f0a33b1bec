/* SPDX-License-Identifier: MIT
 *
 * The fuzzer's own tensors: complete, on every rank, strided views of memory that they share. */
#ifndef HT_FUZZ_ARRAY_H
#define HT_FUZZ_ARRAY_H

#include "fuzz/number.h"

struct memory {
    struct number *data;
    int64_t count;
    struct memory *next; /* all of a program, freed at its end */
    int slot;            /* of the leaf that it holds, else -1 */
    bool tracked;        /* some element depends on a leaf */
    bool saved;          /* a graph may have kept its values */
    int views;           /* arrays over it */
    bool frozen;         /* other owners that would see a write are unknown: there are none */
};

struct array {
    struct memory *memory; /* NULL: none */
    ht_dtype dtype;
    int ndim;
    int64_t shape[HT_MAX_NDIM], stride[HT_MAX_NDIM], offset;
    bool view;      /* of another handle */
    bool read_only; /* a broadcast view */
    bool cut;       /* reading through it gives no derivatives */
};

/* New memory for a shape, row-major, zeros. */
struct array array_new(ht_dtype dtype, int ndim, const int64_t shape[]);
struct array array_scalar(ht_dtype dtype, struct number value);
struct array array_copy(const struct array *x);
struct array array_view(const struct array *x);
/* Lays the elements of x, whose memory no other array has, out again in the order of axes of these
 * strides. */
void array_lay(struct array *x, const int64_t stride[]);
void arrays_free(void); /* all of them */

int64_t array_size(const struct array *x);
/* The element at a place counted in row-major order; put obeys the rules of writing with and
 * without recording. */
struct number array_at(const struct array *x, int64_t index);
void array_set(const struct array *x, int64_t index, struct number value);

/* index -> coordinates, and the element of x at the coordinates of a shape it broadcasts to. */
void unravel(int64_t index, int ndim, const int64_t shape[], int64_t at[]);
struct number array_at_coords(const struct array *x, int ndim, const int64_t at[]);
int64_t shape_size(int ndim, const int64_t shape[]);
bool same_shape(const struct array *a, const struct array *b);
bool broadcasts_to(const struct array *x, int ndim, const int64_t shape[]);
bool broadcast_shape(const struct array *a, const struct array *b, int *ndim, int64_t shape[]);

/* "float32 (3, 4)" */
const char *shape_text(int ndim, const int64_t shape[]);

#endif
