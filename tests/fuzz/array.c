/* SPDX-License-Identifier: MIT */
#include "fuzz/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct memory *all;

void arrays_free(void)
{
    while (all != NULL) {
        struct memory *next = all->next;

        free(all->data);
        free(all);
        all = next;
    }
}

int64_t shape_size(int ndim, const int64_t shape[])
{
    int64_t size = 1;

    for (int i = 0; i < ndim; i++)
        size *= shape[i];
    return size;
}

struct array array_new(ht_dtype dtype, int ndim, const int64_t shape[])
{
    struct array x = {.dtype = dtype, .ndim = ndim};
    int64_t size = shape_size(ndim, shape), step = 1;

    x.memory = calloc(1, sizeof *x.memory);
    if (x.memory == NULL)
        abort();
    x.memory->data = calloc((size_t)(size > 0 ? size : 1), sizeof *x.memory->data);
    if (x.memory->data == NULL)
        abort();
    x.memory->count = size;
    x.memory->slot = -1;
    x.memory->views = 1;
    x.memory->next = all;
    all = x.memory;
    for (int i = ndim - 1; i >= 0; i--) {
        x.shape[i] = shape[i];
        x.stride[i] = step;
        step *= shape[i];
    }
    return x;
}

struct array array_scalar(ht_dtype dtype, struct number value)
{
    struct array x = array_new(dtype, 0, NULL);

    array_set(&x, 0, value);
    return x;
}

struct array array_copy(const struct array *x)
{
    struct array y = array_new(x->dtype, x->ndim, x->shape);

    for (int64_t i = 0; i < array_size(x); i++)
        array_set(&y, i, array_at(x, i));
    return y;
}

void array_lay(struct array *x, const int64_t stride[])
{
    struct array y = array_new(x->dtype, x->ndim, x->shape);
    int order[HT_MAX_NDIM];
    int64_t step = 1;

    for (int i = 0; i < x->ndim; i++) {
        int j = i;

        for (; j > 0 && stride[order[j - 1]] < stride[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    for (int i = x->ndim - 1; i >= 0; i--) {
        y.stride[order[i]] = step;
        step *= x->shape[order[i]];
    }
    for (int64_t i = 0; i < array_size(x); i++)
        array_set(&y, i, array_at(x, i));
    memcpy(x->memory->data, y.memory->data, (size_t)array_size(x) * sizeof *y.memory->data);
    memcpy(x->stride, y.stride, sizeof x->stride);
}

struct array array_view(const struct array *x)
{
    x->memory->views++;
    return *x;
}

int64_t array_size(const struct array *x)
{
    return shape_size(x->ndim, x->shape);
}

void unravel(int64_t index, int ndim, const int64_t shape[], int64_t at[])
{
    for (int i = ndim - 1; i >= 0; i--) {
        at[i] = index % shape[i];
        index /= shape[i];
    }
}

static struct number *place(const struct array *x, const int64_t at[])
{
    int64_t offset = x->offset;

    for (int i = 0; i < x->ndim; i++)
        offset += at[i] * x->stride[i];
    return &x->memory->data[offset];
}

struct number array_at(const struct array *x, int64_t index)
{
    int64_t at[HT_MAX_NDIM];
    struct number a;

    unravel(index, x->ndim, x->shape, at);
    a = *place(x, at);
    if (x->cut)
        a.d = NULL;
    return a;
}

struct number array_at_coords(const struct array *x, int ndim, const int64_t at[])
{
    int64_t own[HT_MAX_NDIM];
    struct number a;

    for (int i = 0; i < x->ndim; i++)
        own[i] = x->shape[i] == 1 ? 0 : at[i + ndim - x->ndim];
    a = *place(x, own);
    if (x->cut)
        a.d = NULL;
    return a;
}

void array_set(const struct array *x, int64_t index, struct number value)
{
    int64_t at[HT_MAX_NDIM];

    unravel(index, x->ndim, x->shape, at);
    if (value.d != NULL)
        x->memory->tracked = true;
    *place(x, at) = value;
}

bool same_shape(const struct array *a, const struct array *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

bool broadcasts_to(const struct array *x, int ndim, const int64_t shape[])
{
    if (x->ndim > ndim)
        return false;
    for (int i = 0; i < x->ndim; i++) {
        if (x->shape[i] != 1 && x->shape[i] != shape[i + ndim - x->ndim])
            return false;
    }
    return true;
}

bool broadcast_shape(const struct array *a, const struct array *b, int *ndim, int64_t shape[])
{
    *ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = 0; i < *ndim; i++) {
        int ia = i - (*ndim - a->ndim), ib = i - (*ndim - b->ndim);
        int64_t la = ia >= 0 ? a->shape[ia] : 1, lb = ib >= 0 ? b->shape[ib] : 1;

        if (la != lb && la != 1 && lb != 1)
            return false;
        shape[i] = la == 1 ? lb : la;
    }
    return true;
}

const char *shape_text(int ndim, const int64_t shape[])
{
    static char texts[4][128];
    static int turn;
    char *text = texts[turn++ % 4];
    int used = snprintf(text, 128, "(");

    for (int i = 0; i < ndim; i++)
        used += snprintf(text + used, 128 - (size_t)used, i > 0 ? ", %lld" : "%lld",
                         (long long)shape[i]);
    snprintf(text + used, 128 - (size_t)used, ndim == 1 ? ",)" : ")");
    return text;
}
