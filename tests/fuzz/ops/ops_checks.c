/* SPDX-License-Identifier: MIT
 *
 * Operations that give no tensor, or the same one again: equality, elements as numbers, text,
 * files, and sums of more elements than 16 bits count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

static bool generate_one(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    s->dtype = s->arg[0] >= 0 ? array_of(run, s, 0)->dtype : HT_BOOL;
    return s->arg[0] >= 0;
}

/* --- Equality --- */

static bool equal;

static bool generate_equal(struct run *run, const struct op *op, struct statement *s)
{
    s->arg[1] = pick_any(run);
    return generate_one(run, op, s);
}

static struct outcome call_equal(struct run *run, const struct statement *s)
{
    return done(ht_equal(tensor_of(run, s, 0), tensor_of(run, s, 1), &equal));
}

static int reference_equal(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *a = array_of(run, s, 0), *b = array_of(run, s, 1);
    ht_dtype dtype = promote(a->dtype, b->dtype);
    bool right = same_shape(a, b), known = true;

    (void)out;
    for (int64_t i = 0; right && i < array_size(a); i++) {
        struct number x = convert(array_at(a, i), a->dtype, dtype);
        struct number y = convert(array_at(b, i), b->dtype, dtype), r = number_eq(dtype, x, y);

        known = known && !is_unknown(x) && !is_unknown(y) && !is_unknown(r);
        right = right && (r.i != 0 || !known);
    }
    if (known && run->status == HT_SUCCESS && equal != right)
        fail(run, "ht_equal says %d", equal);
    return WANT_SUCCESS;
}

/* Compares x with the same elements in new memory; x has come through any number of views. */
static bool has_nan;

static struct outcome call_anew(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);
    size_t width = ht_dtype_size(ht_tensor_dtype(x));
    struct array whole;
    ht_status status;
    char *bytes;

    gather(x, &whole);
    bytes = malloc((size_t)array_size(&whole) * width + 1);
    has_nan = false;
    for (int64_t i = 0; i < array_size(&whole); i++) {
        struct number a = array_at(&whole, i);

        has_nan = has_nan || isnan(a.re) || isnan(a.im);
        store(whole.dtype, bytes + (size_t)i * width, a);
    }
    status = ht_equal(x, ht_array(bytes, whole.ndim, whole.shape, whole.dtype, ht_tensor_split(x)),
                      &equal);
    free(bytes);
    return done(status);
}

static int reference_anew(struct run *run, const struct statement *s, struct array *out)
{
    (void)s;
    (void)out;
    if (run->status == HT_SUCCESS && equal == has_nan)
        fail(run, "ht_equal of the same elements says %d", equal);
    return WANT_SUCCESS;
}

/* --- Elements and text --- */

static ht_number item;
static bool item_is_long;

static bool has_one_element(struct run *run, const struct variable *x)
{
    (void)run;
    return array_size(&x->a) == 1;
}

static bool generate_item(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, has_one_element);
    return s->arg[0] >= 0;
}

static struct outcome call_item(struct run *run, const struct statement *s)
{
    double value = 0;
    ht_status status = ht_tensor_item(tensor_of(run, s, 0), &value);

    item = ht_number_real(value);
    item_is_long = false;
    return done(status);
}

static struct outcome call_item_ext(struct run *run, const struct statement *s)
{
    item_is_long = true;
    return done(ht_tensor_item_ext(tensor_of(run, s, 0), &item));
}

static void check_item(struct run *run, ht_dtype dtype, struct number a)
{
    ht_dtype wide = item.kind == HT_NUMBER_INTEGER ? HT_INT64
                    : item.kind == HT_NUMBER_REAL  ? HT_FLOAT64
                                                   : HT_COMPLEX128;
    const double parts[] = {item.real, item.imaginary};
    const void *found = wide == HT_INT64 ? (const void *)&item.integer : parts;

    if (item_is_long && kind_of(wide) != (kind_of(dtype) > KIND_INT ? kind_of(dtype) : KIND_INT))
        fail(run, "an item of %s is a number of kind %d", ht_dtype_name(dtype), (int)item.kind);
    else if (!matches(wide, found, convert(a, dtype, wide)))
        fail(run, "an item is %lld or %.17g %+.17gj, right is %lld or %.17g %+.17gj",
             (long long)item.integer, item.real, item.imaginary, (long long)a.i, a.re, a.im);
}

static int reference_item(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);

    (void)out;
    if (array_size(x) != 1)
        return WANT_FAILURE;
    if (kind_of(x->dtype) == KIND_COMPLEX && s->op->call == call_item)
        return HT_ERR_DTYPE;
    if (run->status == HT_SUCCESS)
        check_item(run, x->dtype, array_at(x, 0));
    return WANT_SUCCESS;
}

static char *text;

static struct outcome call_text(struct run *run, const struct statement *s)
{
    text = ht_tensor_str(tensor_of(run, s, 0));
    return done(text != NULL ? HT_SUCCESS : ht_error_get(NULL));
}

/* An integer's text is its digits; a float's reads back to its four digits. */
static int reference_text(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    const char *at = text != NULL ? strchr(text, '\n') : NULL;

    (void)out;
    at = at != NULL ? at + strcspn(at, "-0123456789") : NULL;
    for (int64_t i = 0; at != NULL && i < array_size(x); i++) {
        struct number a = array_at(x, i);
        char *end;

        if (kind_of(x->dtype) != KIND_INT || is_unknown(a) || array_size(x) > 1000)
            break;
        if (strtoll(at, &end, 10) != a.i || end == at) {
            fail(run, "ht_tensor_str has %.24s for %lld", at, (long long)a.i);
            break;
        }
        at = end + strcspn(end, "-0123456789");
    }
    free(text);
    return WANT_SUCCESS;
}

/* --- Files --- */

static const char *path_of(void)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/ops.h5", fuzz_folder);
    return path;
}

static bool generate_load(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_one(run, op, s))
        return false;
    s->split = random_split(run, array_of(run, s, 0)->ndim);
    return true;
}

static struct outcome call_load(struct run *run, const struct statement *s)
{
    ht_tensor *x = NULL;

    if (ht_save_hdf5(tensor_of(run, s, 0), path_of(), "x", "w") == HT_SUCCESS)
        x = ht_load_hdf5(path_of(), "x", s->dtype, s->split);
    return made(x);
}

static int same_elements(struct run *run, const struct statement *s, struct array *out)
{
    *out = array_copy(array_of(run, s, 0));
    for (int64_t i = 0; i < array_size(out); i++)
        out->memory->data[i].d = NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    if (run->rank == 0)
        unlink(path_of());
    return WANT_SUCCESS;
}

static int reference_load(struct run *run, const struct statement *s, struct array *out)
{
    int split = s->split;

    if (split != HT_NONE && !axis_of(&split, array_of(run, s, 0)->ndim))
        return WANT_FAILURE;
    if (s->dtype != array_of(run, s, 0)->dtype)
        return WANT_ANYTHING;
    return same_elements(run, s, out);
}

static struct outcome call_checkpoint(struct run *run, const struct statement *s)
{
    ht_value *map = ht_value_map(), *list = ht_value_list();

    for (int i = 0; i < (int)s->n[0]; i++)
        ht_value_append(list, ht_value_number(i));
    ht_value_set(map, "list", list);
    ht_value_set(map, "x", ht_value_tensor(tensor_of(run, s, 0)));
    if (ht_checkpoint_save(map, path_of(), HT_COMM_WORLD, NULL) != HT_SUCCESS)
        return made(NULL);
    map = ht_checkpoint_load(path_of(), HT_COMM_WORLD, NULL);
    if (map == NULL)
        return made(NULL);
    for (int i = 0; i < (int)s->n[0]; i++) {
        if (ht_value_as_number(ht_value_at(ht_value_get(map, "list"), i)) != i)
            fail(run, "number %d of a list came back as another", i);
    }
    return made(ht_to_device(ht_value_as_tensor(ht_value_get(map, "x")), ht_get_device()));
}

static bool generate_checkpoint(struct run *run, const struct op *op, struct statement *s)
{
    s->n[0] = random_below(&run->random, 12);
    return generate_one(run, op, s);
}

/* --- Many elements --- */

enum { BIG_SUM, BIG_MEAN, BIG_MSE, BIG_MAX_GRADIENT, BIG_KINDS };

static bool generate_big(struct run *run, const struct op *op, struct statement *s)
{
    static const ht_dtype dtypes[] = {HT_FLOAT16, HT_BFLOAT16, HT_FLOAT32, HT_FLOAT64};

    (void)op;
    s->dtype = dtypes[random_below(&run->random, 4)];
    s->n[0] = random_below(&run->random, BIG_KINDS);
    s->n[1] = random_chance(&run->random, 50) ? 70000 : 1 + random_below(&run->random, 5000);
    s->split = random_chance(&run->random, 50) ? 0 : HT_NONE;
    if (s->n[0] == BIG_MAX_GRADIENT && run->program->differentiates)
        s->n[0] = BIG_MAX_GRADIENT - 1; /* it is not exact enough for factors of gradients */
    return run->recording;
}

static struct outcome call_big(struct run *run, const struct statement *s)
{
    ht_tensor *x = ht_ones(1, &s->n[1], s->dtype, s->split);

    if (!run->recording)
        return done(HT_SUCCESS);
    switch (s->n[0]) {
    case BIG_SUM:
        return made(ht_astype(ht_sum(x, HT_NONE), HT_FLOAT64));
    case BIG_MEAN:
        return made(ht_astype(ht_mean(x, 0), HT_FLOAT64));
    case BIG_MSE:
        return made(ht_astype(ht_mse_loss(x, ht_zeros_like(x), HT_MEAN), HT_FLOAT64));
    default: /* ties share the gradient */
        if (ht_tensor_set_requires_grad(x, true) != HT_SUCCESS ||
            ht_backward(ht_max(x, HT_NONE)) != HT_SUCCESS)
            return made(NULL);
        return made(ht_sum(ht_astype(ht_tensor_grad(x), HT_FLOAT64), HT_NONE));
    }
}

static int reference_big(struct run *run, const struct statement *s, struct array *out)
{
    struct number a = {.re = 1};

    if (!run->recording)
        return WANT_ANYTHING;
    if (s->n[0] == BIG_SUM)
        a.re = round_to(s->dtype, (double)s->n[1]);
    if (s->n[0] == BIG_MAX_GRADIENT)
        a.err = s->dtype == HT_FLOAT16 ? 0.05 : (double)s->n[1] * eps_of(s->dtype);
    *out = array_scalar(HT_FLOAT64, a);
    return WANT_SUCCESS;
}

const struct op ops_checks[] = {
    {"ht_equal(%t, %t)", 4, generate_equal, call_equal, reference_equal, .rules = RULE_SMOOTH},
    {"ht_equal(%t, the same made again)", 4, generate_one, call_anew, reference_anew,
     .rules = RULE_SMOOTH},
    {"ht_tensor_item(%t)", 2, generate_item, call_item, reference_item, .rules = RULE_SMOOTH},
    {"ht_tensor_item_ext(%t)", 3, generate_item, call_item_ext, reference_item,
     .rules = RULE_SMOOTH},
    {"ht_tensor_str(%t)", 3, generate_one, call_text, reference_text, .rules = 0},
    {"saved and loaded(%t, as %d, split %p)", 1, generate_load, call_load, reference_load,
     .rules = RULE_SMOOTH},
    {"in a checkpoint with %n numbers(%t)", 1, generate_checkpoint, call_checkpoint, same_elements,
     .rules = RULE_SMOOTH},
    {"big(kind %n, %n ones, %d, split %p)", 1, generate_big, call_big, reference_big,
     .rules = RULE_SMOOTH},
    {0}};
