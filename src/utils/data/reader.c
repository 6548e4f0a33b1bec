/* SPDX-License-Identifier: MIT
 *
 * The rows of a shard in the order of an epoch, one batch after another. A shard that fits into the
 * window stays in memory and is read once. Of a longer one two windows of half the size are held:
 * batches come from one while the other is read, a little between any two batches. */
#include "data.h"

#include <string.h>

#define SEQUENTIAL_BYTES (INT64_C(16) << 20) /* no need to hold more without shuffling */
#define WINDOW_ROWS      (INT64_C(1) << 31)

static void plan_windows(ht__reader *reader, int64_t row_bytes)
{
    ht__plan *plan = &reader->plan;
    int64_t bytes = reader->options->window_bytes, rows;

    if (row_bytes < 1)
        row_bytes = 1;
    rows = bytes / row_bytes < WINDOW_ROWS ? bytes / row_bytes : WINDOW_ROWS;
    plan->windows = 1;
    if (plan->rows > rows) {
        plan->windows = 2;
        if (!plan->shuffle && bytes > SEQUENTIAL_BYTES)
            rows = SEQUENTIAL_BYTES / row_bytes;
        rows = rows / 2 > 1 ? rows / 2 : 1;
    }
    plan->unit_rows = ht__dataset_unit_rows(reader->dataset, rows > 1 ? rows : 1);
    plan->units = plan->rows == 0 ? 0
                                  : (plan->start + plan->rows - 1) / plan->unit_rows -
                                        plan->start / plan->unit_rows + 1;
    plan->window_units = plan->units;
    if (plan->windows == 1)
        return;
    plan->window_units = rows / plan->unit_rows;
    plan->windows = (plan->units + plan->window_units - 1) / plan->window_units;
}

static void count_batches(ht__reader *reader)
{
    int64_t size = reader->options->batch_size, all = reader->dataset->rows;
    int64_t ranks = reader->dataset->comm->size, least = all / ranks,
            most = (all + ranks - 1) / ranks;

    reader->batches = (most + size - 1) / size;
    reader->epoch_rows = reader->plan.rows;
    if (reader->options->remainder == HT_REMAINDER_DROP) {
        reader->batches = least / size;
        reader->epoch_rows = reader->batches * size;
    } else if (reader->options->remainder == HT_REMAINDER_PAD) {
        reader->epoch_rows = most;
    }
}

void ht__reader_init(ht__reader *reader, const ht_dataset *dataset,
                     const ht_dataloader_options *options)
{
    int64_t rank = dataset->comm->rank, size = dataset->comm->size, rows = dataset->rows;

    memset(reader, 0, sizeof *reader);
    reader->dataset = dataset;
    reader->options = options;
    reader->plan = (ht__plan){
        .start = rank * rows / size,
        .rows = (rank + 1) * rows / size - rank * rows / size,
        .shuffle = options->shuffle,
        .seed = options->seed,
        .rank = (int)rank,
    };
    plan_windows(reader, ht__dataset_row_bytes(dataset));
    count_batches(reader);
    ht__source_init(&reader->source, dataset);
    for (int i = 0; i < (reader->plan.windows > 1 ? 2 : 1); i++)
        ht__window_init(&reader->windows[i], &reader->plan, dataset);
    for (int i = 0; i < dataset->count; i++)
        reader->first[i] = ht__alloc((size_t)dataset->arrays[i].row_bytes);
    ht__reader_seek(reader, 0);
}

void ht__reader_free(ht__reader *reader)
{
    int arrays = reader->dataset->count;

    for (int i = 0; i < arrays; i++)
        ht__free(reader->first[i]);
    for (int i = 0; i < (reader->plan.windows > 1 ? 2 : 1); i++)
        ht__window_free(&reader->windows[i], arrays);
    ht__source_close(&reader->source);
}

static void start_following(ht__reader *reader)
{
    const ht__window *current = &reader->windows[reader->current];
    ht__window *other = &reader->windows[1 - reader->current];

    if (current->index + 1 < reader->plan.windows)
        ht__window_start(other, current->epoch, current->index + 1);
    else
        ht__window_start(other, current->epoch + 1, 0);
}

/* Makes window `index` of `epoch` the current one: usually the other one, read already. */
static void go_to_window(ht__reader *reader, int64_t epoch, int64_t index)
{
    reader->at = 0;
    if (reader->plan.windows == 1) {
        ht__window_start(&reader->windows[0], epoch, index);
        return;
    }
    const ht__window *other = &reader->windows[1 - reader->current];

    if (other->epoch == epoch && other->index == index)
        reader->current = 1 - reader->current;
    else
        ht__window_start(&reader->windows[reader->current], epoch, index);
    start_following(reader);
}

void ht__reader_seek(ht__reader *reader, int64_t epoch)
{
    reader->epoch = epoch;
    reader->batch = 0;
    go_to_window(reader, epoch, 0);
}

/* Rows at, at + 1, ... of the window's order become rows filled, ... of the batch. */
static void copy_rows(const ht__reader *reader, const ht__window *window, int64_t count,
                      ht__made *made, int64_t filled)
{
    const uint32_t *order = window->row_order;

    for (int a = 0; a < reader->dataset->count; a++) {
        size_t bytes = (size_t)reader->dataset->arrays[a].row_bytes;
        char *to = (char *)ht_tensor_mutable_data(made->raw[a]) + (size_t)filled * bytes;

        for (int64_t i = reader->at; i < reader->at + count; i++, to += bytes)
            memcpy(to, window->raw[a] + bytes * (size_t)(order != NULL ? order[i] : i), bytes);
    }
    for (int64_t i = 0; i < count; i++)
        made->ids[filled + i] = window->ids[order != NULL ? order[reader->at + i] : reader->at + i];
}

static void keep_first(ht__reader *reader, const ht__made *made)
{
    for (int a = 0; a < reader->dataset->count; a++)
        memcpy(reader->first[a], ht_tensor_data(made->raw[a]),
               (size_t)reader->dataset->arrays[a].row_bytes);
    reader->first_id = made->ids[0];
}

static void pad_row(const ht__reader *reader, ht__made *made, int64_t place)
{
    for (int a = 0; a < reader->dataset->count; a++) {
        size_t bytes = (size_t)reader->dataset->arrays[a].row_bytes;

        memcpy((char *)ht_tensor_mutable_data(made->raw[a]) + (size_t)place * bytes,
               reader->first[a], bytes);
    }
    made->ids[place] = reader->first_id;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static ht_status gather(ht__reader *reader, ht__made *made)
{
    int64_t begin = reader->batch * reader->options->batch_size, filled = 0;

    while (filled < made->rows) {
        ht__window *window = &reader->windows[reader->current];
        int64_t left = reader->plan.rows - begin - filled;

        if (left <= 0) {
            pad_row(reader, made, filled++);
            continue;
        }
        if (reader->at == window->rows) {
            go_to_window(reader, window->epoch, window->index + 1);
            continue;
        }
        int64_t count = least(least(made->rows - filled, left), window->rows - reader->at);
        int64_t needed = reader->plan.shuffle ? window->rows : reader->at + count;
        ht_status status = ht__window_need(window, &reader->source, needed, &reader->stop);

        if (status != HT_SUCCESS)
            return status;
        if (window->rows_read < needed)
            return ht__error_set(HT_ERR_STATE, "ht_dataloader_next: stopped");
        copy_rows(reader, window, count, made, filled);
        reader->at += count;
        filled += count;
        if (begin == 0 && filled == count)
            keep_first(reader, made);
    }
    return HT_SUCCESS;
}

static void fail(ht__made *made)
{
    const char *message;

    made->status = ht_error_get(&message);
    snprintf(made->message, sizeof made->message, "%s", message);
}

void ht__reader_next(ht__reader *reader, ht__made *made)
{
    const ht_dataloader_options *options = reader->options;

    if (reader->batch == reader->batches)
        ht__reader_seek(reader, reader->epoch + 1);
    made->status = HT_SUCCESS;
    made->rows = least(options->batch_size,
                       reader->epoch_rows - reader->batch * options->batch_size);
    if (made->rows < 0)
        made->rows = 0;
    if (ht__batch_raw(made, reader->dataset) != HT_SUCCESS || gather(reader, made) != HT_SUCCESS ||
        ht__batch_transform(made, reader->dataset, options) != HT_SUCCESS)
        fail(made);
    reader->batch++;
    if (reader->plan.windows == 1 && reader->windows[0].units_read == reader->plan.units)
        ht__source_close(&reader->source);
}

void ht__reader_ahead(ht__reader *reader)
{
    if (reader->plan.windows == 1)
        return;
    const ht__window *current = &reader->windows[reader->current];
    ht__window *other = &reader->windows[1 - reader->current];
    double done = (double)(reader->at + reader->options->batch_size) / (double)current->rows;
    int64_t wanted = (int64_t)(done * (double)other->rows) + 1;

    /* A unit that cannot be read is tried again, and reported, when a batch needs it. */
    if (ht__window_need(other, &reader->source, wanted, &reader->stop) != HT_SUCCESS)
        ht_error_clear();
}
