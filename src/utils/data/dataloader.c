/* SPDX-License-Identifier: MIT
 *
 * The public side of the loader: options, epochs, batches, and how errors reach all ranks. */
#include "utils/data/data.h"

#include "core/base/environment.h"
#include "core/collective/collective.h"
#include "core/timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

/* Loaders are made and released by the thread that calls the library. */
static ht_dataloader *alive;

/* A loader that was not released must not read on while the library ends. */
static void stop_all(void)
{
    for (ht_dataloader *loader = alive; loader != NULL; loader = loader->next) {
        ht__ring_stop(&loader->ring);
        for (int i = 0; i < loader->ring.size; i++)
            ht__made_settle(&loader->ring.slots[i], loader->dataset->count);
    }
}

static void destroy(void *object)
{
    ht_dataloader *loader = object, **at = &alive;

    while (*at != loader)
        at = &(*at)->next;
    *at = loader->next;
    ht__ring_free(&loader->ring);
    ht__reader_free(&loader->reader);
    ht__deal_free(&loader->deal);
    ht_release(loader->dataset);
    ht__object_fini(loader);
    ht__free(loader);
}

static ht_kind dataloader_kind = {.name = "dataloader", .destroy = destroy};

ht_dataloader_options ht_dataloader_options_default(void)
{
    return (ht_dataloader_options){
        .size = sizeof(ht_dataloader_options),
        .batch_size = 64,
        .shuffle = true,
        .remainder = HT_REMAINDER_UNEVEN,
        .window_bytes = INT64_C(256) << 20,
        .queue = 2,
        .io_threads = 1,
    };
}

enum { MAX_QUEUE = 4096 };

/* The arguments of one rank. */
static ht_status check_options(const char *what, const ht_dataset *dataset,
                               const ht_dataloader_options *options)
{
    ht_comm *comm = dataset->comm;

    if (HT_CHECK_OPTIONS(comm, what, options, ht_dataloader_options) != HT_SUCCESS)
        return HT_ERR_ARGUMENT;
    if (options->batch_size < 1)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: batch_size is %lld, expected at least 1", what,
                       (long long)options->batch_size);
    if (options->window_bytes < 1 || options->queue < 1 || options->queue > MAX_QUEUE)
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "%s: window_bytes is %lld and queue %d, expected at least 1, and queue at "
                       "most %d",
                       what, (long long)options->window_bytes, options->queue, MAX_QUEUE);
    if (options->io_threads < 0 || options->io_threads > 1)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: io_threads is %d, expected 0 or 1", what,
                       options->io_threads);
    if ((unsigned)options->remainder > HT_REMAINDER_PAD)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: remainder is %d, expected an ht_remainder_rule",
                       what, (int)options->remainder);
    if (options->remainder == HT_REMAINDER_PAD && dataset->rows < comm->size)
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "%s: %lld rows on %d ranks: HT_REMAINDER_PAD needs a row on every rank",
                       what, (long long)dataset->rows, comm->size);
    return HT_SUCCESS;
}

static bool wants_thread(const ht_dataloader_options *options)
{
    double threads = options->io_threads;

    ht__env_number(HT_ENV_HT_IO_THREADS, &threads);
    return threads > 0;
}

/* The state that the program sees; the reader gets the epoch, or reaches it by itself. */
static void set_epoch(ht_dataloader *loader, int64_t epoch)
{
    const ht_dataset *dataset = loader->dataset;
    int64_t rows;

    loader->epoch = epoch;
    loader->batch = 0;
    ht__deal_whole(&loader->deal, dataset->comm->size, dataset->rows, loader->options.window_bytes);
    loader->batches = ht__deal_batches(&loader->deal, &loader->options, dataset->comm->rank, &rows);
}

static ht_dataloader *make(const ht_dataset *dataset, const ht_dataloader_options *options)
{
    ht_dataloader *loader = ht__alloc(sizeof *loader);

    ht__object_init(loader, &dataloader_kind);
    loader->next = alive;
    alive = loader;
    ht__at_finalize(stop_all);
    loader->dataset = ht__dataset_fixed(dataset);
    loader->options = *options;
    if (loader->options.batch_size > dataset->rows) /* one more: HT_REMAINDER_DROP has none then */
        loader->options.batch_size = dataset->rows + 1;
    ht__reader_init(&loader->reader, loader->dataset, &loader->options);
    ht__ring_init(&loader->ring, &loader->reader, wants_thread(options));
    set_epoch(loader, 0);
    return loader;
}

/* The rows that a state leaves to a rank, and the batches of an epoch, follow from these numbers. */
static ht_status check_alike(const char *what, const ht_dataset *dataset,
                             const ht_dataloader_options *o)
{
    const ht_alike rows[] = {
        ht__alike_whole("the number of rows (ht_dataset_limit)", dataset->rows),
        ht__alike_whole("the number of bytes of a row", (int64_t)ht__dataset_row_bytes(dataset)),
        ht__alike_whole("the number of rows in a unit of chunks",
                        ht__dataset_unit_rows(dataset, INT64_MAX)),
        ht__alike_whole("batch_size", o->batch_size),
        ht__alike_whole("shuffle", o->shuffle),
        ht__alike_unsigned("seed", o->seed),
        ht__alike_whole("remainder", o->remainder),
        ht__alike_whole("window_bytes", (int64_t)o->window_bytes),
    };

    return ht__agree_alike(what, dataset->comm, rows, sizeof rows / sizeof *rows);
}

ht_dataloader *ht__dataloader_new(const char *what, ht_dataset *dataset,
                                  const ht_dataloader_options *options, ht_status status)
{
    ht_dataloader *loader = NULL;
    bool held = ht__agree_begin();

    if (status == HT_SUCCESS)
        status = check_options(what, dataset, options);
    if (status == HT_SUCCESS) {
        loader = make(dataset, options);
        status = ht__source_open(&loader->reader.source);
    }
    status = ht__agree_end(what, dataset->comm, held, status);
    if (status == HT_SUCCESS && check_alike(what, dataset, options) == HT_SUCCESS)
        return loader;
    ht_release(loader);
    return NULL;
}

ht_dataloader *ht_dataloader_new(ht_dataset *dataset, const ht_dataloader_options *options)
{
    static const char what[] = "ht_dataloader_new";
    ht_dataloader_options defaults = ht_dataloader_options_default();

    if (ht__dataset_missing(what, dataset))
        return NULL;
    return ht__dataloader_new(what, dataset, options != NULL ? options : &defaults, HT_SUCCESS);
}

/* Other ranks may have one, and wait. */
bool ht__dataset_missing(const char *what, const ht_dataset *dataset)
{
    if (ht__alive(dataset, what, "dataset") != NULL)
        return false;
    ht__agree(what, ht_get_comm(), ht__error_set_null(what, "dataset"));
    return true;
}

static void give_back(ht_dataloader *loader)
{
    if (loader->holding)
        ht__ring_release(&loader->ring);
    loader->holding = false;
}

/* A batch that failed on this rank ends the job at once under HT_ERRORS_ABORT: no agreement is
 * needed. Under HT_ERRORS_RETURN the ranks agree on every batch, so that none trains on while
 * another has none to train with. */
static ht_status agree(ht_dataloader *loader, ht_made *made)
{
    ht_comm *comm = loader->dataset->comm;
    const char *message;

    if (made->status == HT_SUCCESS && ht__batch_join(made, loader->dataset->count) != 0) {
        made->status = ht_error_get(&message);
        snprintf(made->message, sizeof made->message, "ht_dataloader_next: %s", message);
    }
    if (made->status != HT_SUCCESS)
        ht__error_set(made->status, "%s", made->message);
    if (comm->handler == HT_ERRORS_RETURN)
        loader->status = ht__agree("ht_dataloader_next", comm, made->status);
    else if (made->status != HT_SUCCESS)
        loader->status = HT_FAIL_HERE(comm, made->status, "%s", made->message);
    if (loader->status != HT_SUCCESS) {
        ht_error_get(&message);
        snprintf(loader->message, sizeof loader->message, "%s", message);
    }
    return loader->status;
}

bool ht_dataloader_next(ht_dataloader *loader, ht_batch *batch)
{
    if (HT_IS_NULL(loader, "ht_dataloader_next", "loader") ||
        HT_IS_NULL_ON(loader->dataset->comm, batch, "ht_dataloader_next", "batch"))
        return false;
    *batch = (ht_batch){0};
    give_back(loader);
    if (loader->status != HT_SUCCESS) {
        ht__error_set(loader->status, "%s", loader->message);
        return false;
    }
    if (loader->batch == loader->batches) {
        set_epoch(loader, loader->epoch + 1);
        return false;
    }
    ht__watch_at("ht_dataloader_next");

    int span = ht__span_begin(HT_SPAN_LOADER, "ht_dataloader_next", NULL);
    ht_made *made = ht__ring_take(&loader->ring);

    ht__span_end(span);

    loader->holding = true;
    if (agree(loader, made) != HT_SUCCESS)
        return false;
    loader->batch++;
    *batch = (ht_batch){
        .data = made->arrays[0],
        .target = loader->dataset->count > 1 ? made->arrays[1] : NULL,
        .arrays = made->arrays,
        .count = loader->dataset->count,
        .rows = made->rows,
        .row_ids = made->ids,
    };
    return true;
}

ht_status ht_dataloader_status(const ht_dataloader *loader)
{
    return HT_IS_THERE(loader) ? loader->status : ht_error_get(NULL);
}

int64_t ht_dataloader_batches(const ht_dataloader *loader)
{
    int64_t rows;

    if (!HT_IS_THERE(loader))
        return 0;
    const ht_dataset *dataset = loader->dataset;
    ht_deal whole = {0};

    ht__deal_whole(&whole, dataset->comm->size, dataset->rows, loader->options.window_bytes);
    int64_t batches = ht__deal_batches(&whole, &loader->options, dataset->comm->rank, &rows);

    ht__deal_free(&whole);
    return batches;
}

int64_t ht_dataloader_batches_left(const ht_dataloader *loader)
{
    return HT_IS_THERE(loader) ? loader->batches - loader->batch : 0;
}

int64_t ht_dataloader_shard_rows(const ht_dataloader *loader)
{
    if (!HT_IS_THERE(loader))
        return 0;
    const ht_comm *comm = loader->dataset->comm;
    int64_t rows = loader->dataset->rows, rank = comm->rank;

    return (rank + 1) * rows / comm->size - rank * rows / comm->size;
}

int64_t ht_dataloader_epoch(const ht_dataloader *loader)
{
    return loader != NULL ? loader->epoch : 0;
}

void ht__dataloader_seek(ht_dataloader *loader, int64_t epoch, ht_deal *deal)
{
    int64_t rows;

    give_back(loader);
    ht__ring_stop(&loader->ring);
    ht__reader_seek(&loader->reader, epoch, deal);
    loader->status = HT_SUCCESS;
    set_epoch(loader, epoch);
    if (deal == NULL)
        return;
    ht__deal_free(&loader->deal);
    loader->deal = *deal;
    loader->batches = ht__deal_batches(&loader->deal, &loader->options, loader->dataset->comm->rank,
                                       &rows);
}

ht_status ht_dataloader_set_epoch(ht_dataloader *loader, int64_t epoch)
{
    if (HT_IS_NULL(loader, "ht_dataloader_set_epoch", "loader"))
        return ht_error_get(NULL);
    if (epoch < 0)
        return HT_FAIL(loader->dataset->comm, HT_ERR_ARGUMENT,
                       "ht_dataloader_set_epoch: epoch is %lld, expected at least 0",
                       (long long)epoch);
    ht__dataloader_seek(loader, epoch, NULL);
    return HT_SUCCESS;
}
