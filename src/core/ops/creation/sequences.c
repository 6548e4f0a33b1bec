/* SPDX-License-Identifier: MIT
 *
 * Sequences of numbers. Sequences of integers are counted in int64, because a double has only 53
 * bits. */
#include <inttypes.h>
#include <math.h>

#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"

/* The numbers that define a sequence: start + step i; of `last` is its last element where it has
 * one. */
typedef struct sequence {
    bool exact;
    int64_t start, step;             /* exact */
    double from, by, width, divisor; /* not exact; width / divisor = by unless that is 0 */
    double last;
    bool has_last;
    int64_t count;
} sequence;

static double real_element(const sequence *s, int64_t i)
{
    if (s->has_last && i == s->count - 1)
        return s->last;
    if (s->by == 0 && s->has_last) /* too small a step for a double */
        return s->from + (double)i / s->divisor * s->width;
    return s->from + s->by * (double)i;
}

/* This rank's part, on the host, then converted. */
static ht_tensor *write(const char *what, const sequence *s, ht_dtype dtype, ht_place place)
{
    ht_device *device = place.device;
    ht_tensor *host;
    void *data;

    if (place.comm == NULL)
        return NULL;
    if ((unsigned)dtype >= HT_DTYPE_COUNT) {
        HT_FAIL(place.comm, HT_ERR_ARGUMENT, "%s: dtype is %d, expected an ht_dtype", what,
                (int)dtype);
        return NULL;
    }
    place.device = ht__device_cpu();
    host = ht__new_at(what, 1, &s->count, s->exact ? HT_INT64 : HT_FLOAT64, place);
    if (host == NULL)
        return NULL;
    data = ht__body_data(host->body);
    for (int64_t i = 0; i < host->body->lsize; i++) {
        int64_t at = host->body->split_start + i;

        if (s->exact) /* may pass INT64_MAX only after the last stored number */
            ((int64_t *)data)[i] = (int64_t)((uint64_t)s->start + (uint64_t)s->step * (uint64_t)at);
        else
            ((double *)data)[i] = real_element(s, at);
    }
    return ht_to_device(ht_astype(host, dtype), device);
}

/* How many numbers start, start + step, ... come before stop; -1: too many. step is not 0. */
static int64_t count_integers(int64_t start, int64_t stop, int64_t step)
{
    const __int128 way = (__int128)stop - start;
    const __int128 count = (way + (step > 0 ? (__int128)step - 1 : (__int128)step + 1)) / step;
    return count >= (int64_t)1 << 59 ? -1 : count > 0 ? (int64_t)count : 0;
}

static ht_tensor *no_step(const char *what, ht_comm *comm)
{
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: step is 0, expected another number", what);
    return NULL;
}

static ht_tensor *count_up(const char *what, int64_t start, int64_t stop, int64_t step,
                           ht_dtype dtype, ht_place place)
{
    sequence s = {.exact = true, .start = start, .step = step};

    if (step == 0)
        return no_step(what, place.comm);
    s.count = count_integers(start, stop, step);
    if (s.count < 0) {
        HT_FAIL(place.comm, HT_ERR_ARGUMENT,
                "%s: start is %" PRId64 ", stop is %" PRId64 " and step is %" PRId64 ", expected "
                "fewer than 2^59 elements",
                what, start, stop, step);
        return NULL;
    }
    if (s.count > 0 && (unsigned)dtype < HT_DTYPE_COUNT) {
        const int64_t last = start + (int64_t)((__int128)step * (s.count - 1));

        if (!ht__check_number(what, place.comm, "start", dtype, HT_NUM(start)) ||
            !ht__check_number(what, place.comm, "the last number", dtype, HT_NUM(last)))
            return NULL;
    }
    return write(what, &s, dtype, place);
}

static ht_tensor *arange(const char *what, double start, double stop, double step, ht_dtype dtype,
                         ht_place place)
{
    double count = ceil((stop - start) / step);
    sequence s = {.from = start, .by = step};
    int64_t first, by, end;

    if (ht__is_whole(start, &first) && ht__is_whole(step, &by) && by != 0 &&
        ht__is_whole(by > 0 ? ceil(stop) : floor(stop), &end))
        return count_up(what, first, end, by, dtype, place);
    if (step == 0)
        return no_step(what, place.comm);
    if (!isfinite(count) || count >= 0x1p59) {
        HT_FAIL(place.comm, HT_ERR_ARGUMENT,
                "%s: start is %.17g, stop is %.17g and step is %.17g, expected fewer than 2^59 "
                "elements",
                what, start, stop, step);
        return NULL;
    }
    s.count = count > 0 ? (int64_t)count : 0;
    return write(what, &s, dtype, place);
}

ht_tensor *ht_arange(double start, double stop, double step, ht_dtype dtype, int split)
{
    ht_place place = ht__place_here("ht_arange", split);

    return place.comm != NULL ? arange("ht_arange", start, stop, step, dtype, place) : NULL;
}

/* An operand of a sequence. */
static bool check_real(const char *what, ht_comm *comm, const char *name, ht_number number)
{
    if (!ht__check_kind(what, comm, name, number))
        return false;
    if (number.kind != HT_NUMBER_COMPLEX)
        return true;
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: %s is complex, expected a real number", what, name);
    return false;
}

ht_tensor *ht_arange_ext(ht_number start, ht_number stop, ht_number step, ht_dtype dtype, int split,
                         ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_arange_ext";
    ht_place place = ht__place_at(what, split, device, comm);

    if (place.comm == NULL || !check_real(what, place.comm, "start", start) ||
        !check_real(what, place.comm, "stop", stop) || !check_real(what, place.comm, "step", step))
        return NULL;
    if (start.kind == HT_NUMBER_INTEGER && stop.kind == HT_NUMBER_INTEGER &&
        step.kind == HT_NUMBER_INTEGER)
        return count_up(what, start.integer, stop.integer, step.integer, dtype, place);
    return arange(what, start.real, stop.real, step.real, dtype, place);
}

/* As NumPy: start + i step, and the last one is stop. */
static ht_tensor *linspace(const char *what, double start, double stop, int64_t count,
                           ht_dtype dtype, ht_place place)
{
    sequence s = {.from = start,
                  .width = stop - start,
                  .divisor = (double)(count - 1),
                  .last = stop,
                  .has_last = count > 1,
                  .count = count};

    if (place.comm != NULL && !ht__check_length(what, place.comm, "count", count))
        return NULL;
    if (count > 1)
        s.by = isfinite(s.width) ? s.width / s.divisor : stop / s.divisor - start / s.divisor;
    return write(what, &s, dtype, place);
}

ht_tensor *ht_linspace(double start, double stop, int64_t count, ht_dtype dtype, int split)
{
    return linspace("ht_linspace", start, stop, count, dtype, ht__place_here("ht_linspace", split));
}

ht_tensor *ht_linspace_ext(double start, double stop, int64_t count, ht_dtype dtype, int split,
                           ht_device *device, ht_comm *comm)
{
    return linspace("ht_linspace_ext", start, stop, count, dtype,
                    ht__place_at("ht_linspace_ext", split, device, comm));
}

static ht_tensor *logspace(const char *what, double start, double stop, int64_t count, double base,
                           ht_dtype dtype, ht_place place)
{
    ht_tensor *exponents = linspace(what, start, stop, count, HT_FLOAT64, place);

    if (exponents == NULL)
        return NULL;
    HT_NAMED(what);
    return ht_astype(ht_pow(ht_scalar_ext(ht_number_real(base)), exponents), dtype);
}

ht_tensor *ht_logspace(double start, double stop, int64_t count, double base, ht_dtype dtype,
                       int split)
{
    return logspace("ht_logspace", start, stop, count, base, dtype,
                    ht__place_here("ht_logspace", split));
}

ht_tensor *ht_logspace_ext(double start, double stop, int64_t count, double base, ht_dtype dtype,
                           int split, ht_device *device, ht_comm *comm)
{
    return logspace("ht_logspace_ext", start, stop, count, base, dtype,
                    ht__place_at("ht_logspace_ext", split, device, comm));
}
