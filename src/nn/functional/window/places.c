/* SPDX-License-Identifier: MIT
 *
 * Elements of planes, by two indices: the sample, and the place among the elements of its channels.
 * Each rank reads and writes the samples that it has, and nothing is sent. */
#include "nn/functional/window/places.h"

#include "core/ops/indexing/rows.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

int64_t ht__plane_length(int ndim, const int64_t shape[])
{
    int64_t length = 1;

    for (int i = 2; i < ndim; i++)
        length *= shape[i];
    return length;
}

static ht_tensor *range(int64_t first, int64_t count, int64_t step, ht_device *device,
                        ht_comm *comm)
{
    return ht_arange_ext(HT_NUM(first), HT_NUM(first + count * step), HT_NUM(step), HT_INT64,
                         HT_NONE, device, comm);
}

/* The number of the sample of each of `places` (N, C, count). */
static ht_tensor *samples_of(const char *what, const ht_tensor *places)
{
    const ht_body *body = places->body;
    const int64_t shape[3] = {body->shape[0], 1, 1};
    ht_tensor *samples = ht__batch_result(what, places, HT_INT64, 3, shape), *numbers;

    if (samples == NULL)
        return NULL;
    numbers = range(samples->body->split == 0 ? samples->body->split_start : 0,
                    samples->body->lshape[0], 1, body->storage->device, ht_comm_self());
    numbers = ht_reshape(numbers, 3, samples->body->lshape);
    if (numbers == NULL || ht_copy_(ht_tensor_local(samples), numbers) != HT_SUCCESS)
        return NULL;
    return ht_contiguous(ht_broadcast_to(samples, 3, body->shape));
}

/* `places` (N, C, ...) of planes of this length, as rows of (N, C length). */
static bool index_rows(const char *what, ht_tensor *places, int64_t length, ht_row_index *index)
{
    const ht_body *body = places->body;
    const int64_t n = body->shape[0], c = body->shape[1];
    ht_tensor *planes = range(0, c, length, body->storage->device, body->comm);

    places = ht_reshape(places, HT_SHAPE(n, c, ht__plane_length(body->ndim, body->shape)));
    if (places == NULL || planes == NULL)
        return false;
    *index = (ht_row_index){.axes = 2, .axis = {0, 1}, .own = true};
    index->at[0] = samples_of(what, places);
    index->at[1] = ht_contiguous(ht_add(places, ht_reshape(planes, HT_SHAPE(1, c, 1))));
    return index->at[0] != NULL && index->at[1] != NULL;
}

ht_tensor *ht__take_places(const char *what, ht_tensor *x, ht_tensor *places)
{
    int64_t length;
    ht_row_index index;

    if (x == NULL || places == NULL)
        return NULL;
    length = ht__plane_length(x->body->ndim, x->body->shape);
    if (!index_rows(what, places, length, &index))
        return NULL;
    x = ht_reshape(x, HT_SHAPE(x->body->shape[0], x->body->shape[1] * length));
    x = x != NULL ? ht__take_rows(what, x, &index) : NULL;
    return ht__without_base(ht_reshape(x, places->body->ndim, places->body->shape));
}

ht_tensor *ht__put_places(const char *what, ht_tensor *x, ht_tensor *places, const int64_t shape[])
{
    const int ndim = x->body->ndim;
    const int64_t length = ht__plane_length(ndim, shape);
    const int64_t rows[2] = {shape[0], shape[1] * length};
    ht_tensor *y = ht__batch_result(what, x, x->body->dtype, 2, rows);
    ht_row_index index;

    if (y == NULL || ht_fill_(y, 0) != HT_SUCCESS || !index_rows(what, places, length, &index))
        return NULL;
    x = ht_reshape(x, 3, index.at[0]->body->shape);
    if (x == NULL || ht__put_rows(what, y, &index, x, false) != HT_SUCCESS)
        return NULL;
    return ht__without_base(ht_reshape(y, ndim, shape));
}
