/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

/* Keys with tensors, written as in Python, and NumPy's x[key] for x of the elements 0 ... 59 in
 * shape (4, 5, 3). */
enum { SIZE = 60, MOST = 120, ITEMS = 5 };

typedef struct golden_key {
    const char *text;
    int ndim;
    int64_t shape[5];
    int at[MOST];
} golden_key;

#include "golden/keys.h"

enum { KEYS = sizeof golden_keys / sizeof *golden_keys };

static const int64_t shape[3] = {4, 5, 3};

/* ---- Python's keys ------------------------------------------------------------------------- */

typedef struct list {
    int64_t value[20];
    int count, rows; /* rows: of a list of lists, else 0 */
    bool is_mask;
} list;

static int64_t read_value(const char **text, list *l)
{
    char *end;
    int64_t value;

    l->is_mask = **text == 'T' || **text == 'F';
    if (l->is_mask)
        return *(*text)++ == 'T';
    value = strtol(*text, &end, 10);
    *text = end;
    return value;
}

/* From behind the first bracket to behind the last. */
static void read_list(const char **text, list *l)
{
    int depth = 1;

    *l = (list){0};
    while (depth > 0) {
        const char c = **text;

        if (c == '[' || c == ']') {
            l->rows += c == '[';
            depth += c == '[' ? 1 : -1;
        }
        if (strchr("[], ", c) != NULL)
            ++*text;
        else
            l->value[l->count++] = read_value(text, l);
    }
}

static ht_tensor *tensor_of(const list *l, int split)
{
    const int rows = l->rows > 0 ? l->rows : l->count, ndim = l->rows > 0 ? 2 : 1;
    const int64_t lengths[2] = {rows, rows > 0 ? l->count / rows : 0};
    ht_tensor *x = ht_array(l->value, ndim, lengths, HT_INT64, HT_NONE);

    if (split >= ndim)
        split = HT_NONE;
    return ht_resplit(l->is_mask ? ht_astype(x, HT_BOOL) : x, split);
}

/* An end of a slice. */
static int64_t read_end(const char **text)
{
    list unused;

    if (**text == '-' || isdigit((unsigned char)**text))
        return read_value(text, &unused);
    return HT_OPEN;
}

static ht_index read_item(const char **text, int split)
{
    int64_t start, stop, step = 1;
    list l;

    if (**text == '[') {
        ++*text;
        read_list(text, &l);
        return ht_index_tensor(tensor_of(&l, split));
    }
    if (strncmp(*text, "...", 3) == 0)
        return *text += 3, HT_ELLIPSIS;
    if (strncmp(*text, "None", 4) == 0)
        return *text += 4, HT_NEWAXIS;
    start = read_end(text);
    if (**text != ':')
        return ht_index_integer(start);
    ++*text;
    stop = read_end(text);
    if (**text == ':') {
        ++*text;
        step = read_end(text);
    }
    return ht_slice_step(start, stop, step);
}

/* Tensors among the items are split along this axis if they have it. */
static int read_key(const char *text, int split, ht_index key[ITEMS])
{
    int count = 0;

    while (*text != '\0') {
        if (*text == ',' || *text == ' ')
            text++;
        else
            key[count++] = read_item(&text, split);
    }
    return count;
}

/* ---- tests --------------------------------------------------------------------------------- */

static ht_tensor *counted(ht_dtype dtype, int split)
{
    return ht_resplit(ht_reshape(ht_arange(0, SIZE, 1, dtype, HT_NONE), HT_SHAPE(4, 5, 3)),
                      split < 0 ? HT_NONE : split);
}

static int size_of(const golden_key *golden)
{
    int n = 1;

    for (int i = 0; i < golden->ndim; i++)
        n *= (int)golden->shape[i];
    return n;
}

static void read_one(const golden_key *golden, int split, int key_split)
{
    ht_scope *scope = ht_scope_open();
    ht_index key[ITEMS];
    const int count = read_key(golden->text, key_split < 0 ? HT_NONE : key_split, key);
    double expected[MOST];
    ht_tensor *y = ht_getitem(counted(HT_INT16, split), count, key);

    for (int i = 0; i < size_of(golden); i++)
        expected[i] = golden->at[i];
    assert_int_equal(ht_tensor_ndim(y), golden->ndim);
    for (int i = 0; i < golden->ndim; i++)
        assert_int_equal(ht_tensor_shape(y)[i], golden->shape[i]);
    ht_test_expect(y, expected, 0);
    ht_scope_close(scope);
}

static void write_one(const golden_key *golden, int split, int key_split)
{
    ht_scope *scope = ht_scope_open();
    ht_index key[ITEMS];
    const int count = read_key(golden->text, key_split < 0 ? HT_NONE : key_split, key);
    ht_tensor *x = counted(HT_FLOAT32, split), *sums = counted(HT_INT64, split);
    double written[SIZE], added[SIZE];
    const int n = size_of(golden);
    ht_tensor *values = ht_resplit(
        ht_reshape(ht_arange(100, 100 + n, 1, HT_INT32, HT_NONE), golden->ndim, golden->shape),
        split);

    for (int i = 0; i < SIZE; i++)
        written[i] = added[i] = i;
    for (int i = 0; i < n; i++) {
        written[golden->at[i]] = 100 + i;
        added[golden->at[i]] += 100 + i;
    }
    assert_int_equal(ht_setitem_(x, count, key, values), HT_SUCCESS);
    ht_test_expect(x, written, 0);
    assert_int_equal(ht_add_at_(sums, count, key, values), HT_SUCCESS);
    ht_test_expect(sums, added, 0);
    for (int i = 0; i < n; i++)
        written[golden->at[i]] = -3;
    assert_int_equal(ht_setitem_(x, count, key, ht_scalar(-3)), HT_SUCCESS);
    ht_test_expect(x, written, 0);
    ht_scope_close(scope);
}

static void every_key_of_every_split(void **state)
{
    (void)state;
    for (int k = 0; k < KEYS; k++) {
        for (int split = -1; split < 3; split++) {
            for (int key_split = -1; key_split < 2; key_split++) {
                print_message("x[%s], split %d, key split %d\n", golden_keys[k].text, split,
                              key_split);
                read_one(&golden_keys[k], split, key_split);
                write_one(&golden_keys[k], split < golden_keys[k].ndim ? split : -1, key_split);
            }
        }
    }
}

typedef struct call {
    const golden_key *golden;
    int key_split;
} call;

static ht_tensor *get(ht_tensor *inputs[], void *user)
{
    const call *c = user;
    ht_index key[ITEMS];

    return ht_getitem(inputs[0], read_key(c->golden->text, c->key_split, key), key);
}

static ht_tensor *set(ht_tensor *inputs[], void *user)
{
    const call *c = user;
    ht_tensor *y = ht_copy(inputs[0]);
    ht_index key[ITEMS];

    assert_int_equal(ht_setitem_(y, read_key(c->golden->text, c->key_split, key), key, inputs[1]),
                     HT_SUCCESS);
    return y;
}

static ht_tensor *add(ht_tensor *inputs[], void *user)
{
    const call *c = user;
    ht_tensor *y = ht_copy(inputs[0]);
    ht_index key[ITEMS];

    assert_int_equal(ht_add_at_(y, read_key(c->golden->text, c->key_split, key), key, inputs[1]),
                     HT_SUCCESS);
    return y;
}

static bool names_places_twice(const golden_key *golden)
{
    unsigned char seen[SIZE] = {0};

    for (int i = 0; i < size_of(golden); i++) {
        if (seen[golden->at[i]]++ > 0)
            return true;
    }
    return false;
}

/* If a place is named twice, only the value that stays has a gradient. */
static void gradients(void **state)
{
    (void)state;
    for (int k = 0; k < KEYS; k++) {
        const golden_key *golden = &golden_keys[k];
        const int split = k % 4 - 1, ndim = golden->ndim;
        call c = {golden, k % 3 > 0 ? HT_NONE : 0};
        ht_scope *scope = ht_scope_open();
        ht_tensor *in[2] = {ht_test_randn(3, shape, HT_FLOAT64, split < 0 ? HT_NONE : split, 1),
                            ht_test_randn(ndim, golden->shape, HT_FLOAT64, k % ndim, 2)};

        print_message("x[%s], split %d\n", golden->text, split);
        ht_tensor_set_requires_grad(in[0], true);
        ht_tensor_set_requires_grad(in[1], true);
        ht_test_gradcheck(get, 1, in, &c, 1e-7);
        if (k % 4 == 0 || names_places_twice(golden))
            ht_test_gradcheck(set, 2, in, &c, 1e-7);
        if (k % 4 == 1)
            ht_test_gradcheck(add, 2, in, &c, 1e-7);
        ht_scope_close(scope);
    }
}

/* The header's rules for splits of results. */
static void splits_of_results(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = counted(HT_FLOAT32, 0), *all = ht_arange(0, 4, 1, HT_INT32, HT_NONE);
    ht_tensor *parts = ht_arange(0, 4, 1, HT_UINT8, 0), *chosen;

    (void)state;
    assert_int_equal(ht_tensor_split(ht_getitem(x, HT_KEY(HT_ALL, all))), 0);
    assert_int_equal(ht_tensor_split(ht_getitem(x, HT_KEY(HT_ALL, HT_ALL, 1, HT_NEWAXIS))), 0);
    assert_int_equal(ht_tensor_split(ht_getitem(x, HT_KEY(all))), 0);
    assert_int_equal(ht_tensor_split(ht_getitem(x, HT_KEY(parts))), 0);
    assert_int_equal(ht_tensor_split(ht_getitem(ht_resplit(x, 2), HT_KEY(all))), 2);
    assert_int_equal(ht_tensor_split(ht_getitem(ht_resplit(x, HT_NONE), HT_KEY(all))), HT_NONE);
    assert_int_equal(ht_tensor_split(ht_getitem(ht_resplit(x, HT_NONE), HT_KEY(HT_ALL, parts))), 1);
    chosen = ht_getitem(x, HT_KEY(ht_ge(x, ht_scalar(0))));
    assert_int_equal(ht_tensor_split(chosen), 0);
    assert_int_equal(ht_tensor_lshape(chosen)[0], ht_tensor_lshape(x)[0] * 15);
    ht_scope_close(scope);
}

static void take_and_put_by_index_tensors(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *at = ht_array((int64_t[]){7, -1, 0, 59}, HT_SHAPE(2, 2), HT_INT64, 0);

    (void)state;
    for (int split = -1; split < 3; split++) {
        ht_tensor *x = counted(HT_COMPLEX64, split);
        ht_tensor *odd = ht_eq(ht_remainder(ht_real(x), ht_scalar(20)), ht_scalar(19));

        ht_test_expect(ht_real(ht_take(x, at, HT_NONE)), (double[]){7, 59, 0, 59}, 0);
        ht_test_expect(ht_real(ht_getitem(ht_take(x, at, HT_NONE), HT_KEY(1))), (double[]){0, 59},
                       0);
        ht_test_expect(ht_nonzero(odd), (double[]){1, 1, 1, 2, 3, 0, 3, 4, 2}, 0);
        ht_test_expect(ht_nonzero(ht_getitem(odd, HT_KEY(1, HT_ALL, 1))), (double[]){1}, 0);
    }
    ht_test_expect(
        ht_nonzero(ht_array((float[]){0, NAN, -0.0f, 1e-45f}, HT_SHAPE(4), HT_FLOAT32, 0)),
        (double[]){1, 3}, 0);
    assert_int_equal(ht_tensor_size(ht_nonzero(ht_zeros(HT_SHAPE(0, 3), HT_INT8, 1))), 0);
    ht_scope_close(scope);
}

/* 0-d tensors are integers; an index may be x itself, and an index of two axes written by. */
static void odd_indices(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_array((int64_t[]){2, 0, 1, 2}, HT_SHAPE(4), HT_INT64, 0);
    ht_tensor *one = ht_sum(ht_ones(HT_SHAPE(1), HT_INT32, HT_NONE), HT_NONE);

    (void)state;
    assert_true(ht_item(ht_getitem(x, HT_KEY(one))) == 0);
    assert_int_equal(ht_setitem_(x, HT_KEY(x), ht_scalar(7)), HT_SUCCESS);
    ht_test_expect(x, (double[]){7, 7, 7, 2}, 0);
    assert_int_equal(ht_add_at_(x, HT_KEY(one), ht_scalar(1)), HT_SUCCESS);
    assert_int_equal(ht_add_at_(x, HT_KEY(ht_slice(2, 4)), ht_scalar(1)), HT_SUCCESS);
    ht_test_expect(x, (double[]){7, 8, 8, 3}, 0);
    ht_scope_close(scope);
}

/* A mask, an index or values that lie in the memory that is written are read before that. */
static void keys_in_the_memory_that_is_written(void **state)
{
    static const bool mirrored[] = {true, false, true, true, true, true, true};
    static const bool ahead[] = {true, false, false, false, false, true, false};

    (void)state;
    for (int split = -1; split < 1; split++) {
        const int s = split < 0 ? HT_NONE : split;
        ht_tensor *x = ht_array(mirrored, HT_SHAPE(7), HT_BOOL, s);
        ht_tensor *i = ht_array((int64_t[]){2, 0, 1, 3, 1}, HT_SHAPE(5), HT_INT64, s);

        assert_int_equal(ht_setitem_(x, HT_KEY(ht_flip(x, HT_AXES(0))), ht_scalar(0)), HT_SUCCESS);
        ht_test_expect(x, (double[]){0, 0, 0, 0, 0, 1, 0}, 0);
        x = ht_array(ahead, HT_SHAPE(7), HT_BOOL, s);
        assert_int_equal(
            ht_setitem_(ht_narrow(x, 0, 1, 7), HT_KEY(ht_narrow(x, 0, 0, 6)), ht_scalar(1)),
            HT_SUCCESS);
        ht_test_expect(x, (double[]){1, 1, 0, 0, 0, 1, 1}, 0);
        assert_int_equal(ht_setitem_(i, HT_KEY(ht_flip(i, HT_AXES(0))), i), HT_SUCCESS);
        ht_test_expect(i, (double[]){3, 1, 1, 0, 1}, 0);
    }
}

/* Many rows of every rank for every other, in uneven slabs: the last of several values stays. */
static void many_rows_travel_between_all_ranks(void **state)
{
    enum { N = 500, LENGTH = 97 };
    ht_scope *scope = ht_scope_open();
    int64_t at[N];
    double taken[N], written[LENGTH], added[LENGTH];

    (void)state;
    for (int i = 0; i < N; i++) {
        at[i] = (i * i * 31 + i) % LENGTH;
        taken[i] = (double)at[i];
        at[i] -= i % 2 == 0 ? LENGTH : 0;
    }
    for (int i = 0; i < LENGTH; i++)
        written[i] = added[i] = i;
    for (int i = 0; i < N; i++) {
        written[(int)taken[i]] = i;
        added[(int)taken[i]] += i;
    }
    for (int split = -1; split < 1; split++) {
        ht_tensor *x = ht_arange(-3, LENGTH, 1, HT_FLOAT64, 0), *y, *z;
        ht_tensor *index = ht_array(at, HT_SHAPE(N), HT_INT64, split < 0 ? HT_NONE : 0);
        ht_tensor *values = ht_arange(0, N, 1, HT_FLOAT32, split < 0 ? 0 : HT_NONE);

        x = ht_getitem(x, HT_KEY(ht_slice(3, HT_OPEN))); /* unbalanced */
        y = ht_copy(x);
        z = ht_copy(x);
        ht_test_expect(ht_getitem(x, HT_KEY(index)), taken, 0);
        assert_int_equal(ht_setitem_(y, HT_KEY(index), values), HT_SUCCESS);
        ht_test_expect(y, written, 0);
        assert_int_equal(ht_add_at_(z, HT_KEY(index), values), HT_SUCCESS);
        ht_test_expect(z, added, 0);
    }
    ht_scope_close(scope);
}

static void misuse(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = counted(HT_INT32, 0),
              *far = ht_array((int64_t[]){0, 5}, HT_SHAPE(2), HT_INT64, 0);
    ht_tensor *three = ht_zeros(HT_SHAPE(3), HT_INT64, HT_NONE);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(HT_ALL, far)), HT_ERR_ARGUMENT,
                         "ht_getitem: index 5 is out of range for axis 1 of x of shape (4, 5, 3)");
    HT_TEST_EXPECT_ERROR(ht_setitem_(x, HT_KEY(ht_neg(far)), ht_scalar(0)), HT_ERR_ARGUMENT,
                         "ht_setitem_: index -5 is out of range for axis 0");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(ht_zeros(HT_SHAPE(2), HT_FLOAT32, HT_NONE))),
                         HT_ERR_DTYPE, "an index is float32");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(ht_ones(HT_SHAPE(5, 3), HT_BOOL, HT_NONE))),
                         HT_ERR_SHAPE, "a mask is (5, 3), expected the lengths from axis 0");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(1, 1, 1, three)), HT_ERR_ARGUMENT,
                         "the key has 4 indices");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(HT_ALL, HT_ALL, three, three)), HT_ERR_ARGUMENT,
                         "the key has 4 indices");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(ht_neg(ht_ones(HT_SHAPE(2), HT_INT8, 0)), three)),
                         HT_ERR_SHAPE,
                         "ht_getitem: operand 1 is (3,), which does not broadcast with the "
                         "operands before it, (2,)");
    HT_TEST_EXPECT_ERROR(ht_setitem_(x, HT_KEY(three), ht_ones(HT_SHAPE(2, 3), HT_INT8, HT_NONE)),
                         HT_ERR_SHAPE, "ht_setitem_: values of shape (2, 3)");
    HT_TEST_EXPECT_ERROR(ht_add_at_(x, HT_KEY(three), ht_ones(HT_SHAPE(3), HT_FLOAT32, HT_NONE)),
                         HT_ERR_DTYPE, "which x of int32 cannot hold");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY((ht_tensor *)NULL)), HT_ERR_ARGUMENT,
                         "key[0].tensor is NULL");
    HT_TEST_EXPECT_ERROR(ht_take(x, ht_ones(HT_SHAPE(4), HT_BOOL, HT_NONE), 0), HT_ERR_DTYPE,
                         "indices are bool, expected integers");
    HT_TEST_EXPECT_ERROR(ht_nonzero(ht_sum(x, HT_NONE)), HT_ERR_SHAPE,
                         "ht_nonzero: x is a scalar, expected at least one axis");
    ht_test_expect(x, ht_test_values(counted(HT_INT32, 0)), 0);
    ht_scope_close(scope);
}

/* Whether the local parts overlap is not the same on all ranks, and some have no rows. */
static void masks_may_share_memory_with_x(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows < 5; rows++) {
        ht_tensor *both = ht_ones(HT_SHAPE(rows, 6), HT_BOOL, 0);
        ht_tensor *x = ht_narrow(both, 1, 0, 3), *mask = ht_narrow(both, 1, 3, 6);

        assert_int_equal(ht_setitem_(x, HT_KEY(mask), ht_scalar(0)), HT_SUCCESS);
        assert_true(ht_item(ht_sum(x, HT_NONE)) == 0);
        assert_true(ht_item(ht_sum(mask, HT_NONE)) == 3 * (double)rows);
        assert_int_equal(ht_setitem_(mask, HT_KEY(mask), ht_scalar(0)), HT_SUCCESS);
        assert_true(ht_item(ht_sum(both, HT_NONE)) == 0);
    }
}

HT_TEST_SUITE(test_getitem_rows, cmocka_unit_test(every_key_of_every_split),
              cmocka_unit_test(gradients), cmocka_unit_test(splits_of_results),
              cmocka_unit_test(take_and_put_by_index_tensors), cmocka_unit_test(odd_indices),
              cmocka_unit_test(keys_in_the_memory_that_is_written),
              cmocka_unit_test(many_rows_travel_between_all_ranks), cmocka_unit_test(misuse),
              cmocka_unit_test(masks_may_share_memory_with_x));
