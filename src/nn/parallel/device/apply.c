/* SPDX-License-Identifier: MIT
 *
 * Forward of all copies at once. An output made on another thread is retained there, and belongs to
 * the caller's scope afterwards. */
#include "nn/parallel/device/device_parallel.h"

struct job {
    ht_module *module;
    ht_value *part;
    ht_value *output; /* owned until it is handed over */
};

static void run(void *user)
{
    struct job *job = user;

    job->output = ht_retain(ht_forward_value(job->module, job->part));
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
    ht_status status;

    for (int i = 0; i < count; i++) {
        jobs[i] = (struct job){.module = replicas[i], .part = parts[i]};
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
