/* SPDX-License-Identifier: MIT
 *
 * The inside of communication hooks: a bucket on its way through the rounds of a hook. */
#ifndef HT_NN_PARALLEL_DATA_REDUCER_COMM_HOOK_H
#define HT_NN_PARALLEL_DATA_REDUCER_COMM_HOOK_H

#include "ht/comm_hooks.h"
#include "nn/parallel/data/reducer/reducer.h"

typedef struct ht_hook_sum {
    ht_exchange *engine; /* not owned */
    ht_exchange_op *op;  /* NULL: not started */
    ht_tensor *x;        /* retained; NULL: the flags */
    void *data;          /* the elements to be summed */
    int64_t n;
    ht_dtype dtype, wire;
    double scale;
    bool staged;        /* the host cannot reach x: data are a copy of it, */
    ht_side_copy fetch; /* which is under way; */
    void *copy;         /* owned; NULL: in the staging of the bucket */
} ht_hook_sum;

struct ht_grad_bucket {
    ht_reducer *reducer; /* not owned */
    int number;
    ht_tensor *buffer; /* owned; the gradients of the bucket, flat */
    double scale, loss_scale;
    int round;         /* whose sums are under way */
    bool running;      /* the hook is being called */
    ht_hook_sum *sums; /* owned */
    int count, capacity;
    int started; /* of the sums, in their order */
    bool in_flight;
    uint64_t finished_at; /* on the timeline */
    ht_status status;
    char *message;        /* owned; of that failure */
    ht_grad_bucket *next; /* among those in flight, in the order they were posted */
};

/* A bucket is posted, all that are in flight are moved, and one is awaited. */
void ht__hook_post(ht_reducer *reducer, int number, double scale);
bool ht__hooks_progress(void);                          /* whether anything moved; never waits */
bool ht__hook_is_started(const ht_grad_bucket *bucket); /* what it sums in the first round */
ht_status ht__hook_wait(ht_reducer *reducer, int number, const char *what);
void ht__hook_bucket_free(ht_grad_bucket *bucket);

ht_status ht__hook_register(const char *what, ht_reducer *reducer, ht_comm_hook hook, void *state);

#endif
