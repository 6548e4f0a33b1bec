/* SPDX-License-Identifier: MIT
 *
 * Plans for the convolutions of a device. A network has few shapes and uses each of them in every
 * step. So cuDNN is asked once how it computes a convolution, also if the answer is that it cannot.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/library/handle.h"
#include "backends/cuda/nn/conv/dnn.h"

struct entry {
    ht_cuda_conv conv;
    ht_cuda_conv_plan plan;
};

struct ht_cuda_plans {
    pthread_mutex_t mutex; /* of what follows: several threads may use the device */
    struct ht_cuda_handle *library;
    void *dnn; /* NULL: there is none, or none yet */
    struct entry entry[HT_CUDA_PLANS], *taken;
    int used, oldest;
};

struct ht_cuda_plans *ht_cuda_plans_new(void)
{
    struct ht_cuda_plans *plans = calloc(1, sizeof *plans);

    if (plans == NULL)
        return NULL;
    plans->library = ht_cuda_handle_new("cuDNN", "convolutions", ht_cuda_dnn_new, ht_cuda_dnn_free);
    if (plans->library == NULL) {
        free(plans);
        return NULL;
    }
    pthread_mutex_init(&plans->mutex, NULL);
    return plans;
}

static void entry_free(struct ht_cuda_plans *plans, struct entry *entry)
{
    if (entry->plan.handle != NULL)
        ht_cuda_dnn_plan_free(plans->dnn, &entry->plan);
    *entry = (struct entry){.plan.handle = NULL};
}

void ht_cuda_plans_free(struct ht_cuda_plans *plans)
{
    if (plans == NULL)
        return;
    for (int i = 0; i < plans->used; i++)
        entry_free(plans, &plans->entry[i]);
    ht_cuda_handle_free(plans->library);
    pthread_mutex_destroy(&plans->mutex);
    free(plans);
}

static bool is_off(void)
{
    const char *text = getenv("HT_CUDA_CUDNN");

    return text != NULL && strcmp(text, "0") == 0;
}

static const char *name_of(int dtype)
{
    switch (dtype) {
    case HT_FLOAT16:
        return "float16";
    case HT_BFLOAT16:
        return "bfloat16";
    case HT_FLOAT32:
        return "float32";
    default:
        return "float64";
    }
}

/* For a person who looks for the cause of a slow step. */
static void tell(const ht_cuda_device *device, const struct entry *entry)
{
    static const char *const ways[] = {"forward", "backward to x", "backward to the weight"};
    const ht_cuda_conv *c = &entry->conv;

    ht_cuda_core->log(3 /* debug */,
                      "cuda:%d: cuDNN %s a convolution of %s, %s, %s: x (%d, %d, %d, %d, %d), "
                      "%d channels by (%d, %d, %d), %d groups, %zu bytes",
                      device->index, entry->plan.handle != NULL ? "does" : "does not do",
                      name_of(c->dtype), ways[c->way], c->last ? "channels-last" : "row-major",
                      c->n, c->c, c->in[0], c->in[1], c->in[2], c->o, c->kernel[0], c->kernel[1],
                      c->kernel[2], c->groups, entry->plan.bytes);
}

static struct entry *find(struct ht_cuda_plans *plans, const ht_cuda_conv *conv)
{
    for (int i = 0; i < plans->used; i++)
        if (memcmp(&plans->entry[i].conv, conv, sizeof *conv) == 0)
            return &plans->entry[i];
    return NULL;
}

/* In the place of the oldest, if there is no other. */
static struct entry *add(struct ht_cuda_plans *plans, const ht_cuda_conv *conv)
{
    struct entry *entry;

    if (plans->used < HT_CUDA_PLANS) {
        entry = &plans->entry[plans->used++];
    } else {
        entry = &plans->entry[plans->oldest];
        plans->oldest = (plans->oldest + 1) % HT_CUDA_PLANS;
    }
    entry_free(plans, entry);
    entry->conv = *conv;
    ht_cuda_dnn_plan(plans->dnn, conv, &entry->plan);
    return entry;
}

const ht_cuda_conv_plan *ht_cuda_plans_take(ht_cuda_device *device, const ht_cuda_conv *conv)
{
    struct ht_cuda_plans *plans = device->plans;

    if (is_off())
        return NULL;
    pthread_mutex_lock(&plans->mutex);
    plans->taken = NULL;
    plans->dnn = ht_cuda_handle_get(plans->library, device);
    if (plans->dnn != NULL) {
        plans->taken = find(plans, conv);
        if (plans->taken == NULL) {
            plans->taken = add(plans, conv);
            tell(device, plans->taken);
        }
    }
    if (plans->taken == NULL || plans->taken->plan.handle == NULL) {
        pthread_mutex_unlock(&plans->mutex);
        return NULL;
    }
    return &plans->taken->plan;
}

void ht_cuda_plans_let(ht_cuda_device *device)
{
    pthread_mutex_unlock(&device->plans->mutex);
}

int ht_cuda_plans_run(ht_cuda_device *device, const ht_cuda_conv_memory *memory, bool adds,
                      const char *what)
{
    struct ht_cuda_plans *plans = device->plans;
    bool done = true;
    int error = ht_cuda_dnn_run(plans->dnn, &plans->taken->plan, memory, adds, &done);

    if (done && ht_cuda_try_again(error, device->stream))
        error = ht_cuda_dnn_run(plans->dnn, &plans->taken->plan, memory, adds, &done);
    if (done && ht_cuda_is_out_of_memory(error)) { /* libht empties its cache, and calls again */
        ht_cuda_core->fail_as(HT_ERR_MEMORY, "cuda:%d: cuDNN has too little memory for %s",
                              device->index, what);
        return 1;
    }
    if (done && error == 0)
        ht_cuda_set_work(true);
    if (done)
        return ht_cuda_check(error, device, what);
    ht_cuda_dnn_plan_free(plans->dnn, &plans->taken->plan);
    plans->taken->plan.handle = NULL; /* it is refused from now on */
    tell(device, plans->taken);
    return HT_KERNEL_REFUSED;
}
