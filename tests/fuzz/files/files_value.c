/* SPDX-License-Identifier: MIT
 *
 * States for files: maps, lists, numbers and tensors of every dtype, split and shape, which follow
 * from one number. */
#include "fuzz/files/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht.h"

enum { MOST_ELEMENTS = 64 }; /* of three axes of four at the most */

/* A tensor as it follows from a number. */
struct spec {
    ht_dtype dtype;
    int ndim, split;
    int64_t shape[3];
    bool local; /* process-local */
    bool own;   /* and each rank's own */
};

static struct spec spec_of(uint64_t id)
{
    struct random random = {id};
    struct spec spec = {.dtype = (ht_dtype)random_below(&random, HT_DTYPE_COUNT),
                        .ndim = (int)random_below(&random, 4),
                        .split = HT_NONE};

    for (int i = 0; i < spec.ndim; i++)
        spec.shape[i] = random_chance(&random, 10) ? 0 : 1 + random_below(&random, 4);
    spec.local = random_chance(&random, 40);
    spec.own = spec.local && random_chance(&random, 40);
    if (!spec.local && spec.ndim > 0 && random_chance(&random, 70))
        spec.split = (int)random_below(&random, spec.ndim);
    return spec;
}

static double element(uint64_t id, ht_dtype dtype, int64_t index)
{
    return (double)(hash_of(id, (uint64_t)index) % (dtype == HT_BOOL ? 2 : 97));
}

static ht_tensor *tensor_of_id(uint64_t id)
{
    struct spec spec = spec_of(id);
    int64_t size = shape_size(spec.ndim, spec.shape);
    double data[MOST_ELEMENTS];
    ht_tensor *x;

    for (int64_t i = 0; i < size; i++)
        data[i] = element(id, spec.dtype, i);
    if (spec.own && spec.dtype != HT_BOOL && ht_comm_rank(HT_COMM_WORLD) > 0 && size > 0)
        data[0] += 1;
    x = spec.local ? ht_array(data, spec.ndim, spec.shape, HT_FLOAT64, HT_LOCAL)
                   : ht_array(data, spec.ndim, spec.shape, HT_FLOAT64, spec.split);
    return ht_astype(x, spec.dtype);
}

static double number_of_id(uint64_t id)
{
    return id % 4 == 0 ? (id % 8 == 0 ? NAN : -INFINITY) : strange_number(id >> 8);
}

static ht_value *leaf_of_id(uint64_t id)
{
    return id % 3 == 0 ? ht_value_number(number_of_id(id)) : ht_value_tensor(tensor_of_id(id));
}

static bool numbers_are_same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static bool tensor_is_of_id(ht_tensor *x, uint64_t id, char why[200])
{
    struct spec spec = spec_of(id);
    int64_t size = shape_size(spec.ndim, spec.shape);
    bool good = ht_tensor_dtype(x) == spec.dtype && ht_tensor_ndim(x) == spec.ndim &&
                ht_tensor_split(x) == spec.split;
    const double *data;
    int step;

    for (int i = 0; i < spec.ndim && good; i++)
        good = ht_tensor_shape(x)[i] == spec.shape[i];
    good = good && (!spec.local || ht_comm_size(ht_tensor_comm(x)) == 1);
    if (!good) {
        snprintf(why, 200, "%s %s, split %d, is %s %s, split %d", ht_dtype_name(spec.dtype),
                 shape_text(spec.ndim, spec.shape), spec.split, ht_dtype_name(ht_tensor_dtype(x)),
                 shape_text(ht_tensor_ndim(x), ht_tensor_shape(x)), ht_tensor_split(x));
        return false;
    }
    step = ht_dtype_is_complex(spec.dtype) ? 2 : 1;
    x = ht_astype(x, step == 2 ? HT_COMPLEX128 : HT_FLOAT64);
    data = values_of(ht_resplit(x, HT_NONE));
    for (int64_t i = 0; i < size; i++) {
        if (data[step * i] == element(id, spec.dtype, i))
            continue;
        snprintf(why, 200, "element %lld of %s %s is %.17g, %.17g was saved", (long long)i,
                 ht_dtype_name(spec.dtype), shape_text(spec.ndim, spec.shape), data[step * i],
                 element(id, spec.dtype, i));
        return false;
    }
    return true;
}

static bool leaf_is_of_id(const ht_value *value, uint64_t id, char why[200])
{
    ht_value_kind kind = id % 3 == 0 ? HT_VALUE_NUMBER : HT_VALUE_TENSOR;

    if (ht_value_get_kind(value) != kind) {
        snprintf(why, 200, "a value is of kind %d", (int)ht_value_get_kind(value));
        return false;
    }
    if (kind == HT_VALUE_TENSOR)
        return tensor_is_of_id(ht_value_as_tensor(value), id, why);
    if (numbers_are_same(ht_value_as_number(value), number_of_id(id)))
        return true;
    snprintf(why, 200, "a number is %.17g, %.17g was saved", ht_value_as_number(value),
             number_of_id(id));
    return false;
}

/* The number of items in the list and in the map, and of maps inside one another. */
static void counts_of(uint64_t id, int *list, int *map, int *depth)
{
    struct random random = {hash_of(id, 1)};

    *list = (int)random_below(&random, 12);
    *map = (int)random_below(&random, 14);
    *depth = (int)random_below(&random, 4);
}

ht_value *value_of_id(uint64_t id)
{
    ht_value *top = ht_value_map(), *list = ht_value_list(), *map = ht_value_map(), *inner = top;
    int items, keys, depth;
    char name[16];

    counts_of(id, &items, &keys, &depth);
    ht_value_set(top, "id", ht_value_number((double)(id % (1 << 30))));
    for (int i = 0; i < items; i++)
        ht_value_append(list, leaf_of_id(hash_of(id, 100 + (uint64_t)i)));
    for (int i = 0; i < keys; i++) {
        snprintf(name, sizeof name, "x%d", i);
        ht_value_set(map, name, leaf_of_id(hash_of(id, 200 + (uint64_t)i)));
    }
    ht_value_set(top, "list", list);
    for (int i = 0; i < depth; i++) {
        ht_value *next = ht_value_map();

        ht_value_set(inner, "in", next);
        inner = next;
    }
    ht_value_set(inner, "map", map);
    return top;
}

bool value_is_of_id(const ht_value *value, uint64_t id, char why[200])
{
    const ht_value *list = ht_value_get(value, "list"), *map = value;
    int items, keys, depth;
    char name[16];

    counts_of(id, &items, &keys, &depth);
    for (int i = 0; i < depth; i++)
        map = ht_value_get(map, "in");
    map = ht_value_get(map, "map");
    snprintf(why, 200, "the state is another one");
    if (ht_value_as_number(ht_value_get(value, "id")) != (double)(id % (1 << 30)) ||
        ht_value_count(list) != items || ht_value_count(map) != keys)
        return false;
    for (int i = 0; i < items; i++) {
        if (!leaf_is_of_id(ht_value_at(list, i), hash_of(id, 100 + (uint64_t)i), why))
            return false;
    }
    for (int i = 0; i < keys; i++) {
        snprintf(name, sizeof name, "x%d", i);
        if (!leaf_is_of_id(ht_value_get(map, name), hash_of(id, 200 + (uint64_t)i), why))
            return false;
    }
    return true;
}

static bool tensors_are_equal(ht_tensor *a, ht_tensor *b)
{
    int64_t bytes = ht_tensor_lsize(a) * (int64_t)ht_dtype_size(ht_tensor_dtype(a));

    return ht_tensor_dtype(a) == ht_tensor_dtype(b) && ht_tensor_lsize(a) == ht_tensor_lsize(b) &&
           (bytes == 0 || memcmp(values_of(a), values_of(b), (size_t)bytes) == 0);
}

bool values_are_equal(const ht_value *a, const ht_value *b)
{
    ht_value_kind kind = ht_value_get_kind(a);
    bool same = kind == ht_value_get_kind(b) && ht_value_count(a) == ht_value_count(b);

    if (same && kind == HT_VALUE_NUMBER)
        return numbers_are_same(ht_value_as_number(a), ht_value_as_number(b));
    if (same && kind == HT_VALUE_TENSOR)
        return tensors_are_equal(ht_value_as_tensor(a), ht_value_as_tensor(b));
    for (int i = 0; same && i < ht_value_count(a); i++) {
        const char *key = ht_value_key(a, i);

        same = values_are_equal(ht_value_at(a, i),
                                key != NULL ? ht_value_get(b, key) : ht_value_at(b, i));
    }
    return same;
}
