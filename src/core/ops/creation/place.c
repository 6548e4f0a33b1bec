/* SPDX-License-Identifier: MIT
 *
 * Where a factory makes its tensor. */
#include "core/ops/ops.h"
#include "ht/factories.h"

ht_place ht__place_here(const char *what, int split)
{
    ht_comm *comm = ht__comm_in_use(what);

    if (comm != NULL && split == HT_LOCAL)
        return (ht_place){.comm = ht_comm_self(), .device = ht_get_device(), .split = HT_NONE};
    return (ht_place){.comm = comm, .device = ht_get_device(), .split = split};
}

ht_place ht__place_at(const char *what, int split, ht_device *device, ht_comm *comm)
{
    if (HT_IS_NULL(device, what, "device") || HT_IS_NULL(comm, what, "comm"))
        return (ht_place){0};
    if (split == HT_LOCAL) {
        HT_FAIL(comm, HT_ERR_ARGUMENT,
                "%s: split is HT_LOCAL with a communicator, expected HT_NONE and HT_COMM_SELF",
                what);
        return (ht_place){0};
    }
    return (ht_place){.comm = comm, .device = device, .split = split};
}

ht_tensor *ht__new_at(const char *what, int ndim, const int64_t shape[], ht_dtype dtype,
                      ht_place place)
{
    if (place.comm == NULL)
        return NULL;
    if ((unsigned)dtype >= HT_DTYPE_COUNT) {
        HT_FAIL(place.comm, HT_ERR_ARGUMENT, "%s: dtype is %d, expected an ht_dtype", what,
                (int)dtype);
        return NULL;
    }
    if (!ht__check_shape(what, place.comm, ndim, shape, &place.split))
        return NULL;
    return ht__tensor_new(
        ht__body_new(what, place.comm, place.device, dtype, ndim, shape, place.split, NULL));
}
