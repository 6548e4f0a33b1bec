/* SPDX-License-Identifier: MIT
 *
 * Forward of all copies at once. An output made on another thread is retained there, and belongs to
 * the caller's scope afterwards. The module draws from the caller's random numbers, and each
 * further copy from a stream, so that the order of the threads changes no number. */
#include "core/ops/creation/random_stream.h"
#include "core/ops/ops.h"
#include "nn/parallel/device/device_parallel.h"

struct job {
    int part;
    uint64_t seed, draw; /* of the pass */
    ht_module *module;
    ht_value *input;
    ht_value *output; /* owned until it is handed over */
};

static void run(void *user)
{
    struct job *job = user;
    ht_random_stream stream;

    if (job->part > 0)
        ht__random_enter(&stream, HT_STREAM_REPLICA, job->seed, job->draw, (uint64_t)job->part);
    job->output = ht_retain(ht_forward_value(job->module, job->input));
    if (job->part > 0)
        ht__random_leave(&stream);
}

static ht_status first_error(const char *what, int count, const ht_device_task tasks[])
{
    for (int i = 0; i < count; i++) {
        if (tasks[i].status != HT_SUCCESS)
            return HT_FAIL(NULL, tasks[i].status, "%s: part %d of %d, on %s: %s", what, i, count,
                           ht_device_name(tasks[i].device), tasks[i].message);
    }
    return HT_SUCCESS;
}

ht_status ht__device_apply(const char *what, const ht_device_layout *layout, int count,
                           ht_module *const replicas[], ht_value *const parts[],
                           ht_value *outputs[])
{
    ht_device_task tasks[HT_MAX_REPLICAS] = {0};
    struct job jobs[HT_MAX_REPLICAS] = {0};
    uint64_t seed = 0, draw = 0;
    ht_status status;

    if (count > 1)
        ht__random_next(HT_COMM_SELF, &seed, &draw);
    for (int i = 0; i < count; i++) {
        jobs[i] = (struct job){
            .part = i, .seed = seed, .draw = draw, .module = replicas[i], .input = parts[i]};
        tasks[i] = (ht_device_task){.run = run, .user = &jobs[i], .device = layout->devices[i]};
    }
    ht__devices_run(count, tasks);
    status = first_error(what, count, tasks);
    for (int i = 0; i < count; i++) {
        outputs[i] = ht_scope_adopt(jobs[i].output);
        ht__free(tasks[i].message);
    }
    return status;
}
