/* SPDX-License-Identifier: MIT
 *
 * Broadcasts one rank's optimizer state, so that wrapped training continues in the same way on all
 * ranks. */
#include "core/collective/collective.h"
#include "optim/optim.h"

/* Rates are what a group has besides its settings, which the ranks compare (ht__dp_check). */
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

static ht_status broadcast_entry(ht_optimizer *optimizer, int index, bool has_state, ht_comm *comm,
                                 int root)
{
    ht_optimizer_entry *entry = &optimizer->entries[index];
    ht_status status;

    if (!has_state) {
        ht__optimizer_drop_state(optimizer, index);
        return HT_SUCCESS;
    }
    status = ht__optimizer_make_state(optimizer, index);
    for (int s = 0; s < optimizer->groups[entry->group].state_count && status == HT_SUCCESS; s++) {
        if (entry->state[s] != NULL)
            status = ht__comm_bcast(comm, entry->state[s], root);
    }
    return status;
}

/* The counters of a parameter, or of the optimizer. */
typedef struct counters {
    int64_t steps;
    double number;
} counters;

ht_status ht__optimizer_broadcast(ht_optimizer *optimizer, ht_comm *comm, int root)
{
    static const char what[] = "ht_nn_data_parallel";
    size_t count = (size_t)optimizer->count;
    counters *all = ht__alloc((count + 1) * sizeof *all); /* the optimizer's last */
    ht_status status = broadcast_rates(optimizer, comm, root, what);

    for (size_t i = 0; i < count; i++)
        all[i] = (counters){optimizer->entries[i].steps, optimizer->entries[i].number};
    all[count] = (counters){optimizer->steps, 0};
    if (status == HT_SUCCESS)
        status = ht__comm_bcast_bytes(comm, all, (count + 1) * sizeof *all, root, what);
    optimizer->steps = all[count].steps;
    for (int i = 0; i < optimizer->count && status == HT_SUCCESS; i++) {
        optimizer->entries[i].steps = all[i].steps;
        optimizer->entries[i].number = all[i].number;
        status = broadcast_entry(optimizer, i, all[i].steps > 0, comm, root);
    }
    ht__free(all);
    return status;
}
