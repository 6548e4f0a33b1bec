/* SPDX-License-Identifier: MIT
 *
 * The structs of datasets and loaders, for src/utils/data. Order of the parts, each using the one
 * before:
 * - dataset: a file's arrays; source: open handles; order: random permutations; deal: which rank
 *   reads which rows;
 * - plan and window: rows in memory; reader: the rows of an epoch, one batch after another;
 * - dataloader: ring, thread and the caller's side. */
#ifndef HT_UTILS_DATA_DATA_H
#define HT_UTILS_DATA_DATA_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/tensor/tensor.h"
#include "core/io/hdf5/hdf5.h"
#include "ht/data.h"

#define HT_MAX_ARRAYS 16

/* ---- dataset.c ------------------------------------------------------------------------------- */
typedef struct ht_dataset_array {
    char *name;
    ht_hdf5_info info;
    int64_t row_bytes;
} ht_dataset_array;

struct ht_dataset {
    ht_object base;
    ht_comm *comm; /* retained */
    char *path;
    int count;
    ht_dataset_array arrays[HT_MAX_ARRAYS];
    int64_t file_rows;
    int64_t rows; /* at most file_rows: ht_dataset_limit */
};

/* As it is now, for a loader: ht_dataset_limit does not reach it. Owned. */
ht_dataset *ht__dataset_fixed(const ht_dataset *dataset);

/* Raw bytes of one row of all arrays. */
int64_t ht__dataset_row_bytes(const ht_dataset *dataset);

/* Rows that are read at once: complete chunks of the largest array, at least 256 KiB where the file
 * allows, and at most `most` rows. Units start at multiples of this number. */
int64_t ht__dataset_unit_rows(const ht_dataset *dataset, int64_t most);

/* ---- source.c: handles of one reader, with the default driver -------------------------------- */
typedef struct ht_source {
    const ht_dataset *dataset; /* not owned */
    hid_t file;                /* invalid: not open */
    int64_t bytes;             /* of the file, when it was opened */
    hid_t sets[HT_MAX_ARRAYS];
    ht_chunks chunks[HT_MAX_ARRAYS]; /* of those */
} ht_source;

void ht__source_init(ht_source *source, const ht_dataset *dataset);
ht_status ht__source_open(ht_source *source); /* records the error and returns its code */
void ht__source_close(ht_source *source);

/* Reads rows start ... start + count - 1 of every array to memory[array]. Records the error (file,
 * data set, rows) and returns its code. */
ht_status ht__source_read(ht_source *source, int64_t start, int64_t count, char *const memory[]);

/* ---- order.c: counter-based random permutations ---------------------------------------------- */
/* Fills `order` with a permutation of 0 ... n - 1 that depends on the five numbers only. */
void ht__order_permute(uint32_t *order, int64_t n, uint64_t seed, int64_t epoch, int rank,
                       int64_t stream);

/* ---- deal.c: who reads which rows of an epoch ------------------------------------------------ */
/* Rows from ... to - 1 of a shard's order in this epoch. */
typedef struct ht_deal_part {
    int64_t rank, shard, from, to;
} ht_deal_part;

typedef struct ht_deal {
    int64_t shards;       /* that the rows were cut into when the epoch began */
    int64_t window_bytes; /* with which it began: the order depends on it */
    int64_t ranks, count;
    ht_deal_part *parts; /* owned; rank after rank, at least one each */
} ht_deal;

/* To a deal that is {0} or in use. `whole`: each rank its shard. */
void ht__deal_whole(ht_deal *deal, int64_t ranks, int64_t rows, int64_t window_bytes);
void ht__deal_copy(ht_deal *deal, const ht_deal *from);
void ht__deal_free(ht_deal *deal);

void ht__deal_take(ht_deal *deal, int64_t rows);   /* every rank has had `rows`, or all its rows */
void ht__deal_again(ht_deal *deal, int64_t ranks); /* the remaining rows, to `ranks` ranks */
bool ht__deal_is_own(const ht_deal *deal);         /* each rank has some of its own shard only */
int64_t ht__deal_first(const ht_deal *deal, int64_t rank); /* index of a rank's first part */

/* Batches of all that is left, the same on all ranks; *rows: that `rank` gets in them. */
int64_t ht__deal_batches(const ht_deal *deal, const ht_dataloader_options *options, int64_t rank,
                         int64_t *rows);

/* ---- plan.c: how a shard is cut: units of whole chunks, windows of units --------------------- */
typedef struct ht_plan {
    int64_t start, rows; /* the shard in the file */
    int64_t unit_rows;   /* units start at multiples of this, cut at the shard's ends */
    int64_t units;
    int64_t window_units;
    int64_t windows; /* per epoch */
    bool shuffle;
    uint64_t seed;
    int shard;
} ht_plan;

ht_plan ht__plan_shard(const ht_dataset *dataset, const ht_dataloader_options *options,
                       const ht_deal *deal, int64_t shard);
bool ht__plan_same_cut(const ht_plan *a, const ht_plan *b); /* equal but for the seed */

/* ---- window.c: some units of the shard in memory --------------------------------------------- */
typedef struct ht_read_window {
    const ht_plan *plan;  /* not owned */
    int64_t epoch, index; /* which one; epoch -1: none yet */
    int64_t first_unit;   /* in the epoch's order of units */
    int64_t rows, units;
    int64_t units_passed; /* read, or not wanted */
    int64_t units_there;
    int64_t *begin; /* of each unit in memory, and the end: units + 1 rows */
    bool *there;    /* units that are in memory */
    bool *wanted;   /* units that are to be */
    bool complete;  /* all of them are wanted */
    int64_t order_epoch;
    uint32_t *unit_order; /* of the complete epoch order_epoch; NULL: as in the file */
    uint32_t *row_order;  /* of this window; NULL: as in memory */
    int64_t *ids;         /* place in the file of each row in memory */
    char *raw[HT_MAX_ARRAYS];
} ht_read_window;

void ht__window_init(ht_read_window *window, const ht_plan *plan, const ht_dataset *dataset);
void ht__window_free(ht_read_window *window, int arrays);

/* Makes it window `index` of `epoch`, of which rows at ... at + count - 1 of its order are wanted:
 * units without any of them are not read. Memory stays as it is if it has the same rows: one window
 * per epoch contains the complete shard, which is then read once only. */
void ht__window_start(ht_read_window *window, int64_t epoch, int64_t index, int64_t at,
                      int64_t count);
void ht__window_clear(ht_read_window *window); /* to none */

/* The index of the window with row *row of the epoch's order; *row becomes its place in there. */
int64_t ht__window_find(ht_read_window *window, int64_t epoch, int64_t *row);

/* The place in the file of a row of the window's order, read or not. */
int64_t ht__window_id(const ht_read_window *window, int64_t row);

/* Reads units until at least `rows` rows are there (all of them when they are shuffled: anything
 * can be asked for next), or `stop` is set. */
ht_status ht__window_need(ht_read_window *window, ht_source *source, int64_t rows,
                          const atomic_bool *stop);

/* ---- reader.c: batches in order -------------------------------------------------------------- */
/* One batch and the memory it uses. Touched by the reading thread until it is handed over. */
typedef struct ht_made {
    ht_tensor *raw[HT_MAX_ARRAYS];     /* owned; reused if nothing else refers to it */
    ht_tensor *arrays[HT_MAX_ARRAYS];  /* owned; what the transform returned */
    ht_side_copy ahead[HT_MAX_ARRAYS]; /* of them to the device, until they are handed over */
    int64_t *ids;                      /* of `rows`; there is room for `room` */
    int64_t rows, room;
    ht_status status;
    char message[1024];
} ht_made;

typedef struct ht_reader {
    const ht_dataset *dataset; /* not owned: the loader holds it */
    const ht_dataloader_options *options;
    ht_source source;
    ht_deal deal; /* of the epoch */
    int64_t part; /* of the deal, that is read now */
    int64_t left; /* rows of the part that are in no batch yet */
    ht_plan plan; /* of the part's shard */
    ht_read_window windows[2];
    int current;
    int64_t at;                 /* next row of the current window */
    int64_t epoch, batch;       /* the next batch to make */
    int64_t batches;            /* of the deal, the same on all ranks */
    int64_t epoch_rows;         /* that this rank delivers in them */
    char *first[HT_MAX_ARRAYS]; /* raw first row of the epoch, for padding */
    int64_t first_id;
    bool first_skipped; /* and still to be read */
    atomic_bool stop;   /* set by another thread: give up between two reads */
} ht_reader;

void ht__reader_init(ht_reader *reader, const ht_dataset *dataset,
                     const ht_dataloader_options *options);
void ht__reader_free(ht_reader *reader);

/* To the start of what `deal` leaves of an epoch; NULL: all of it. */
void ht__reader_seek(ht_reader *reader, int64_t epoch, const ht_deal *deal);

/* Makes the next batch into `made`; its status tells. */
void ht__reader_next(ht_reader *reader, ht_made *made);

/* Reads a part of the following window ahead, in step with the batches of this one. */
void ht__reader_ahead(ht_reader *reader);

void ht__made_free(ht_made *made, int arrays);
void ht__made_settle(ht_made *made, int arrays); /* waits for its copies; it may have more */

/* ---- batch.c: from rows in memory to what the program gets ----------------------------------- */
/* Makes made->raw: tensors of made->rows rows. One to which nothing else refers is reused. */
ht_status ht__batch_raw(ht_made *made, const ht_dataset *dataset);

/* Runs the transform on each raw tensor and moves the results to the device. */
ht_status ht__batch_transform(ht_made *made, const ht_dataset *dataset,
                              const ht_dataloader_options *options, int64_t epoch);

/* The device's next work finds the results. 0, or not 0 after the error was recorded. */
int ht__batch_join(ht_made *made, int arrays);

/* ---- ring.c: the reading thread and its queue ------------------------------------------------ */
typedef struct ht_ring {
    ht_reader *reader; /* not owned; the thread's while it runs */
    ht_made *slots;
    int size;               /* queue + 1: one slot is with the caller */
    int64_t made, released; /* batches so far, of all epochs */
    bool threaded, running, stop;
    pthread_t thread;
    pthread_mutex_t lock; /* over made, released, stop */
    pthread_cond_t not_empty, not_full;
} ht_ring;

void ht__ring_init(ht_ring *ring, ht_reader *reader, bool threaded);
void ht__ring_free(ht_ring *ring);
ht_made *ht__ring_take(ht_ring *ring); /* waits; valid until released */
void ht__ring_release(ht_ring *ring);  /* gives the taken batch back */
void ht__ring_stop(ht_ring *ring);     /* joins the thread and discards the batches read ahead */

/* ---- dataloader.c, dataloader_state.c: the caller's side ------------------------------------- */
struct ht_dataloader {
    ht_object base;
    ht_dataloader *next; /* of those alive */
    ht_dataset *dataset; /* owned; fixed */
    ht_dataloader_options options;
    ht_reader reader;
    ht_ring ring;
    int64_t epoch, batch; /* the next batch to hand out */
    ht_deal deal;         /* of this epoch; the reader may be in the next one */
    int64_t batches;      /* of the deal */
    bool holding;         /* the program has a batch */
    ht_status status;     /* of the batch that failed; then nothing more comes */
    char message[1024];
};

/* Where this rank has failed with `status` already, or fails here, all ranks do. */
ht_dataloader *ht__dataloader_new(const char *what, ht_dataset *dataset,
                                  const ht_dataloader_options *options, ht_status status);

/* Whether it is NULL: an error, on the ranks that have one too. */
bool ht__dataset_missing(const char *what, const ht_dataset *dataset);

/* Goes to the start of what `deal` (taken; NULL: everything) leaves of an epoch. */
void ht__dataloader_seek(ht_dataloader *loader, int64_t epoch, ht_deal *deal);

#endif
