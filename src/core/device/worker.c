/* SPDX-License-Identifier: MIT
 *
 * The thread of a device. It starts for its first task, sleeps between tasks, and ends in
 * ht_finalize. Virtual devices of the host compute there, so that several of them compute at the
 * same time. */
#include "core/device/worker.h"
#include "backends/cpu/cpu.h"
#include "ht/autograd.h"

/* Where a caller waits for its tasks; lives on the caller's stack. */
typedef struct ht_device_join {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    int left;
} ht_device_join;

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool on_worker;

/* The thread-local state of the library as the caller's, and back to what it was. */
static void perform(ht_device_task *task)
{
    ht_device *device = ht_get_device();
    bool grad = ht_set_grad_enabled(task->grad_enabled), held = ht__error_hold(true);
    ht_scope *scope = ht_scope_open();
    const char *message;

    ht_error_clear();
    ht_use_device(task->device);
    task->run(task->user);
    task->status = ht_error_get(&message);
    task->message = task->status != HT_SUCCESS ? ht__strdup(message) : NULL;
    ht_scope_close(scope);
    ht_use_device(device);
    ht__error_hold(held);
    ht_set_grad_enabled(grad);
}

static ht_device_task *next_task(ht_worker *worker)
{
    ht_device_task *task;

    pthread_mutex_lock(&worker->mutex);
    while (worker->first == NULL && !worker->stop)
        pthread_cond_wait(&worker->wake, &worker->mutex);
    task = worker->first;
    if (task != NULL)
        worker->first = task->next;
    pthread_mutex_unlock(&worker->mutex);
    return task;
}

static void *work(void *argument)
{
    ht_device_task *task;

    on_worker = true;
    while ((task = next_task(argument)) != NULL) {
        ht_device_join *join = task->join;

        ht__cpu_set_own_threads(task->threads);
        perform(task);
        pthread_mutex_lock(&join->mutex);
        if (--join->left == 0)
            pthread_cond_signal(&join->done);
        pthread_mutex_unlock(&join->mutex); /* the last look at task and join */
    }
    return NULL;
}

/* NULL: the system has no thread to give. */
static ht_worker *start(void)
{
    ht_worker *worker = ht__alloc(sizeof *worker);

    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->wake, NULL);
    if (pthread_create(&worker->thread, NULL, work, worker) == 0)
        return worker;
    ht__free(worker);
    return NULL;
}

static ht_worker *worker_of(ht_device *device)
{
    ht_worker *worker;

    pthread_mutex_lock(&starting);
    if (device->worker == NULL)
        device->worker = start();
    worker = device->worker;
    pthread_mutex_unlock(&starting);
    return worker;
}

static bool post(ht_device_task *task)
{
    ht_worker *worker = worker_of(task->device);

    if (worker == NULL)
        return false;
    task->next = NULL;
    pthread_mutex_lock(&worker->mutex);
    if (worker->first == NULL)
        worker->first = task;
    else
        worker->last->next = task;
    worker->last = task;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->mutex);
    return true;
}

static void run_in_turn(int count, ht_device_task tasks[])
{
    for (int i = 0; i < count; i++)
        perform(&tasks[i]);
}

static void run_together(int count, ht_device_task tasks[])
{
    ht_device_join join = {.left = count - 1};

    pthread_mutex_init(&join.mutex, NULL);
    pthread_cond_init(&join.done, NULL);
    for (int i = 1; i < count; i++) {
        tasks[i].join = &join;
        if (post(&tasks[i]))
            continue;
        perform(&tasks[i]);
        pthread_mutex_lock(&join.mutex);
        join.left--;
        pthread_mutex_unlock(&join.mutex);
    }
    perform(&tasks[0]);
    pthread_mutex_lock(&join.mutex);
    while (join.left > 0)
        pthread_cond_wait(&join.done, &join.mutex);
    pthread_mutex_unlock(&join.mutex);
    pthread_cond_destroy(&join.done);
    pthread_mutex_destroy(&join.mutex);
}

void ht__devices_run(int count, ht_device_task tasks[])
{
    int threads = ht__process.threads, share = threads / count > 0 ? threads / count : 1;

    for (int i = 0; i < count; i++) {
        tasks[i].grad_enabled = ht_is_grad_enabled();
        tasks[i].threads = share;
    }
    if (count == 1 || on_worker) {
        run_in_turn(count, tasks);
        return;
    }
    if (share < threads)
        ht__cpu_set_threads(share); /* no worker computes yet: BLAS has one number for all */
    run_together(count, tasks);
    if (share < threads)
        ht__cpu_set_threads(threads);
}
