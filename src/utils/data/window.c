/* SPDX-License-Identifier: MIT
 *
 * A window: consecutive units of the epoch's order, read completely and permuted together. Its
 * memory is allocated once and used for all later windows. */
#include "utils/data/data.h"

static int64_t window_capacity(const ht_plan *plan)
{
    int64_t rows = plan->window_units * plan->unit_rows;

    return rows < plan->rows ? rows : plan->rows;
}

void ht__window_init(ht_read_window *window, const ht_plan *plan, const ht_dataset *dataset)
{
    int64_t rows = window_capacity(plan);

    *window = (ht_read_window){.plan = plan, .epoch = -1, .order_epoch = -1};
    if (plan->shuffle)
        window->row_order = ht__alloc((size_t)rows * sizeof *window->row_order);
    if (plan->shuffle && plan->windows > 1)
        window->unit_order = ht__alloc((size_t)plan->units * sizeof *window->unit_order);
    window->begin = ht__alloc((size_t)(plan->window_units + 1) * sizeof *window->begin);
    window->there = ht__alloc((size_t)plan->window_units * sizeof *window->there);
    window->wanted = ht__alloc((size_t)plan->window_units * sizeof *window->wanted);
    window->ids = ht__alloc((size_t)rows * sizeof *window->ids);
    for (int i = 0; i < dataset->count; i++)
        window->raw[i] = ht__alloc((size_t)(rows * dataset->arrays[i].row_bytes));
}

void ht__window_free(ht_read_window *window, int arrays)
{
    for (int i = 0; i < arrays; i++)
        ht__free(window->raw[i]);
    ht__free(window->ids);
    ht__free(window->wanted);
    ht__free(window->there);
    ht__free(window->begin);
    ht__free(window->row_order);
    ht__free(window->unit_order);
}

/* The rows of a unit of the shard: [*start, *start + result). */
static int64_t unit_range(const ht_plan *plan, int64_t unit, int64_t *start)
{
    int64_t first = plan->start / plan->unit_rows + unit;
    int64_t end = (first + 1) * plan->unit_rows, last = plan->start + plan->rows;

    *start = first * plan->unit_rows > plan->start ? first * plan->unit_rows : plan->start;
    return (end < last ? end : last) - *start;
}

/* The unit at a place in the window that begins with `first_unit`. */
static int64_t unit_at(const ht_read_window *window, int64_t first_unit, int64_t place)
{
    int64_t unit = first_unit + place;

    return window->unit_order != NULL ? window->unit_order[unit] : unit;
}

static int64_t count_units(const ht_plan *plan, int64_t first_unit)
{
    int64_t left = plan->units - first_unit;

    return left < plan->window_units ? left : plan->window_units;
}

static void order_units(ht_read_window *window, int64_t epoch)
{
    const ht_plan *plan = window->plan;

    if (window->unit_order != NULL && window->order_epoch != epoch)
        ht__order_permute(window->unit_order, plan->units, plan->seed, epoch, plan->shard, 0);
    window->order_epoch = epoch;
}

int64_t ht__window_find(ht_read_window *window, int64_t epoch, int64_t *row)
{
    const ht_plan *plan = window->plan;
    int64_t index = 0, start;

    order_units(window, epoch);
    for (; index + 1 < plan->windows; index++) {
        int64_t first = index * plan->window_units, rows = 0;

        for (int64_t i = 0; i < plan->window_units; i++)
            rows += unit_range(plan, unit_at(window, first, i), &start);
        if (*row < rows)
            break;
        *row -= rows;
    }
    return index;
}

/* The place in the window of the unit that a row in memory belongs to. */
static int64_t unit_of(const ht_read_window *window, int64_t row)
{
    int64_t low = 0, high = window->units - 1;

    while (low < high) {
        int64_t middle = (low + high + 1) / 2;

        if (window->begin[middle] <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static int64_t row_in_memory(const ht_read_window *window, int64_t row)
{
    return window->row_order != NULL ? window->row_order[row] : row;
}

int64_t ht__window_id(const ht_read_window *window, int64_t row)
{
    int64_t place, start;

    row = row_in_memory(window, row);
    place = unit_of(window, row);
    unit_range(window->plan, unit_at(window, window->first_unit, place), &start);
    return start + row - window->begin[place];
}

/* A run of the order lies anywhere in memory. */
static void choose_units(ht_read_window *window, int64_t at, int64_t count)
{
    int64_t end = count < window->rows - at ? at + count : window->rows;

    window->complete = at == 0 && end == window->rows;
    for (int64_t i = 0; i < window->units; i++)
        window->wanted[i] = window->complete;
    for (int64_t i = at; i < end && !window->complete; i++)
        window->wanted[unit_of(window, row_in_memory(window, i))] = true;
}

void ht__window_start(ht_read_window *window, int64_t epoch, int64_t index, int64_t at,
                      int64_t count)
{
    const ht_plan *plan = window->plan;
    bool resident = plan->windows == 1 && window->epoch >= 0;
    int64_t start;

    order_units(window, epoch);
    window->epoch = epoch;
    window->index = index;
    window->units_passed = 0;
    if (!resident) {
        window->first_unit = index * plan->window_units;
        window->units = count_units(plan, window->first_unit);
        window->units_there = 0;
        for (int64_t i = 0; i < window->units; i++) {
            window->there[i] = false;
            window->begin[i + 1] = window->begin[i] +
                                   unit_range(plan, unit_at(window, window->first_unit, i), &start);
        }
        window->rows = window->begin[window->units];
    }
    if (plan->shuffle)
        ht__order_permute(window->row_order, window->rows, plan->seed, epoch, plan->shard,
                          1 + index);
    choose_units(window, at, count);
}

void ht__window_clear(ht_read_window *window)
{
    window->epoch = -1;
    window->rows = window->units = window->units_passed = window->units_there = 0;
}

static ht_status read_unit(ht_read_window *window, ht_source *source, int64_t place)
{
    const ht_dataset *dataset = source->dataset;
    char *memory[HT_MAX_ARRAYS];
    int64_t unit = unit_at(window, window->first_unit, place), start;
    int64_t rows = unit_range(window->plan, unit, &start), begin = window->begin[place];

    for (int i = 0; i < dataset->count; i++)
        memory[i] = window->raw[i] + begin * dataset->arrays[i].row_bytes;

    ht_status status = ht__source_read(source, start, rows, memory);

    if (status != HT_SUCCESS)
        return status;
    for (int64_t i = 0; i < rows; i++)
        window->ids[begin + i] = start + i;
    window->there[place] = true;
    window->units_there++;
    return HT_SUCCESS;
}

ht_status ht__window_need(ht_read_window *window, ht_source *source, int64_t rows,
                          const atomic_bool *stop)
{
    while (window->units_passed < window->units && window->begin[window->units_passed] < rows &&
           !atomic_load_explicit(stop, memory_order_relaxed)) {
        int64_t place = window->units_passed;
        ht_status status = HT_SUCCESS;

        if (window->wanted[place] && !window->there[place])
            status = read_unit(window, source, place);
        if (status != HT_SUCCESS)
            return status;
        window->units_passed++;
    }
    return HT_SUCCESS;
}
