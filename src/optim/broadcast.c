/* SPDX-License-Identifier: MIT
 *
 * One rank's optimizer state for all ranks, so that wrapped training goes on alike everywhere. */
#include "optim_impl.h"

/* What goes in front of the tensors: which there are, and the counters. */
typedef struct header {
    double lr;
    int64_t steps;
} header;

static ht_status broadcast_entry(ht_optimizer *optimizer, int index, bool has_state, ht_comm *comm,
                                 int root)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];
    ht_status status = has_state ? ht__optimizer_make_state(optimizer, index) : HT_SUCCESS;

    for (int s = 0; s < optimizer->type->state_count && status == HT_SUCCESS; s++) {
        if (has_state) {
            status = ht_bcast(comm, entry->state[s], root);
            continue;
        }
        ht_release(entry->state[s]);
        entry->state[s] = NULL;
    }
    return status;
}

ht_status ht__optimizer_broadcast(ht_optimizer *optimizer, ht_comm *comm, int root)
{
    static const char what[] = "ht_nn_data_parallel";
    header head = {.lr = optimizer->lr, .steps = optimizer->steps};
    size_t count = (size_t)optimizer->count;
    int64_t *steps = ht__alloc(count * sizeof *steps);
    ht_status status = ht__comm_bcast_bytes(comm, &head, sizeof head, root, what);

    for (size_t i = 0; i < count; i++)
        steps[i] = optimizer->entries[i].steps;
    if (status == HT_SUCCESS)
        status = ht__comm_bcast_bytes(comm, steps, count * sizeof *steps, root, what);
    optimizer->lr = head.lr;
    optimizer->steps = head.steps;
    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++) {
        optimizer->entries[i].steps = steps[i];
        status = broadcast_entry(optimizer, i, steps[i] > 0, comm, root);
    }
    ht__free(steps);
    return status;
}
