/* SPDX-License-Identifier: MIT
 *
 * The thread of a device. */
#ifndef HT_CORE_DEVICE_WORKER_H
#define HT_CORE_DEVICE_WORKER_H

#include <pthread.h>

#include "core/device/device.h"

typedef struct ht_worker {
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t wake;
    ht_device_task *first, *last;
    bool stop;
} ht_worker;

#endif
