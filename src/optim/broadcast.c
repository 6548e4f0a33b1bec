/* SPDX-License-Identifier: MIT
 *
 * Broadcasts one rank's optimizer state, so that wrapped training continues in the same way on all
 * ranks. */
#include "core/collective/collective.h"
#include "optim/optim.h"

/* A group has rates in addition to its settings, which the ranks compare (ht__dp_check). */
typedef struct rates {
    double lr, initial_lr;
} rates;

static ht_status broadcast_rates(ht_optimizer *optimizer, ht_comm *comm, int root, const char *what)
{
    size_t count = (size_t)optimizer->group_count;
    rates *all = ht__alloc(count * sizeof *all);
    ht_status status;

    for (size_t g = 0; g < count; g++)
        all[g] = (rates){optimizer->groups[g].lr, optimizer->groups[g].initial_lr};
    status = ht__comm_bcast_bytes(comm, all, count * sizeof *all, root, what);
    for (size_t g = 0; g < count; g++) {
        optimizer->groups[g].lr = all[g].lr;
        optimizer->groups[g].initial_lr = all[g].initial_lr;
    }
    ht__free(all);
    return status;
}

/* The counters of a parameter, or of the optimizer; and the state tensors of the parameter. */
typedef struct counters {
    int64_t steps;
    double number;
    bool has[HT_OPTIMIZER_STATES], is_new[HT_OPTIMIZER_STATES];
} counters;

static void read_entry(const ht_optimizer_entry *entry, counters *here)
{
    here->steps = entry->steps;
    here->number = entry->number;
    for (int s = 0; s < HT_OPTIMIZER_STATES; s++) {
        here->has[s] = entry->steps > 0 && entry->state[s] != NULL;
        here->is_new[s] = here->has[s] && entry->is_new[s];
    }
}

/* Once it was updated; before that it has no state tensors. */
static ht_status broadcast_entry(ht_optimizer *optimizer, int index, const counters *at_root,
                                 ht_comm *comm, int root)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];
    ht_status status = HT_SUCCESS;

    entry->steps = at_root->steps;
    entry->number = at_root->number;
    for (int s = 0; s < HT_OPTIMIZER_STATES && status == HT_SUCCESS; s++) {
        entry->is_new[s] = at_root->is_new[s];
        if (!at_root->has[s]) {
            ht_release(entry->state[s]);
            entry->state[s] = NULL;
            continue;
        }
        if (entry->state[s] == NULL)
            status = ht__optimizer_new_state(optimizer, index, s, &entry->state[s]);
        if (status == HT_SUCCESS)
            status = ht__comm_bcast(comm, entry->state[s], root);
    }
    return status;
}

ht_status ht__optimizer_broadcast(ht_optimizer *optimizer, ht_comm *comm, int root)
{
    static const char what[] = "ht_nn_data_parallel";
    size_t count = (size_t)optimizer->count;
    counters *all = ht__alloc((count + 1) * sizeof *all); /* the optimizer's last */
    ht_status status = broadcast_rates(optimizer, comm, root, what);

    for (size_t i = 0; i < count; i++)
        read_entry(&optimizer->entries[i], &all[i]);
    all[count].steps = optimizer->steps;
    if (status == HT_SUCCESS)
        status = ht__comm_bcast_bytes(comm, all, (count + 1) * sizeof *all, root, what);
    optimizer->steps = all[count].steps;
    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++)
        status = broadcast_entry(optimizer, i, &all[i], comm, root);
    ht__free(all);
    return status;
}
