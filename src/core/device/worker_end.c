/* SPDX-License-Identifier: MIT
 *
 * The end of the thread of a device. */
#include "core/device/worker.h"

void ht__device_stop(ht_device *device)
{
    ht_worker *worker = device->worker;

    if (worker == NULL)
        return;
    pthread_mutex_lock(&worker->mutex);
    worker->stop = true;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->mutex);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->mutex);
    ht__free(worker);
    device->worker = NULL;
}
