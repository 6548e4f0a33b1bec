/* SPDX-License-Identifier: MIT
 *
 * The head of a pass: a row of numbers that is summed over the ranks before any bucket leaves.
 *
 * If several wrappers share the communicator, the head begins with the number of the pass's
 * wrapper. The sums show whether all ranks began a pass of the same one. If they did not, nothing
 * else of that pass is read or sent, and all ranks make the same error. It is the error of all
 * wrappers that use the exchange: ranks have different passes in their queues, and all stop at this
 * one. All heads of such a communicator have one length, so that those of different wrappers fit
 * each other. */
#include "nn/parallel/data/reducer/reducer.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The number of the pass's wrapper as it travels: on rank 0 alone, on all ranks, squared. And the
 * ranks that have another wrapper on the communicator. */
enum { FIRST, SUM, SQUARES, SHARERS, SIGNATURE };

/* How many numbers there are for the pass, before those for each parameter. */
static int fixed_count(const ht_reducer *reducer)
{
    return reducer->joining != HT_JOINING_OFF ? (int)(sizeof reducer->head / sizeof(double)) : 2;
}

static int each_count(const ht_reducer *reducer)
{
    return reducer->joining != HT_JOINING_OFF ? 3 : 1;
}

/* Words of bits, which show the ranks that have data. Their sums are exact. */
enum { BITS = 48 };

static int word_count(const ht_reducer *reducer)
{
    return reducer->joining != HT_JOINING_OFF ? (reducer->comm->size - 1) / BITS + 1 : 0;
}

static int signature_count(const ht_reducer *reducer)
{
    return reducer->shares ? SIGNATURE : 0;
}

static int64_t own_length(const ht_reducer *reducer)
{
    return signature_count(reducer) + fixed_count(reducer) +
           each_count(reducer) * (int64_t)reducer->count + word_count(reducer);
}

static double *words(const ht_reducer *reducer)
{
    return reducer->numbers + reducer->signature + fixed_count(reducer) +
           each_count(reducer) * (int64_t)reducer->count;
}

/* The longest one of all wrappers that a rank may take for this one. Ranks release wrappers at
 * different times, so the widest is as agreed. But joins begin and end on all ranks together. */
static int64_t shared_length(const ht_reducer *reducer)
{
    int64_t length = SIGNATURE + 2 + (int64_t)reducer->widest;

    for (const ht_reducer *other = ht__reducers_all(); other != NULL; other = other->next) {
        if (other->exchange == reducer->exchange && other->joining != HT_JOINING_OFF &&
            own_length(other) > length)
            length = own_length(other);
    }
    return length;
}

void ht__reducer_measure_head(ht_reducer *reducer)
{
    int64_t length = reducer->shares ? shared_length(reducer) : own_length(reducer);

    if (!reducer->head_due)
        return;
    if (length > reducer->head_length)
        reducer->numbers = ht__realloc(reducer->numbers, (size_t)length * sizeof *reducer->numbers);
    reducer->head_length = length;
    reducer->signature = signature_count(reducer);
    reducer->began = reducer->newest;
}

static double *fixed(const ht_reducer *reducer)
{
    return reducer->numbers + reducer->signature;
}

static bool has_another(const ht_reducer *reducer)
{
    const ht_reducer *other = ht__reducers_all();

    while (other != NULL && (other == reducer || other->exchange != reducer->exchange))
        other = other->next;
    return other != NULL;
}

static void sign(const ht_reducer *reducer)
{
    const double number = (double)ht__reducer_sign(reducer);

    if (reducer->signature == 0)
        return;
    reducer->numbers[FIRST] = reducer->comm->rank == 0 ? number : 0;
    reducer->numbers[SUM] = number;
    reducer->numbers[SQUARES] = number * number;
    reducer->numbers[SHARERS] = has_another(reducer);
}

/* The weight of each parameter. While ranks may be out of data, it also has whether an average is
 * kept, and the weight that one of them has in it. That weight counts if some active rank keeps it.
 */
static void fill_numbers(ht_reducer *reducer)
{
    const ht_pass_head *head = &reducer->head;
    bool passes = head->buffers == 0, adds = head->active > 0 || head->giving > 0;
    double *each = fixed(reducer) + fixed_count(reducer);
    int count = reducer->count;

    memset(reducer->numbers, 0, (size_t)reducer->head_length * sizeof *reducer->numbers);
    sign(reducer);
    memcpy(fixed(reducer), head, (size_t)fixed_count(reducer) * sizeof(double));
    for (int i = 0; i < count; i++) {
        const ht_reducer_param *param = &reducer->params[i];

        each[i] = passes && adds ? param->weight : 0;
        if (reducer->joining == HT_JOINING_OFF)
            continue;
        each[count + i] = passes && head->active > 0 && param->kept;
        each[2 * count + i] = passes && !adds ? param->weight : 0;
    }
    if (word_count(reducer) > 0 && head->active > 0)
        words(reducer)[reducer->comm->rank / BITS] = ldexp(1, reducer->comm->rank % BITS);
}

/* The lowest rank that has data; as before if none has. */
static void take_lowest(ht_reducer *reducer)
{
    for (int i = word_count(reducer) - 1; i >= 0; i--) {
        const uint64_t bits = (uint64_t)words(reducer)[i];

        if (bits != 0)
            reducer->lowest = i * BITS + __builtin_ctzll(bits);
    }
}

static void take_numbers(ht_reducer *reducer)
{
    const double *each = fixed(reducer) + fixed_count(reducer);
    int count = reducer->count;

    memcpy(&reducer->head, fixed(reducer), (size_t)fixed_count(reducer) * sizeof(double));
    take_lowest(reducer);
    for (int i = 0; i < count && reducer->head.buffers == 0; i++) {
        ht_reducer_param *param = &reducer->params[i];

        param->divisor = each[i];
        if (reducer->joining == HT_JOINING_OFF)
            continue;
        param->kept = each[count + i] > 0;
        param->divisor += param->kept ? each[2 * count + i] : 0;
    }
}

/* Sums of weights go ahead. While ranks may be out of data, all of the head does, and so do the
 * numbers of wrappers that share a communicator. */
void ht__reducer_start_head(ht_reducer *reducer)
{
    reducer->head_due = false;
    if (reducer->joining == HT_JOINING_OFF && reducer->signature == 0 &&
        reducer->options.averaging != HT_AVERAGE_WEIGHTED)
        return;
    fill_numbers(reducer);
    reducer->head_op = ht__exchange_start(reducer->exchange, reducer->numbers, reducer->head_length,
                                          HT_FLOAT64, 1, INT_MAX);
}

/* "2 (Linear)" of the wrapper with this number on the communicator; false: there is none. */
static bool describe(const ht_reducer *reducer, double number, char *text, size_t room)
{
    for (const ht_reducer *one = ht__reducers_all(); one != NULL; one = one->next) {
        if (one->exchange != reducer->exchange || (double)ht__reducer_sign(one) != number)
            continue;
        snprintf(text, room, "%.0f (%s)", number, one->label);
        return true;
    }
    snprintf(text, room, "%.0f", number);
    return false;
}

/* The sums tell two wrappers apart, of which one is rank 0's. Three of them are not named. */
static ht_status check_signature(ht_reducer *reducer)
{
    const double *sums = reducer->numbers, size = reducer->comm->size;
    const double more = sums[SUM] - size * sums[FIRST];
    const double squares = sums[SQUARES] - sums[FIRST] * (2 * sums[SUM] - size * sums[FIRST]);
    char first[128], other[128];

    if (reducer->signature == 0 || squares == 0)
        return HT_SUCCESS;
    describe(reducer, sums[FIRST], first, sizeof first);
    if (more == 0 || !describe(reducer, sums[FIRST] + squares / more, other, sizeof other))
        snprintf(other, sizeof other, "another one");
    return HT_FAIL(
        reducer->comm, HT_ERR_STATE,
        "ht_nn_data_parallel: rank 0 began a pass of wrapper %s, other ranks one of "
        "wrapper %s; passes begin in the order of wrapping; the wrappers can no longer be "
        "used",
        first, other);
}

/* Ranks release wrappers at different times. All of them see in the same head that one is left. A
 * wrapper that was made since the pass began has agreed on sharing again. */
static void note_last_one(ht_reducer *reducer)
{
    if (reducer->signature > 0 && reducer->numbers[SHARERS] == 0 &&
        reducer->newest == reducer->began)
        reducer->shares = reducer->stays = false;
}

static ht_status check_buffers(ht_reducer *reducer)
{
    const ht_pass_head *sum = &reducer->head;

    if (sum->buffers == 0 || sum->buffers >= sum->active)
        return HT_SUCCESS;
    reducer->crossed = true;
    return HT_FAIL(reducer->comm, HT_ERR_STATE,
                   "ht_data_parallel_join: %.0f ranks begin a forward pass while %.0f others begin "
                   "a synchronised backward pass",
                   sum->buffers, sum->active - sum->buffers);
}

/* No rank starts anything more of these wrappers, whose next passes differ between ranks. One that
 * was made since is not among them: some ranks have found the error before they made it. */
static void end_all(const ht_reducer *reducer, ht_status status)
{
    for (ht_reducer *other = ht__reducers_all(); other != NULL; other = other->next) {
        if (other->exchange != reducer->exchange || other->number == 0 ||
            other->number > reducer->began)
            continue;
        other->crossed = true;
        other->head_due = false;
        ht__reducer_delist(other);
        ht__reducer_fail(other, status);
    }
}

static void check_head(ht_reducer *reducer)
{
    const ht_pass_head *sum = &reducer->head;
    ht_status status = check_signature(reducer);

    if (status != HT_SUCCESS) {
        end_all(reducer, status);
    } else {
        note_last_one(reducer);
        take_numbers(reducer);
        reducer->stop.asked = reducer->stop.asked || sum->stops > 0;
        if (sum->buffers == 0)
            reducer->total = sum->weight + (sum->kept > 0 ? sum->held : 0);
        status = check_buffers(reducer);
    }
    ht__reducer_fail(reducer, status);
}

/* The head has come. Some call met it, in some layer: its errors name neither. */
static void take_head(ht_reducer *reducer)
{
    const char *layer = ht__layer;
    HT_UNNAMED();

    ht__layer = NULL;
    ht__exchange_release(reducer->exchange, reducer->head_op);
    reducer->head_op = NULL;
    check_head(reducer);
    ht__layer = layer;
}

/* No bucket leaves before the head has come, which says what divides it. */
bool ht__reducer_has_head(ht_reducer *reducer)
{
    if (reducer->head_due)
        return false;
    if (reducer->head_op == NULL)
        return true;
    if (!ht__exchange_done(reducer->head_op))
        return false;
    take_head(reducer);
    return true;
}

/* A rank that has just run out of data still has what the others have. Afterwards they may clip or
 * change their gradients. So it brings an average once more, and then a rank does that still has
 * data. In between there is a head, in which all ranks see which one. */
void ht__reducer_choose_sharer(ht_reducer *reducer)
{
    reducer->sharer = reducer->joining != HT_JOINING_OFF ? reducer->lowest : 0;
}
