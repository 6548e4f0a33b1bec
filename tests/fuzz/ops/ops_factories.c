/* SPDX-License-Identifier: MIT
 *
 * Factories and random draws. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

static bool generate_shaped(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->dtype = random_dtype(run);
    s->ndim = random_shape(run, s->shape);
    s->split = random_split(run, s->ndim);
    s->v[0] = (double)random_below(&run->random, 9) - 4;
    if (random_chance(&run->random, 25))
        s->v[0] += 0.5;
    s->number = random_number(run);
    s->n[0] = run->program->differentiates
                  ? (random_chance(&run->random, 50) ? DATA_FRACTION : DATA_POSITIVE)
                  : random_below(&run->random, DATA_STYLES);
    if (random_chance(&run->random, 5))
        s->n[0] = random_below(&run->random, DATA_STYLES);
    return true;
}

static int check_split(const struct statement *s)
{
    int split = s->split;

    return split == HT_NONE || axis_of(&split, s->ndim) ? HT_SUCCESS : HT_ERR_ARGUMENT;
}

/* --- Data --- */

static void *data_bytes(const struct statement *s, int64_t first, int64_t rows)
{
    size_t width = ht_dtype_size(s->dtype);
    int split = s->split;
    int64_t lshape[HT_MAX_NDIM], size;
    char *bytes;

    memcpy(lshape, s->shape, sizeof lshape);
    if (rows >= 0 && axis_of(&split, s->ndim))
        lshape[split] = rows;
    size = shape_size(s->ndim, lshape);
    bytes = malloc((size_t)size * width + 1);
    for (int64_t i = 0; i < size; i++) {
        int64_t at[HT_MAX_NDIM], index = 0;

        unravel(i, s->ndim, lshape, at);
        if (rows >= 0)
            at[split] += first;
        for (int k = 0; k < s->ndim; k++)
            index = index * s->shape[k] + at[k];
        store(s->dtype, bytes + (size_t)i * width,
              data_number((int)s->n[0], s->dtype, s->seed, (uint64_t)index));
    }
    return bytes;
}

static struct outcome call_data(struct run *run, const struct statement *s)
{
    void *bytes = data_bytes(s, 0, -1);
    ht_tensor *t = ht_array(bytes, s->ndim, s->shape, s->dtype, s->split);

    (void)run;
    free(bytes);
    return made(t);
}

static int reference_data(struct run *run, const struct statement *s, struct array *out)
{
    (void)run;
    if (check_split(s) != HT_SUCCESS)
        return WANT_FAILURE;
    *out = array_new(s->dtype, s->ndim, s->shape);
    for (int64_t i = 0; i < array_size(out); i++)
        array_set(out, i, data_number((int)s->n[0], s->dtype, s->seed, (uint64_t)i));
    return WANT_SUCCESS;
}

/* Where the slab of a rank begins, of uneven ones: the ranks weigh 0, 1 or 2. */
static int64_t edge_of(const struct run *run, const struct statement *s, int rank, int64_t length)
{
    int64_t before = 0, all = 0;

    for (int i = 0; i < run->size; i++) {
        int64_t weight = (int64_t)(hash_of(s->seed, 500 + (uint64_t)i) % 3);

        before += i < rank ? weight : 0;
        all += weight;
    }
    return all > 0 ? length * before / all : rank == run->size ? length : 0;
}

static struct outcome call_slabs(struct run *run, const struct statement *s)
{
    int split = s->split;
    int64_t lshape[HT_MAX_NDIM], first;
    ht_tensor *t;
    void *bytes;

    if (!axis_of(&split, s->ndim))
        return done(HT_SUCCESS);
    memcpy(lshape, s->shape, sizeof lshape);
    first = edge_of(run, s, run->rank, s->shape[split]);
    lshape[split] = edge_of(run, s, run->rank + 1, s->shape[split]) - first;
    bytes = data_bytes(s, first, lshape[split]);
    t = ht_array_from_local(bytes, s->ndim, lshape, s->dtype, s->split);
    free(bytes);
    return made(t);
}

static bool generate_slabs(struct run *run, const struct op *op, struct statement *s)
{
    generate_shaped(run, op, s);
    if (s->ndim == 0)
        return false;
    s->split = (int)random_below(&run->random, s->ndim);
    return true;
}

static int reference_slabs(struct run *run, const struct statement *s, struct array *out)
{
    return s->ndim == 0 || s->split == HT_NONE ? WANT_ANYTHING : reference_data(run, s, out);
}

/* --- Constants and progressions --- */

static struct outcome call_full(struct run *run, const struct statement *s)
{
    (void)run;
    return made(ht_full(s->ndim, s->shape, s->v[0], s->dtype, s->split));
}

static struct outcome call_full_ext(struct run *run, const struct statement *s)
{
    (void)run;
    return made(ht_full_ext(s->ndim, s->shape, s->number, s->dtype, s->split, ht_get_device(),
                            ht_get_comm()));
}

static int reference_full(struct run *run, const struct statement *s, struct array *out)
{
    struct number value = number_of(s->dtype, number_passed(s, HT_FLOAT64));

    (void)run;
    if (check_split(s) != HT_SUCCESS)
        return WANT_FAILURE;
    if (!number_fits(s->dtype, number_passed(s, HT_FLOAT64)))
        return HT_ERR_ARGUMENT;
    *out = array_new(s->dtype, s->ndim, s->shape);
    for (int64_t i = 0; i < array_size(out); i++)
        array_set(out, i, value);
    return WANT_SUCCESS;
}

static bool generate_like(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    s->v[0] = (double)random_below(&run->random, 9) - 4;
    s->number = random_number(run);
    s->dtype = random_dtype(run);
    return s->arg[0] >= 0;
}

static struct outcome call_like(struct run *run, const struct statement *s)
{
    return made(ht_full_like(tensor_of(run, s, 0), s->v[0]));
}

static struct outcome call_like_ext(struct run *run, const struct statement *s)
{
    return made(ht_full_like_ext(tensor_of(run, s, 0), s->number, s->dtype));
}

static int reference_like(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    ht_dtype dtype = s->op->rules & RULE_LONG ? s->dtype : x->dtype;
    struct number value = number_of(dtype, number_passed(s, HT_FLOAT64));

    if (!number_fits(dtype, number_passed(s, HT_FLOAT64)))
        return HT_ERR_ARGUMENT;
    *out = array_new(dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(out); i++)
        array_set(out, i, value);
    return WANT_SUCCESS;
}

static bool generate_line(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    do
        s->dtype = random_dtype(run);
    while (s->dtype == HT_BOOL);
    s->v[0] = (double)random_below(&run->random, 21) - 10;
    s->v[1] = s->v[0] + (double)random_below(&run->random, 21) / 3;
    if (random_chance(&run->random, 30)) {
        s->v[0] = random_unit(&run->random);
        s->v[1] = 1 + random_unit(&run->random);
    }
    if (kind_of(s->dtype) == KIND_INT && s->dtype == HT_INT64 && random_chance(&run->random, 20)) {
        s->v[0] = 0x1p53;
        s->v[1] = 0x1p53 + 8;
    }
    s->n[0] = random_chance(&run->random, 5) ? 0 : 1 + random_below(&run->random, 60);
    s->split = random_chance(&run->random, 50) ? 0 : HT_NONE;
    return true;
}

static struct outcome call_linspace(struct run *run, const struct statement *s)
{
    (void)run;
    return made(ht_linspace(s->v[0], s->v[1], s->n[0], s->dtype, s->split));
}

static int reference_linspace(struct run *run, const struct statement *s, struct array *out)
{
    double step = s->n[0] > 1 ? (s->v[1] - s->v[0]) / (double)(s->n[0] - 1) : 0;

    (void)run;
    *out = array_new(s->dtype, 1, s->n);
    for (int64_t i = 0; i < s->n[0]; i++) {
        struct number a = {.re = s->v[0] + step * (double)i};

        a.err = i == 0 ? 0 : 4 * 0x1p-52 * (fabs(s->v[0]) + fabs(s->v[1]));
        if (i == s->n[0] - 1 && i > 0) {
            a.re = s->v[1];
            a.err = 0;
        }
        array_set(out, i, convert(a, HT_FLOAT64, s->dtype));
    }
    return WANT_SUCCESS;
}

static bool generate_arange(struct run *run, const struct op *op, struct statement *s)
{
    generate_line(run, op, s);
    s->n[0] = random_chance(&run->random, 70) ? 4 : 3; /* the step in quarters: 1, or 0.75 */
    if (kind_of(s->dtype) <= KIND_INT) {
        s->v[0] = trunc(s->v[0]);
        s->n[0] = 4 * (1 + random_below(&run->random, 2));
    }
    return true;
}

static struct outcome call_arange(struct run *run, const struct statement *s)
{
    (void)run;
    return made(ht_arange(s->v[0], s->v[1], (double)s->n[0] / 4, s->dtype, s->split));
}

static int reference_arange(struct run *run, const struct statement *s, struct array *out)
{
    double step = (double)s->n[0] / 4, count = ceil((s->v[1] - s->v[0]) / step);
    int64_t length = count > 0 ? (int64_t)count : 0;

    (void)run;
    if (rint(s->v[0]) == s->v[0] && s->n[0] % 4 == 0 && length > 0 &&
        (!number_fits(s->dtype, ht_number_integer((int64_t)s->v[0])) ||
         !number_fits(s->dtype, ht_number_integer((int64_t)s->v[0] + s->n[0] / 4 * (length - 1)))))
        return HT_ERR_ARGUMENT;
    *out = array_new(s->dtype, 1, &length);
    for (int64_t i = 0; i < length; i++) {
        struct number a = {.re = s->v[0] + step * (double)i};

        if (kind_of(s->dtype) <= KIND_INT) {
            a = number_int(s->dtype, (int64_t)s->v[0] + s->n[0] / 4 * i);
            if ((double)a.i != s->v[0] + step * (double)i && s->dtype != HT_INT64)
                a = number_unknown();
        } else {
            a.err = rint(s->v[0]) == s->v[0] ? 0 : 0x1p-52 * (fabs(s->v[0]) + step * (double)i);
            a = convert(a, HT_FLOAT64, s->dtype);
        }
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

/* Integers that a double cannot represent, and reals that are integers. */
static bool generate_count(struct run *run, const struct op *op, struct statement *s)
{
    static const int64_t starts[] = {
        0, -7, (1LL << 53) + 1, -(1LL << 62) - 3, INT64_MAX - 99, INT64_MIN + 99};

    (void)op;
    s->n[0] = starts[random_below(&run->random, 6)];
    s->n[2] = 1 + random_below(&run->random, 3);
    s->n[1] = random_below(&run->random, 40) - 4;
    if (random_chance(&run->random, 50)) {
        s->n[1] = -s->n[1];
        s->n[2] = -s->n[2];
    }
    s->n[1] += s->n[0];
    s->dtype = random_chance(&run->random, 60) ? HT_INT64 : HT_FLOAT64;
    s->split = random_chance(&run->random, 50) ? 0 : HT_NONE;
    return true;
}

static struct outcome call_count(struct run *run, const struct statement *s)
{
    bool real = (double)s->n[2] > 2; /* an integer as a double gives the same */

    (void)run;
    return made(
        ht_arange_ext(HT_NUM(s->n[0]), HT_NUM(s->n[1]),
                      real && llabs(s->n[0]) < 8 ? HT_NUM((double)s->n[2]) : HT_NUM(s->n[2]),
                      s->dtype, s->split, ht_get_device(), ht_get_comm()));
}

static int reference_count(struct run *run, const struct statement *s, struct array *out)
{
    int64_t way = s->n[1] - s->n[0], step = s->n[2];
    int64_t length = way == 0 || (way > 0) != (step > 0) ? 0
                                                         : (way - (step > 0 ? 1 : -1)) / step + 1;

    (void)run;
    *out = array_new(s->dtype, 1, &length);
    for (int64_t i = 0; i < length; i++)
        array_set(out, i, number_of(s->dtype, ht_number_integer(s->n[0] + step * i)));
    return WANT_SUCCESS;
}

static bool generate_eye(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->dtype = random_dtype(run);
    s->n[0] = random_below(&run->random, 6);
    s->n[1] = random_below(&run->random, 6);
    s->split = random_split(run, 2);
    s->ndim = 2;
    return true;
}

static struct outcome call_eye(struct run *run, const struct statement *s)
{
    (void)run;
    return made(ht_eye(s->n[0], s->n[1], s->dtype, s->split));
}

static int reference_eye(struct run *run, const struct statement *s, struct array *out)
{
    struct number one = convert(number_real(HT_FLOAT64, 1), HT_FLOAT64, s->dtype);

    (void)run;
    if (check_split(s) != HT_SUCCESS)
        return WANT_FAILURE;
    *out = array_new(s->dtype, 2, s->n);
    for (int64_t i = 0; i < s->n[0] && i < s->n[1]; i++)
        array_set(out, i * s->n[1] + i, one);
    return WANT_SUCCESS;
}

const struct op ops_factories[] = {
    {.format = "data(style %n, %s, %d, split %p, seed %x)",
     60,
     generate_shaped,
     call_data,
     reference_data,
     .rules = RULE_SMOOTH},
    {.format = "slabs(style %n, %s, %d, split %p, seed %x, uneven)",
     14,
     generate_slabs,
     call_slabs,
     reference_slabs,
     .rules = RULE_SMOOTH},
    {.format = "ht_full(%s, %v, %d, split %p)",
     12,
     generate_shaped,
     call_full,
     reference_full,
     .rules = RULE_SMOOTH},
    {.format = "ht_full_ext(%s, %l, %d, split %p)",
     6,
     generate_shaped,
     call_full_ext,
     reference_full,
     .rules = RULE_SMOOTH | RULE_LONG},
    {.format = "ht_full_like(%t, %v)",
     6,
     generate_like,
     call_like,
     reference_like,
     .rules = RULE_SMOOTH},
    {.format = "ht_full_like_ext(%t, %l, %d)",
     4,
     generate_like,
     call_like_ext,
     reference_like,
     .rules = RULE_SMOOTH | RULE_LONG},
    {.format = "ht_arange_ext(%n, %n, %n, %d, split %p)",
     4,
     generate_count,
     call_count,
     reference_count},
    {.format = "ht_linspace(%v, %v, %n, %d, split %p)",
     6,
     generate_line,
     call_linspace,
     reference_linspace},
    {.format = "ht_arange(%v, %v, %n / 4, %d, split %p)",
     6,
     generate_arange,
     call_arange,
     reference_arange},
    {.format = "ht_eye(%n, %n, %d, split %p)", 4, generate_eye, call_eye, reference_eye},
    {0}};
