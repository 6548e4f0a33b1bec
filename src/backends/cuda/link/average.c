/* SPDX-License-Identifier: MIT
 *
 * An average over the devices of a link. In each level, the data are cut into a slice for each
 * member. In a first group of messages, a member gets its slice of all members. It adds them in the
 * order of the link. The next level, if there is one, sums this slice over its own members;
 * otherwise it is scaled. In a second group, all members get the result. So a rank sends and
 * receives 2 n (count - 1) / count elements in a level, and NCCL itself adds nothing. */
#include "backends/cuda/library/nccl.h"
#include "backends/cuda/link/link.h"

enum { SLICE_ALIGN = 16 }; /* elements */

/* The data of one level. */
typedef struct slices {
    const ht_link_level *level;
    char *data, *scratch;
    int64_t n, length; /* of all; of a slice, the last ones are shorter or empty */
    size_t element;    /* bytes */
} slices;

static int64_t begin_of(const slices *s, int member)
{
    return member * s->length < s->n ? member * s->length : s->n;
}

static int64_t length_of(const slices *s, int member)
{
    return begin_of(s, member + 1) - begin_of(s, member);
}

static size_t bytes_of(const slices *s, int member)
{
    return (size_t)length_of(s, member) * s->element;
}

/* The slice of a member in the data. */
static char *part(const slices *s, int member)
{
    return s->data + (size_t)begin_of(s, member) * s->element;
}

/* Where this rank's slice of a member is. */
static char *operand(const slices *s, int member)
{
    if (member == s->level->mine)
        return part(s, member);
    return s->scratch + (size_t)member * (size_t)s->length * s->element;
}

/* Aligned slices have up to this many elements more than the data, for each rank. */
size_t ht_cuda_link_scratch(const ht_cuda_link *link, size_t bytes)
{
    return bytes + (size_t)link->size * (SLICE_ALIGN * sizeof(double) + sizeof(double));
}

int ht_cuda_link_check(ht_cuda_link *link, int error)
{
    if (error == 0)
        return 0;
    link->failed = true;
    ht_cuda_core->fail("cuda:%d: NCCL: %s", link->device->index, ht_cuda_nccl_text(error));
    return 1;
}

static int send(const ht_cuda_link *link, const void *data, size_t bytes, int to)
{
    return bytes > 0 ? ht_cuda_nccl_send(link->comm, data, bytes, to, link->stream) : 0;
}

static int receive(const ht_cuda_link *link, void *data, size_t bytes, int from)
{
    return bytes > 0 ? ht_cuda_nccl_receive(link->comm, data, bytes, from, link->stream) : 0;
}

/* Sends a member its slice, and receives this rank's from it. */
static int swap_out(const ht_cuda_link *link, const slices *s, int member)
{
    const int peer = s->level->ranks[member];
    const int error = send(link, part(s, member), bytes_of(s, member), peer);

    return error != 0 ? error
                      : receive(link, operand(s, member), bytes_of(s, s->level->mine), peer);
}

/* Sends a member the result of this rank's slice, and receives that of its own. */
static int swap_back(const ht_cuda_link *link, const slices *s, int member)
{
    const int peer = s->level->ranks[member], mine = s->level->mine;
    const int error = send(link, part(s, mine), bytes_of(s, mine), peer);

    return error != 0 ? error : receive(link, part(s, member), bytes_of(s, member), peer);
}

typedef int swap_fn(const ht_cuda_link *link, const slices *s, int member);

/* One group with all other members, from the next one on: not all ranks begin with the same. */
static int swap(ht_cuda_link *link, const slices *s, swap_fn *with)
{
    const int count = s->level->count;
    int error = ht_cuda_nccl_begin(), ended;

    if (error != 0)
        return ht_cuda_link_check(link, error);
    for (int i = 1; i < count && error == 0; i++)
        error = with(link, s, (s->level->mine + i) % count);
    ended = ht_cuda_nccl_end();
    return ht_cuda_link_check(link, error != 0 ? error : ended);
}

static bool depends(const ht_link_step *later, const ht_link_step *earlier)
{
    return later->to == earlier->to || later->from == earlier->to || later->to == earlier->from;
}

/* The first of the steps that may run at the same time. */
static int independent(const ht_link_step *steps, int count)
{
    int length = 1;

    for (; length < count && length < HT_CUDA_ADDITIONS; length++) {
        for (int i = 0; i < length; i++) {
            if (depends(&steps[length], &steps[i]))
                return length;
        }
    }
    return length;
}

/* This rank's slice becomes scale * the sum over the members. */
static int add_up(const ht_cuda_link *link, const slices *s, ht_dtype dtype, double scale)
{
    const ht_link_level *level = s->level;
    const int count = level->count - 1, mine = level->mine;
    const int64_t n = length_of(s, mine);
    int error = 0;

    for (int done = 0, next; done < count && error == 0; done = next) {
        ht_cuda_addition additions[HT_CUDA_ADDITIONS];

        next = done + independent(&level->steps[done], count - done);
        for (int i = done; i < next; i++)
            additions[i - done] = (ht_cuda_addition){operand(s, level->steps[i].to),
                                                     operand(s, level->steps[i].from)};
        error = ht_cuda_link_add(link->device, link->stream, dtype, additions, next - done, n);
    }
    if (error != 0)
        return error;
    return ht_cuda_link_scale(link->device, link->stream, dtype, part(s, mine),
                              operand(s, level->steps[count - 1].to), n, scale);
}

static slices cut(const ht_cuda_link *link, int level, ht_dtype dtype, void *data, int64_t n)
{
    const int count = link->levels[level].count;
    const int64_t even = (n + count - 1) / count;

    return (slices){.level = &link->levels[level],
                    .data = data,
                    .scratch = link->scratch,
                    .n = n,
                    .length = (even + SLICE_ALIGN - 1) / SLICE_ALIGN * SLICE_ALIGN,
                    .element = dtype == HT_FLOAT32 ? sizeof(float) : sizeof(double)};
}

/* Members of the next level have slices of the same length, none if this one is empty. */
static int average_from(ht_cuda_link *link, int level, ht_dtype dtype, void *data, int64_t n,
                        double scale)
{
    const slices s = cut(link, level, dtype, data, n);
    const int mine = s.level->mine;
    const bool last = level == link->count - 1;
    int error = 0;

    if (swap(link, &s, swap_out) != 0)
        return 1;
    if (length_of(&s, mine) > 0)
        error = add_up(link, &s, dtype, last ? scale : 1);
    if (ht_cuda_check_late(error, link->device) != 0)
        return 1;
    if (!last && length_of(&s, mine) > 0 &&
        average_from(link, level + 1, dtype, part(&s, mine), length_of(&s, mine), scale) != 0)
        return 1;
    return swap(link, &s, swap_back);
}

int ht_cuda_link_average(ht_cuda_link *link, ht_dtype dtype, void *data, int64_t n, double scale)
{
    return average_from(link, 0, dtype, data, n, scale);
}

/* Each rank has a slice of it in each level. */
static int64_t trial_length(const ht_cuda_link *link)
{
    return (int64_t)link->size * SLICE_ALIGN;
}

size_t ht_cuda_link_trial_bytes(const ht_cuda_link *link)
{
    return 2 * (size_t)trial_length(link) * sizeof(double);
}

int ht_cuda_link_try(ht_cuda_link *link)
{
    const int64_t n = trial_length(link);
    char *data = (char *)link->scratch + (size_t)n * sizeof(double);

    if (ht_cuda_link_average(link, HT_FLOAT32, data, n, 0.5) != 0 ||
        ht_cuda_link_average(link, HT_FLOAT64, data, n, 0.5) != 0)
        return 1;
    return ht_cuda_check_late(ht_cuda_stream_wait(link->stream), link->device);
}
