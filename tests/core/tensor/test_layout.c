/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Whether memory is contiguous, channels-last or viewable in another shape is the same on all
 * ranks, for any parts. */
#include <string.h>

#include "core/ops/ops.h"
#include "core/tensor/tensor.h"
#include "ht_test.h"
#include "tensor_check.h"

#include "ht.h"

static bool same_on_all(bool mine)
{
    int both[2] = {mine, !mine};

    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return both[0] + both[1] == 1;
}

/* Elements one after another, in the order in which a caller with the address of contiguous memory
 * reads them. */
static bool is_dense(const ht_body *body, const int order[])
{
    int64_t step = 1;

    for (int i = body->ndim - 1; i >= 0 && body->lsize > 0; i--) {
        int axis = order != NULL ? order[i] : i;

        if (body->lshape[axis] != 1 && body->stride[axis] != step)
            return false;
        step *= body->lshape[axis];
    }
    return true;
}

static bool shares(ht_tensor *y, ht_tensor *x)
{
    return y->body->storage == x->body->storage;
}

/* All that is decided by the layout of x. */
static void expect_alike(ht_tensor *x)
{
    static const int images[4] = {0, 2, 3, 1};
    const int64_t flat[1] = {-1};
    ht_tensor *y = ht_contiguous(x);

    assert_non_null(y);
    assert_true(same_on_all(y == x));
    assert_int_equal(y == x, ht_tensor_is_contiguous(x));
    assert_true(is_dense(y->body, NULL));
    ht_test_expect_same(y, x, 0);

    y = ht_reshape(x, 1, flat);
    assert_true(same_on_all(shares(y, x)));
    assert_true(is_dense(ht_contiguous(y)->body, NULL));
    y = ht_reshape(ht_expand_dims(x, 0), x->body->ndim, x->body->shape);
    assert_true(shares(y, x)); /* the same elements in the same places */
    ht_test_expect_same(y, x, 0);

    y = ht_add(x, x); /* laid out as x */
    assert_true(same_on_all(ht_tensor_is_contiguous(y)));
    ht_test_expect_same(y, ht_add(ht_contiguous(x), ht_contiguous(x)), 0);
    if (x->body->ndim != 4)
        return;
    y = ht_channels_last(x);
    assert_true(same_on_all(y == x));
    assert_int_equal(y == x, ht_tensor_is_channels_last(x));
    assert_true(ht_tensor_is_channels_last(y) && is_dense(y->body, images));
    ht_test_expect_same(y, x, 0);
}

/* Rows on the first rank, none, three, one, none, three, … */
static ht_tensor *uneven(int ndim, const int64_t shape[], int split)
{
    static const int64_t lengths[] = {1, 0, 3};
    int64_t lshape[HT_MAX_NDIM], count = 1;
    float data[4096];

    memcpy(lshape, shape, (size_t)ndim * sizeof *shape);
    lshape[split] = lengths[ht_test_rank % 3];
    for (int i = 0; i < ndim; i++)
        count *= lshape[i];
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)(100 * ht_test_rank + i);
    return ht_array_from_local(data, ndim, lshape, HT_FLOAT32, split);
}

/* One of a few views of x, or x where this one cannot be. */
static ht_tensor *view_of(ht_tensor *x, unsigned which)
{
    const int64_t *shape = ht_tensor_shape(x);
    int ndim = ht_tensor_ndim(x), axis = ndim > 0 ? (int)(which / 8 % (unsigned)ndim) : 0;
    int64_t wider[HT_MAX_NDIM];

    if (ndim == 0)
        return x;
    switch (which % 8) {
    case 0:
        return ht_transpose(x, axis, (axis + 1) % ndim);
    case 1:
        return shape[axis] > 0 ? ht_narrow(x, axis, 0, 1) : x;
    case 2:
        return shape[axis] > 1 ? ht_narrow(x, axis, 1, shape[axis]) : x;
    case 3:
        return ndim < 5 ? ht_expand_dims(x, axis) : x;
    case 4:
        return shape[axis] == 1 && axis != ht_tensor_split(x) ? ht_squeeze(x, axis) : x;
    case 5:
        return ndim > 1 ? ht_flatten(x, ndim - 2) : x;
    case 6:
        return ht_permute(x, 0, NULL);
    default:
        memcpy(wider, shape, (size_t)ndim * sizeof *shape);
        wider[axis] = shape[axis] == 1 && axis != ht_tensor_split(x) ? 2 : shape[axis];
        return ht_broadcast_to(x, ndim, wider);
    }
}

static void try_views(ht_tensor *x, uint64_t seed)
{
    for (int chain = 0; chain < 12; chain++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *y = x;

        for (int i = 0; i < 4; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            y = view_of(y, (unsigned)(seed >> 40));
            assert_non_null(y);
        }
        expect_alike(y);
        ht_scope_close(scope);
    }
}

static void layouts_are_the_same_on_all_ranks(void **state)
{
    const int64_t shapes[][4] = {{2, 3, 2, 2}, {1, 4, 3, 2}, {ht_test_size, 1, 2, 3}, {5, 3, 1, 2}};

    (void)state;
    for (int k = 0; k < 4; k++) {
        for (int ndim = 2; ndim <= 4; ndim++) {
            for (int split = -1; split < ndim; split++) {
                int at = split < 0 ? HT_NONE : split;
                ht_tensor *x = ht_test_randn(ndim, shapes[k], HT_FLOAT32, at, 3);

                try_views(x, (uint64_t)(100 * k + 10 * ndim + split + 1));
                if (ndim == 4)
                    try_views(ht_channels_last(x), (uint64_t)(k + split + 1));
                if (split >= 0)
                    try_views(uneven(ndim, shapes[k], split), (uint64_t)(k + 10 * ndim + split));
            }
        }
    }
}

/* The slab of a replicated tensor as a view of it, which operations make for themselves. */
static void slabs_of_replicated_tensors_are_views(void **state)
{
    const int64_t shape[4] = {3, 2, 4, 2};
    ht_tensor *whole = ht_test_randn(4, shape, HT_FLOAT32, HT_NONE, 5);

    (void)state;
    for (int split = 0; split < 4; split++) {
        ht_body *body = ht__body_metadata(ht_resplit(whole, split)->body);

        try_views(ht__match_slabs("test", whole, body), (uint64_t)split);
        try_views(ht__match_slabs("test", ht_channels_last(whole), body), (uint64_t)split + 7);
        ht_release(body);
    }
}

/* The part of a column on the first rank is one element, and no other has any. */
static void a_write_reaches_all_ranks_or_none(void **state)
{
    const int64_t shape[2] = {ht_test_size + 1, 4};
    ht_tensor *x = ht_zeros(2, shape, HT_FLOAT32, 0), *y = ht_contiguous(ht_transpose(x, 0, 1));
    float sum;

    (void)state;
    ht_fill_(y, 1);
    sum = (float)ht_item(ht_sum(x, HT_NONE));
    assert_true(sum == 0 || sum == (float)(shape[0] * shape[1]));
}

HT_TEST_SUITE(test_layout, cmocka_unit_test(layouts_are_the_same_on_all_ranks),
              cmocka_unit_test(slabs_of_replicated_tensors_are_views),
              cmocka_unit_test(a_write_reaches_all_ranks_or_none));
