/* SPDX-License-Identifier: MIT
 *
 * The rows of this rank's parts in the order of an epoch, one batch after another. A shard that
 * fits into the window stays in memory and is read once. For a longer one there are two windows of
 * half the size: batches come from one while the other is read, a little between any two
 * batches. */
#include "utils/data/data.h"

#include "core/timeline/timeline.h"

#include <string.h>

static int window_count(const ht_reader *reader)
{
    return reader->plan.windows > 1 ? 2 : 1;
}

static void init_windows(ht_reader *reader, const ht_plan *plan)
{
    reader->plan = *plan;
    reader->current = 0;
    for (int i = 0; i < window_count(reader); i++)
        ht__window_init(&reader->windows[i], &reader->plan, reader->dataset);
}

static void free_windows(ht_reader *reader)
{
    for (int i = 0; i < window_count(reader); i++)
        ht__window_free(&reader->windows[i], reader->dataset->count);
}

void ht__reader_init(ht_reader *reader, const ht_dataset *dataset,
                     const ht_dataloader_options *options)
{
    const ht_comm *comm = dataset->comm;
    ht_plan plan;

    memset(reader, 0, sizeof *reader);
    reader->dataset = dataset;
    reader->options = options;
    ht__source_init(&reader->source, dataset);
    for (int i = 0; i < dataset->count; i++)
        reader->first[i] = ht__alloc((size_t)dataset->arrays[i].row_bytes);
    ht__deal_whole(&reader->deal, comm->size, dataset->rows, options->window_bytes);
    plan = ht__plan_shard(dataset, options, &reader->deal, comm->rank);
    init_windows(reader, &plan);
    ht__reader_seek(reader, 0, NULL);
}

void ht__reader_free(ht_reader *reader)
{
    for (int i = 0; i < reader->dataset->count; i++)
        ht__free(reader->first[i]);
    free_windows(reader);
    ht__deal_free(&reader->deal);
    ht__source_close(&reader->source);
}

/* Shard and order of the part. Memory stays, with its content, when the shard does. */
static void use_plan(ht_reader *reader, int64_t shard)
{
    ht_plan plan = ht__plan_shard(reader->dataset, reader->options, &reader->deal, shard);
    bool reseeded = plan.seed != reader->plan.seed;

    if (!ht__plan_same_cut(&plan, &reader->plan)) {
        free_windows(reader);
        init_windows(reader, &plan);
        return;
    }
    reader->plan.seed = plan.seed;
    for (int i = 0; i < window_count(reader); i++) {
        if (reseeded)
            reader->windows[i].order_epoch = -1;
        if (reader->plan.windows > 1 && (reseeded || !reader->windows[i].complete))
            ht__window_clear(&reader->windows[i]);
    }
}

static bool is_last_part(const ht_reader *reader)
{
    int64_t next = reader->part + 1;

    return next == reader->deal.count ||
           reader->deal.parts[next].rank != reader->deal.parts[reader->part].rank;
}

/* Whether the epoch after this one begins with the rows of the same plan. */
static bool goes_on(const ht_reader *reader)
{
    const ht_comm *comm = reader->dataset->comm;

    return is_last_part(reader) && reader->deal.shards == comm->size &&
           reader->plan.shard == comm->rank &&
           reader->deal.window_bytes == reader->options->window_bytes;
}

static void start_following(ht_reader *reader)
{
    const ht_read_window *current = &reader->windows[reader->current];
    ht_read_window *other = &reader->windows[1 - reader->current];
    int64_t after = reader->left - (current->rows - reader->at);

    if (after > 0)
        ht__window_start(other, current->epoch, current->index + 1, 0, after);
    else if (goes_on(reader))
        ht__window_start(other, current->epoch + 1, 0, 0, INT64_MAX);
    else
        ht__window_clear(other);
}

/* Makes window `index` of `epoch` the current one, `at` its next row: usually the other one, read
 * already. */
static void go_to_window(ht_reader *reader, int64_t epoch, int64_t index, int64_t at)
{
    reader->at = at;
    if (reader->plan.windows == 1) {
        ht__window_start(&reader->windows[0], epoch, index, at, reader->left);
        return;
    }
    const ht_read_window *other = &reader->windows[1 - reader->current];

    if (other->epoch == epoch && other->index == index)
        reader->current = 1 - reader->current;
    else
        ht__window_start(&reader->windows[reader->current], epoch, index, at, reader->left);
    start_following(reader);
}

/* A rank that is to pad repeats the first row of its epoch, also when that was had before. */
static void find_first(ht_reader *reader, const ht_deal_part *part)
{
    ht_read_window *window = &reader->windows[reader->current];

    reader->first_skipped = reader->options->remainder == HT_REMAINDER_PAD &&
                            (part->from > 0 || part->from == part->to);
    if (!reader->first_skipped)
        return;
    ht__window_start(window, reader->epoch, 0, 0, 0);
    reader->first_id = ht__window_id(window, 0);
}

static void go_to_part(ht_reader *reader, int64_t index, bool first)
{
    const ht_deal_part *part = &reader->deal.parts[index];
    int64_t at = part->from;

    reader->part = index;
    reader->left = part->to - part->from;
    use_plan(reader, part->shard);
    if (first)
        find_first(reader, part);
    index = ht__window_find(&reader->windows[reader->current], reader->epoch, &at);
    go_to_window(reader, reader->epoch, index, at);
}

void ht__reader_seek(ht_reader *reader, int64_t epoch, const ht_deal *deal)
{
    const ht_dataset *dataset = reader->dataset;
    int rank = dataset->comm->rank;

    if (deal != NULL)
        ht__deal_copy(&reader->deal, deal);
    else
        ht__deal_whole(&reader->deal, dataset->comm->size, dataset->rows,
                       reader->options->window_bytes);
    reader->batches = ht__deal_batches(&reader->deal, reader->options, rank, &reader->epoch_rows);
    reader->epoch = epoch;
    reader->batch = 0;
    go_to_part(reader, ht__deal_first(&reader->deal, rank), true);
}

/* Rows at, at + 1, ... of the window's order become rows filled, ... of the batch. */
static void copy_rows(const ht_reader *reader, const ht_read_window *window, int64_t count,
                      ht_made *made, int64_t filled)
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

static void keep_first(ht_reader *reader, const ht_made *made)
{
    for (int a = 0; a < reader->dataset->count; a++)
        memcpy(reader->first[a], ht_tensor_data(made->raw[a]),
               (size_t)reader->dataset->arrays[a].row_bytes);
    reader->first_id = made->ids[0];
}

static void pad_row(const ht_reader *reader, ht_made *made, int64_t place)
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

static bool go_to_next_part(ht_reader *reader)
{
    while (reader->left == 0) {
        if (is_last_part(reader))
            return false;
        go_to_part(reader, reader->part + 1, false);
    }
    return true;
}

static ht_status gather(ht_reader *reader, ht_made *made)
{
    int64_t filled = 0;

    while (filled < made->rows) {
        if (!go_to_next_part(reader)) {
            pad_row(reader, made, filled++);
            continue;
        }
        ht_read_window *window = &reader->windows[reader->current];

        if (reader->at == window->rows) {
            go_to_window(reader, window->epoch, window->index + 1, 0);
            continue;
        }
        int64_t count = least(least(made->rows - filled, reader->left), window->rows - reader->at);
        int64_t needed = reader->plan.shuffle ? window->rows : reader->at + count;
        ht_status status = ht__window_need(window, &reader->source, needed, &reader->stop);

        if (status != HT_SUCCESS)
            return status;
        if (window->begin[window->units_passed] < needed)
            return ht__error_set(HT_ERR_STATE, "ht_dataloader_next: stopped");
        copy_rows(reader, window, count, made, filled);
        reader->at += count;
        reader->left -= count;
        filled += count;
        if (reader->batch == 0 && filled == count && !reader->first_skipped)
            keep_first(reader, made);
    }
    return HT_SUCCESS;
}

/* The row that find_first named. */
static ht_status read_first(ht_reader *reader)
{
    ht_status status = HT_SUCCESS;

    if (reader->first_skipped && reader->batch == 0)
        status = ht__source_read(&reader->source, reader->first_id, 1, reader->first);
    return status;
}

static void fail(ht_made *made)
{
    const char *message;

    made->status = ht_error_get(&message);
    snprintf(made->message, sizeof made->message, "%s", message);
}

/* Errors are held for the batch, which the program may never request: ht_dataloader_next raises
 * them. */
void ht__reader_next(ht_reader *reader, ht_made *made)
{
    const ht_dataloader_options *options = reader->options;
    const bool held = ht__error_hold(true);
    int span = ht__span_begin(HT_SPAN_LOADER, "make a batch", NULL);

    if (reader->batch == reader->batches)
        ht__reader_seek(reader, reader->epoch + 1, NULL);
    made->status = HT_SUCCESS;
    made->rows = least(options->batch_size,
                       reader->epoch_rows - reader->batch * options->batch_size);
    if (made->rows < 0)
        made->rows = 0;
    if (read_first(reader) != HT_SUCCESS || ht__batch_raw(made, reader->dataset) != HT_SUCCESS ||
        gather(reader, made) != HT_SUCCESS ||
        ht__batch_transform(made, reader->dataset, options, reader->epoch) != HT_SUCCESS)
        fail(made);
    reader->batch++;
    if (reader->plan.windows == 1 && reader->windows[0].units_there == reader->plan.units &&
        goes_on(reader))
        ht__source_close(&reader->source);
    ht__span_end(span);
    ht__error_hold(held);
}

void ht__reader_ahead(ht_reader *reader)
{
    if (reader->plan.windows == 1)
        return;
    const ht_read_window *current = &reader->windows[reader->current];
    ht_read_window *other = &reader->windows[1 - reader->current];
    double done = (double)(reader->at + reader->options->batch_size) / (double)current->rows;
    int64_t wanted = (int64_t)(done * (double)other->rows) + 1;

    int span = ht__span_begin(HT_SPAN_LOADER, "read ahead", NULL);
    ht_error_kept earlier;

    /* A unit that cannot be read is tried again, and reported, when a batch needs it. */
    ht__error_set_aside(&earlier);
    if (ht__window_need(other, &reader->source, wanted, &reader->stop) != HT_SUCCESS)
        ht_error_clear();
    ht__error_put_back(&earlier);
    ht__span_end(span);
}
