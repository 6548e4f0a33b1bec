/* SPDX-License-Identifier: MIT
 *
 * A window: consecutive units of the epoch's order, read whole and permuted as one. Its memory is
 * taken once and used for every window that follows. */
#include "data.h"

static int64_t window_capacity(const ht__plan *plan)
{
    int64_t rows = plan->window_units * plan->unit_rows;

    return rows < plan->rows ? rows : plan->rows;
}

void ht__window_init(ht__window *window, const ht__plan *plan, const ht_dataset *dataset)
{
    int64_t rows = window_capacity(plan);

    *window = (ht__window){.plan = plan, .epoch = -1};
    if (plan->shuffle)
        window->row_order = ht__alloc((size_t)rows * sizeof *window->row_order);
    if (plan->shuffle && plan->windows > 1)
        window->unit_order = ht__alloc((size_t)plan->units * sizeof *window->unit_order);
    window->ids = ht__alloc((size_t)rows * sizeof *window->ids);
    for (int i = 0; i < dataset->count; i++)
        window->raw[i] = ht__alloc((size_t)(rows * dataset->arrays[i].row_bytes));
}

void ht__window_free(ht__window *window, int arrays)
{
    for (int i = 0; i < arrays; i++)
        ht__free(window->raw[i]);
    ht__free(window->ids);
    ht__free(window->row_order);
    ht__free(window->unit_order);
}

/* The rows of a unit of the shard: [*start, *start + result). */
static int64_t unit_range(const ht__plan *plan, int64_t unit, int64_t *start)
{
    int64_t first = plan->start / plan->unit_rows + unit;
    int64_t end = (first + 1) * plan->unit_rows, last = plan->start + plan->rows;

    *start = first * plan->unit_rows > plan->start ? first * plan->unit_rows : plan->start;
    return (end < last ? end : last) - *start;
}

/* The unit at a place in the window. */
static int64_t unit_at(const ht__window *window, int64_t place)
{
    int64_t unit = window->first_unit + place;

    return window->unit_order != NULL ? window->unit_order[unit] : unit;
}

void ht__window_start(ht__window *window, int64_t epoch, int64_t index)
{
    const ht__plan *plan = window->plan;
    bool resident = plan->windows == 1 && window->epoch >= 0;
    int64_t start;

    if (window->unit_order != NULL && window->epoch != epoch)
        ht__order_permute(window->unit_order, plan->units, plan->seed, epoch, plan->rank, 0);
    window->epoch = epoch;
    window->index = index;
    if (!resident) {
        window->first_unit = index * plan->window_units;
        window->units = plan->units - window->first_unit;
        if (window->units > plan->window_units)
            window->units = plan->window_units;
        window->units_read = window->rows_read = window->rows = 0;
        for (int64_t i = 0; i < window->units; i++)
            window->rows += unit_range(plan, unit_at(window, i), &start);
    }
    if (plan->shuffle)
        ht__order_permute(window->row_order, window->rows, plan->seed, epoch, plan->rank,
                          1 + index);
}

static ht_status read_unit(ht__window *window, ht__source *source)
{
    const ht_dataset *dataset = source->dataset;
    char *memory[HT_MAX_ARRAYS];
    int64_t start, rows = unit_range(window->plan, unit_at(window, window->units_read), &start);

    for (int i = 0; i < dataset->count; i++)
        memory[i] = window->raw[i] + window->rows_read * dataset->arrays[i].row_bytes;

    ht_status status = ht__source_read(source, start, rows, memory);

    if (status != HT_SUCCESS)
        return status;
    for (int64_t i = 0; i < rows; i++)
        window->ids[window->rows_read + i] = start + i;
    window->units_read++;
    window->rows_read += rows;
    return HT_SUCCESS;
}

ht_status ht__window_need(ht__window *window, ht__source *source, int64_t rows,
                          const atomic_bool *stop)
{
    ht_status status = HT_SUCCESS;

    while (status == HT_SUCCESS && window->rows_read < rows && window->units_read < window->units &&
           !atomic_load_explicit(stop, memory_order_relaxed))
        status = read_unit(window, source);
    return status;
}
