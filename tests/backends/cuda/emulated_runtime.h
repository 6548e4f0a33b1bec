/* SPDX-License-Identifier: MIT
 *
 * Types and functions that the files of the emulated runtime share. */
#ifndef HT_TESTS_BACKENDS_CUDA_EMULATED_RUNTIME_H
#define HT_TESTS_BACKENDS_CUDA_EMULATED_RUNTIME_H

#include <deque>
#include <functional>
#include <mutex>

#include "backends/cuda/runtime.h"

enum {
    NOT_STAGED = 1,
    NO_MEMORY = 2,
    COPY_FAILED = 4,
    NO_DRIVER = 35,
    BAD_DEVICE = 101,
    BAD_STREAM = 400,
    NOT_READY = 600,
    ILLEGAL = 700,
    DEVICES = 8, /* unless EMULATED_DEVICES says how many */
    MAX_DEVICES = 11
};

struct work_piece {
    std::function<bool()> run; /* false: it waits for something, and is to be run again */
    bool is_kernel;
};

struct stream {
    int device;
    std::deque<work_piece> work;
    long given = 0, done = 0;
};

struct event {
    stream *of;
    long number;
};

struct emulated_device {
    size_t used, peak, kept; /* kept: freed, and still the pool's */
    long kernels;
    int error; /* that stays, as CUDA's do */
};

extern emulated_device emulated_devices[MAX_DEVICES];

/* State of the thread: its device, the last error that a call returned, and whether it runs a
 * function for ht_cuda_host_call. */
extern thread_local int emulated_current, emulated_last_error;
extern thread_local bool emulated_in_host_call;

/* Settings from the environment. */
long emulated_setting(const char *name, long otherwise);
bool emulated_is(const char *name, const char *value);

/* In the body of each call: one at a time. CUDA forbids its own calls in a function that it calls,
 * because they may wait for ever; they end the process here. */
extern std::recursive_mutex emulated_mutex;
void emulated_refuse_in_host_call(const char *name);
#define ALONE                                                    \
    std::lock_guard<std::recursive_mutex> alone(emulated_mutex); \
    emulated_refuse_in_host_call(__func__)

/* The error that stays with the thread's device. */
inline int emulated_error_now(void)
{
    return emulated_devices[emulated_current].error;
}

/* emulated_memory.cc. Takes memory of a device that is neither used nor the pool's, for good; false:
 * there is too little. */
bool emulated_take(int device, size_t bytes);

/* emulated_streams.cc. Work for a stream; work that may have to wait, `first`: before all that the
 * stream has. run_until: until `target` pieces are done, or one waits: then it is false. wait: until
 * they are done. run_all: all streams, as far as they go. */
void emulated_give(stream *s, std::function<void()> work, bool is_kernel = false);
void emulated_give_waiting(stream *s, std::function<bool()> work, bool first);
bool emulated_run_until(stream *s, long target);
void emulated_wait(stream *s, long target);
void emulated_run_all(void);

/* emulated_blas.cc: elements of an array of a floating dtype. */
double emulated_element(ht_dtype dtype, const void *array, int64_t i);
void emulated_set_element(ht_dtype dtype, void *array, int64_t i, double value);

#endif
