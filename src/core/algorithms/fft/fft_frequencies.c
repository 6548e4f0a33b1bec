/* SPDX-License-Identifier: MIT
 *
 * The frequencies of a transform's places, which each rank computes for its own places, and their
 * order with 0 in the middle. For that order elements move like those of ht_roll. */
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/fft.h"
#include "ht/manipulations.h"

/* How many frequencies of n samples there are, and of these from 0 on. */
typedef struct span {
    int64_t n, count, positive;
} span;

static span all_of(int64_t n)
{
    return (span){n, n, n - n / 2};
}

static span half_of(int64_t n)
{
    return (span){n, n / 2 + 1, n / 2 + 1};
}

/* In float64, then in dtype: index / (n d). */
static ht_tensor *frequencies(const char *what, span s, double d, ht_dtype dtype, ht_place place)
{
    ht_device *device = place.device;
    ht_tensor *host;

    if (place.comm == NULL)
        return NULL;
    if (s.n < 1) {
        HT_FAIL(place.comm, HT_ERR_ARGUMENT, "%s: n is %lld, expected at least 1", what,
                (long long)s.n);
        return NULL;
    }
    if (d == 0) {
        HT_FAIL(place.comm, HT_ERR_ARGUMENT, "%s: d is 0, expected another number", what);
        return NULL;
    }
    if (!ht__check_length(what, place.comm, "n", s.n))
        return NULL;
    if (!ht_dtype_is_floating(dtype)) {
        HT_FAIL(place.comm, HT_ERR_DTYPE, "%s: dtype is %s, expected a floating one", what,
                ht_dtype_name(dtype));
        return NULL;
    }
    place.device = ht__device_cpu();
    host = ht__new_at(what, 1, &s.count, HT_FLOAT64, place);
    if (host == NULL)
        return NULL;
    for (int64_t i = 0; i < host->body->lsize; i++) {
        const int64_t at = host->body->split_start + i;
        const int64_t index = at < s.positive ? at : at - s.n;

        ((double *)ht__body_data(host->body))[i] = (double)index / ((double)s.n * d);
    }
    return ht_to_device(ht_astype(host, dtype), device);
}

ht_tensor *ht_fftfreq(int64_t n, double d, int split)
{
    return frequencies("ht_fftfreq", all_of(n), d, HT_FLOAT32, ht__place_here("ht_fftfreq", split));
}

ht_tensor *ht_fftfreq_ext(int64_t n, double d, ht_dtype dtype, int split, ht_device *device,
                          ht_comm *comm)
{
    return frequencies("ht_fftfreq_ext", all_of(n), d, dtype,
                       ht__place_at("ht_fftfreq_ext", split, device, comm));
}

ht_tensor *ht_rfftfreq(int64_t n, double d, int split)
{
    return frequencies("ht_rfftfreq", half_of(n), d, HT_FLOAT32,
                       ht__place_here("ht_rfftfreq", split));
}

ht_tensor *ht_rfftfreq_ext(int64_t n, double d, ht_dtype dtype, int split, ht_device *device,
                           ht_comm *comm)
{
    return frequencies("ht_rfftfreq_ext", half_of(n), d, dtype,
                       ht__place_at("ht_rfftfreq_ext", split, device, comm));
}

/* Axes by half their length, up or down. */
static ht_tensor *shift(const char *what, ht_tensor *x, int count, const int axes[], int direction)
{
    HT_NAMED(what);

    if (HT_IS_NULL(x, what, "x") ||
        !ht__check_list(what, x->body->comm, "count", count, "axes", axes))
        return NULL;
    count = axes != NULL ? count : x->body->ndim;
    for (int i = 0; i < count; i++) {
        int axis = axes != NULL ? axes[i] : i;

        if (!ht__check_axis(what, x, &axis))
            return NULL;
    }
    for (int i = 0; i < count && x != NULL; i++) {
        int axis = axes != NULL ? axes[i] : i;

        axis += axis < 0 ? x->body->ndim : 0;
        x = ht_roll(x, direction * (x->body->shape[axis] / 2), axis);
    }
    return x;
}

ht_tensor *ht_fftshift(ht_tensor *x, int count, const int axes[])
{
    return shift("ht_fftshift", x, count, axes, 1);
}

ht_tensor *ht_ifftshift(ht_tensor *x, int count, const int axes[])
{
    return shift("ht_ifftshift", x, count, axes, -1);
}
