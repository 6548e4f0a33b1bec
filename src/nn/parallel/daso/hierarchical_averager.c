/* SPDX-License-Identifier: MIT
 *
 * Averages parameters over groups of ranks that grow with their periods. The tensors are copied one
 * after another to a buffer, which is kept between averages. Each level has the communicator of its
 * group. */
#include "ht/averager.h"
#include "ht/log.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/collective/collective.h"
#include "nn/parallel/daso/average_parameters.h"

typedef struct level {
    int64_t period;
    ht_comm *comm; /* owned; of this rank's group */
} level;

struct ht_hierarchical_averager {
    ht_object base;
    ht_comm *comm; /* retained */
    level *levels; /* owned */
    int count;
    int64_t warmup_steps, step;
    int last_group_size;
    ht_flat_tensors *flat; /* owned; NULL before the first average */
};

static void destroy(void *object)
{
    ht_hierarchical_averager *averager = object;

    for (int i = 0; i < averager->count; i++)
        ht_release(averager->levels[i].comm);
    ht__flat_free(averager->flat);
    ht__free(averager->levels);
    ht_release(averager->comm);
    ht__object_fini(averager);
    ht__free(averager);
}

static ht_kind kind = {.name = "hierarchical averager", .destroy = destroy};

static const char what[] = "ht_hierarchical_averager_new";

static ht_status check_level(int i, const int64_t periods[], const int sizes[])
{
    if (periods[i] < 1 || sizes[i] < 1)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: level %d has the period %" PRId64 " and the group size %d, "
                             "expected at least 1 each",
                             what, i, periods[i], sizes[i]);
    if (i == 0)
        return HT_SUCCESS;
    if (periods[i] <= periods[i - 1] || sizes[i] <= sizes[i - 1])
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: level %d has the period %" PRId64 " and the group size %d, "
                             "expected more than those of the level before, %" PRId64 " and %d",
                             what, i, periods[i], sizes[i], periods[i - 1], sizes[i - 1]);
    if (sizes[i] % sizes[i - 1] != 0)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: the group size %d of level %d does not divide the next one, %d",
                             what, sizes[i - 1], i - 1, sizes[i]);
    return HT_SUCCESS;
}

static ht_status check_mine(const ht_comm *comm, int count, const int64_t periods[],
                            const int sizes[], int64_t warmup_steps)
{
    ht_status status = HT_SUCCESS;

    if (count < 1 || periods == NULL || sizes == NULL)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: count is %d, expected at least one period with its group size",
                             what, count);
    if (warmup_steps < 0)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: warmup_steps is %" PRId64 ", expected at least 0", what,
                             warmup_steps);
    for (int i = 0; i < count && status == HT_SUCCESS; i++)
        status = check_level(i, periods, sizes);
    if (status == HT_SUCCESS && sizes[count - 1] != comm->size)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: the last group size is %d, expected that of the communicator, %d",
                             what, sizes[count - 1], comm->size);
    return status;
}

/* Ranks that average in different steps would add unrelated values. */
static ht_status check_levels(ht_comm *comm, int count, const int64_t periods[], const int sizes[])
{
    ht_alike *rows = ht__alloc(2 * (size_t)count * sizeof *rows);
    ht_status status;

    for (int i = 0; i < count; i++) {
        char period[32], size[32];

        snprintf(period, sizeof period, "periods[%d]", i);
        snprintf(size, sizeof size, "group_sizes[%d]", i);
        rows[2 * i] = ht__alike_whole(ht__name(period), periods[i]);
        rows[2 * i + 1] = ht__alike_whole(ht__name(size), sizes[i]);
    }
    status = ht__agree_alike(what, comm, rows, 2 * count);
    ht__free(rows);
    return status;
}

static ht_status check(ht_comm *comm, int count, const int64_t periods[], const int sizes[],
                       int64_t warmup_steps)
{
    const ht_alike head[] = {ht__alike_whole("count", count),
                             ht__alike_whole("warmup_steps", warmup_steps)};
    ht_status status;

    if (comm == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: comm is NULL", what);
    status = ht__agree(what, comm, check_mine(comm, count, periods, sizes, warmup_steps));
    if (status == HT_SUCCESS)
        status = ht__agree_alike(what, comm, head, 2);
    return status == HT_SUCCESS ? check_levels(comm, count, periods, sizes) : status;
}

ht_hierarchical_averager *ht_hierarchical_averager_new(ht_comm *comm, int count,
                                                       const int64_t periods[],
                                                       const int group_sizes[],
                                                       int64_t warmup_steps)
{
    ht_hierarchical_averager *averager;

    if (check(comm, count, periods, group_sizes, warmup_steps) != HT_SUCCESS)
        return NULL;
    averager = ht__alloc(sizeof *averager);
    ht__object_init(averager, &kind);
    averager->comm = ht_retain(comm);
    averager->count = count;
    averager->warmup_steps = warmup_steps;
    averager->levels = ht__alloc((size_t)count * sizeof *averager->levels);
    for (int i = 0; i < count; i++) {
        level *l = &averager->levels[i];

        l->period = periods[i];
        l->comm = i == count - 1 ? ht_retain(comm)
                                 : ht__comm_part(comm, "an averager's groups", group_sizes[i],
                                                 comm->rank / group_sizes[i], comm->rank);
        if (l->comm == NULL) {
            ht_release(averager);
            return NULL;
        }
        ht_log_write0(HT_LOG_INFO, "hierarchical averager: every %" PRId64 " steps over %d ranks",
                      periods[i], group_sizes[i]);
    }
    if (periods[count - 1] == 1)
        ht_log_write0(HT_LOG_WARN,
                      "hierarchical averager: averaging parameters after each step costs as much "
                      "as averaging gradients");
    return averager;
}

/* The level of the longest period that divides the step; NULL: none does, or it is too early. */
static const level *due(const ht_hierarchical_averager *averager)
{
    if (averager->step < averager->warmup_steps)
        return NULL;
    for (int i = averager->count - 1; i >= 0; i--) {
        if (averager->step % averager->levels[i].period == 0)
            return &averager->levels[i];
    }
    return NULL;
}

static ht_status average_level(ht_hierarchical_averager *averager, const level *l,
                               ht_value *parameters)
{
    static const char name[] = "ht_hierarchical_averager_average_parameters";
    ht_scope *scope = ht_scope_open();
    ht_exchange *exchange = ht__exchange_get(averager->comm, HT_PURPOSE_AVERAGES);
    ht_status status = exchange != NULL ? ht__average_prepare(name, averager->comm, parameters,
                                                              true, exchange, &averager->flat)
                                        : ht_error_get(NULL);

    if (status == HT_SUCCESS)
        status = ht__average(name, averager->flat, l->comm);
    ht_scope_close(scope);
    return status;
}

ht_status ht_hierarchical_averager_average_parameters(ht_hierarchical_averager *averager,
                                                      ht_value *parameters)
{
    const level *l;
    ht_status status = HT_SUCCESS;

    if (HT_IS_NULL(averager, "ht_hierarchical_averager_average_parameters", "averager"))
        return ht_error_get(NULL);
    l = due(averager);
    if (l != NULL)
        status = average_level(averager, l, parameters);
    if (status != HT_SUCCESS)
        return status;
    averager->last_group_size = l != NULL ? l->comm->size : 0;
    averager->step++;
    return HT_SUCCESS;
}

int ht_hierarchical_averager_last_group_size(const ht_hierarchical_averager *averager)
{
    return averager != NULL ? averager->last_group_size : 0;
}

ht_value *ht_hierarchical_averager_state_dict(const ht_hierarchical_averager *averager)
{
    ht_value *map;

    if (HT_IS_NULL(averager, "ht_hierarchical_averager_state_dict", "averager"))
        return NULL;
    map = ht_value_map();
    ht_value_set(map, "step", ht_value_number((double)averager->step));
    return map;
}

ht_status ht_hierarchical_averager_load_state_dict(ht_hierarchical_averager *averager,
                                                   const ht_value *state)
{
    int64_t step;

    if (HT_IS_NULL(averager, "ht_hierarchical_averager_load_state_dict", "averager") ||
        HT_IS_NULL(state, "ht_hierarchical_averager_load_state_dict", "state"))
        return ht_error_get(NULL);
    if (!ht__value_whole(ht_value_get(state, "step"), &step))
        return HT_FAIL(averager->comm, HT_ERR_FORMAT,
                       "ht_hierarchical_averager_load_state_dict: the state has no integer "
                       "\"step\" of at least 0");
    averager->step = step;
    averager->last_group_size = 0;
    return HT_SUCCESS;
}
