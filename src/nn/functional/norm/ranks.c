/* SPDX-License-Identifier: MIT
 *
 * Channel statistics over ranks: one message of 2 C + 1 doubles, in forward and in backward. */
#include "nn/functional/norm/ranks.h"

#include <string.h>

#include "core/autograd/autograd.h"

/* Rows of `length` from all ranks, the first number of each being negative where there is an error.
 * `what` stays, as ht__name has it. */
static bool gather(const char *what, ht_comm *comm, double *mine, int64_t length, double *all)
{
    if (ht__comm_allgather_f64(comm, mine, (int)length, all, what) != HT_SUCCESS)
        return false;
    for (int r = 0; r < comm->size; r++) {
        if (all[r * length] >= 0)
            continue;
        if (mine[0] >= 0) /* else it has an error of its own */
            HT_FAIL(comm, HT_ERR_STATE, "%s: rank %d does not take part, because it has an error",
                    what, r);
        ht__told(comm);
        return false;
    }
    return true;
}

void ht__norm_send_error(const char *what, ht_comm *comm, int64_t channels)
{
    const int64_t length = 2 * channels + 1;
    double *mine;

    if (ht__is_told(comm))
        return;
    mine = ht__alloc((size_t)(length * (comm->size + 1)) * sizeof *mine);

    mine[0] = -1;
    gather(what, comm, mine, length, mine + length);
    ht__free(mine);
}

static void tell(const ht_meeting *meeting)
{
    ht__norm_send_error(meeting->what, meeting->comm, meeting->count);
}

ht_meeting ht__norm_meeting(const char *what, ht_comm *comm, int64_t channels)
{
    return (ht_meeting){.tell = tell, .what = what, .comm = comm, .count = channels};
}

/* Whether this rank takes part in the exchange of a forward pass or of a second run. */
static bool comes(const char *what, ht_comm *comm, int64_t channels)
{
    const ht_meeting meeting = ht__norm_meeting(what, comm, channels);

    return !ht__is_told(comm) && ht__segment_meets(&meeting);
}

/* Chan's formula, rank after rank; the rows of `all` are (n, mean[C], m2[C]). */
static double merge(int ranks, int64_t channels, const double *all, double *mean, double *m2)
{
    const int64_t row = 2 * channels + 1;
    double count = 0;

    memset(mean, 0, (size_t)channels * sizeof *mean);
    memset(m2, 0, (size_t)channels * sizeof *m2);
    for (int r = 0; r < ranks; r++, all += row) {
        const double n = all[0], total = count + n;

        for (int64_t c = 0; n > 0 && c < channels; c++) {
            const double delta = all[1 + c] - mean[c];

            mean[c] += delta * (n / total);
            m2[c] += all[1 + channels + c] + delta * delta * (count * n / total);
        }
        count = total;
    }
    return count;
}

/* moments <- those of all ranks; the number of values per channel, negative after an error. */
double ht__norm_merge_moments(const char *what, ht_comm *comm, ht_tensor *moments, double count)
{
    const int64_t channels = moments->body->shape[1], row = 2 * channels + 1;
    const int ranks = comm->size;
    double *mine, *all, total = -1;

    if (!comes(what, comm, channels))
        return -1;
    mine = ht__alloc((size_t)(row * (ranks + 1)) * sizeof *mine);
    all = mine + row;
    /* With an error it takes part all the same: the others have counted on it. */
    mine[0] = ht__get_local(what, moments->body, mine + 1) == HT_SUCCESS ? count : -1;
    if (gather(what, comm, mine, row, all)) {
        total = merge(ranks, channels, all, mine, mine + channels);
        if (ht__set_local(what, moments->body, mine) != HT_SUCCESS)
            total = -1;
    }
    ht__free(mine);
    return total;
}

/* sums <- those of all ranks, added in their order. */
bool ht__norm_add_sums(const char *what, ht_comm *comm, ht_tensor *sums)
{
    const int64_t count = 2 * sums->body->shape[1], row = count + 1;
    const int ranks = comm->size;
    double *mine, *all;
    bool done;

    if (ranks == 1)
        return true;
    mine = ht__alloc((size_t)row * (size_t)(ranks + 1) * sizeof *mine);
    all = mine + row;
    done = ht__get_local(what, sums->body, mine + 1) == HT_SUCCESS;
    if (done)
        ht__backward_meets();
    done = done && gather(what, comm, mine, row, all);
    memset(mine, 0, (size_t)row * sizeof *mine);
    for (int r = 0; done && r < ranks; r++) {
        for (int64_t i = 0; i < count; i++)
            mine[i] += all[r * row + 1 + i];
    }
    done = done && ht__set_local(what, sums->body, mine) == HT_SUCCESS;
    ht__free(mine);
    return done;
}
