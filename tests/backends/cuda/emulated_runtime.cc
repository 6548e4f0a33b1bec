/* SPDX-License-Identifier: MIT
 *
 * CUDA's runtime (src/backends/cuda/runtime.h) without a GPU: eight devices, whose work waits in
 * queues until somebody waits for it.
 *
 * - EMULATED_RUN=now: does the work at once
 * - EMULATED_ORDER=forward|backward|mixed: of threads and blocks; read at each launch
 * - EMULATED_MEMORY=N: bytes that a device has, 1 GiB by default
 * - EMULATED_FAULT=N: the N-th kernel of a device accesses an address that is none
 * - EMULATED_BLAS=no: there is no cuBLAS
 * - EMULATED_DEVICES=N, EMULATED_DRIVER=N: how many devices, and what the driver knows
 * - EMULATED_FLAW=stride|order: a fault that a test must find (tests/backends/flaws.sh). An elementwise
 *   kernel steps along axis 0 of its first input by 0; or a kernel begins before the one that was
 *   launched right before it */
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/cuda/runtime.h"
#include "core/base/half.h"
#include "emulate.h"

enum {
    NOT_STAGED = 1,
    NO_MEMORY = 2,
    NO_DRIVER = 35,
    BAD_DEVICE = 101,
    BAD_STREAM = 400,
    NOT_READY = 600,
    ILLEGAL = 700,
    MAX_DEVICES = 8
};

struct work_piece {
    std::function<void()> run;
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
    size_t used, peak;
    long kernels;
    int error; /* that stays, as CUDA's do */
};

static std::recursive_mutex mutex;
static emulated_device devices[MAX_DEVICES];
static std::map<const char *, size_t> memory[MAX_DEVICES], pinned;
static thread_local int current, launch_error;

#define ALONE std::lock_guard<std::recursive_mutex> alone(mutex)

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? atol(text) : otherwise;
}

static bool is(const char *name, const char *value)
{
    const char *text = getenv(name);

    return text != NULL && strcmp(text, value) == 0;
}

bool emulated_has_flaw(const char *which)
{
    return is("EMULATED_FLAW", which);
}

static bool holds(const std::map<const char *, size_t> &blocks, const void *at)
{
    auto next = blocks.upper_bound(static_cast<const char *>(at));

    if (next == blocks.begin())
        return false;
    --next;
    return static_cast<const char *>(at) < next->first + next->second;
}

static bool is_remote(const void *at)
{
    for (const auto &blocks : memory)
        if (holds(blocks, at))
            return true;
    return false;
}

static int error_now(void)
{
    return devices[current].error;
}

/* Work may add to other queues, never to its own. */
static void run_until(stream *s, long target)
{
    while (s->done < target && !s->work.empty()) {
        const work_piece piece = std::move(s->work.front());

        s->work.pop_front();
        if (devices[s->device].error == 0)
            piece.run();
        s->done++;
    }
}

static void give(stream *s, std::function<void()> work, bool is_kernel = false)
{
    const bool first = is_kernel && !s->work.empty() && s->work.back().is_kernel &&
                       emulated_has_flaw("order");

    s->work.insert(s->work.end() - (first ? 1 : 0), {std::move(work), is_kernel});
    s->given++;
    if (is("EMULATED_RUN", "now"))
        run_until(s, s->given);
}

void emulated_launch(void *handle, std::function<void()> work)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    emulated_device *device = &devices[s->device];

    if (s->device != current) {
        launch_error = BAD_STREAM;
        return;
    }
    if (++device->kernels == number("EMULATED_FAULT", 0))
        give(s, [=] { device->error = ILLEGAL; });
    else
        give(s, std::move(work), true);
}

emulated_order emulated_get_order(void)
{
    return is("EMULATED_ORDER", "backward") ? EMULATED_BACKWARD
           : is("EMULATED_ORDER", "mixed")  ? EMULATED_MIXED
                                            : EMULATED_FORWARD;
}

const char *ht_cuda_text(int error)
{
    switch (error) {
    case NOT_STAGED:
        return "invalid argument: the memory is not pinned";
    case NO_MEMORY:
        return "out of memory";
    case NO_DRIVER:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case BAD_DEVICE:
        return "invalid device ordinal";
    case BAD_STREAM:
        return "invalid resource handle";
    case ILLEGAL:
        return "an illegal memory access was encountered";
    default:
        return "no error";
    }
}

bool ht_cuda_is_out_of_memory(int error)
{
    return error == NO_MEMORY;
}

bool ht_cuda_is_not_ready(int error)
{
    return error == NOT_READY;
}

int ht_cuda_count(int *count)
{
    *count = (int)number("EMULATED_DEVICES", MAX_DEVICES);
    return *count == 0 ? NO_DRIVER : 0;
}

int ht_cuda_versions(int *driver, int *runtime)
{
    *driver = (int)number("EMULATED_DRIVER", 13000);
    *runtime = 13000;
    return 0;
}

int ht_cuda_use(int index)
{
    if (index < 0 || index >= MAX_DEVICES)
        return BAD_DEVICE;
    current = index;
    return 0;
}

int ht_cuda_get_properties(int index, ht_cuda_properties *properties)
{
    if (index < 0 || index >= MAX_DEVICES)
        return BAD_DEVICE;
    *properties = {(size_t)number("EMULATED_MEMORY", 1 << 30), 2, 9, 0, true};
    return 0;
}

int ht_cuda_get_memory(int index, ht_cuda_memory *bytes)
{
    ALONE;
    const size_t total = (size_t)number("EMULATED_MEMORY", 1 << 30);

    *bytes = {total, total - devices[index].used, devices[index].used, devices[index].peak};
    return 0;
}

int ht_cuda_launched(void)
{
    const int error = launch_error;

    launch_error = 0;
    return error != 0 ? error : error_now();
}

/* Kept to the end: another stream may wait for one that is freed, whose work is done then. */
static std::deque<stream> streams;

int ht_cuda_stream_new(void **made)
{
    ALONE;
    streams.emplace_back();
    streams.back().device = current;
    *made = &streams.back();
    return 0;
}

int ht_cuda_stream_free(void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    run_until(s, s->given);
    return 0;
}

int ht_cuda_stream_wait(void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    run_until(s, s->given);
    return devices[s->device].error;
}

/* Asking is how time passes here. */
int ht_cuda_stream_query(void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    run_until(s, s->done + 1);
    if (devices[s->device].error != 0)
        return devices[s->device].error;
    return s->done < s->given ? NOT_READY : 0;
}

int ht_cuda_stream_after(void *handle, void *made)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    const event e = *static_cast<event *>(made);

    if (e.of != NULL)
        give(s, [=] { run_until(e.of, e.number); });
    return error_now();
}

int ht_cuda_host_call(void *handle, void (*run)(void *), void *user)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    if (s->device != current)
        return BAD_STREAM;
    give(s, [=] { run(user); });
    return error_now();
}

int ht_cuda_event_new(void **made)
{
    *made = new event{NULL, 0};
    return error_now();
}

int ht_cuda_event_free(void *made)
{
    delete static_cast<event *>(made);
    return 0;
}

int ht_cuda_event_record(void *made, void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    if (s->device != current)
        return BAD_STREAM;
    *static_cast<event *>(made) = {s, s->given};
    return error_now();
}

int ht_cuda_event_query(void *made)
{
    ALONE;
    const event *e = static_cast<event *>(made);

    if (e->of == NULL)
        return 0;
    run_until(e->of, e->of->done + 1);
    if (devices[e->of->device].error != 0)
        return devices[e->of->device].error;
    return e->of->done >= e->number ? 0 : NOT_READY;
}

int ht_cuda_event_wait(void *made)
{
    ALONE;
    const event *e = static_cast<event *>(made);

    if (e->of == NULL)
        return 0;
    run_until(e->of, e->number);
    return devices[e->of->device].error;
}

/* What is in it shows when it is read before it is written. */
int ht_cuda_malloc(void **made, size_t bytes, void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    emulated_device *device = &devices[s->device];
    const size_t room = (bytes + 255) / 256 * 256;

    if (s->device != current)
        return BAD_STREAM;
    if (device->used + room > (size_t)number("EMULATED_MEMORY", 1 << 30))
        return NO_MEMORY;
    *made = aligned_alloc(256, room);
    if (*made == NULL)
        return NO_MEMORY;
    memset(*made, 0xa5, room);
    memory[current][static_cast<char *>(*made)] = room;
    device->used += room;
    device->peak = device->used > device->peak ? device->used : device->peak;
    return device->error;
}

/* The stream's earlier work still has it. */
int ht_cuda_free(void *at, void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    auto block = memory[s->device].find(static_cast<char *>(at));

    if (s->device != current || block == memory[s->device].end())
        return BAD_STREAM;
    run_until(s, s->given);
    devices[s->device].used -= block->second;
    memory[s->device].erase(block);
    free(at);
    return 0;
}

/* The host would wait for a larger copy to memory that is not pinned, or from it. */
int ht_cuda_copy(void *to, const void *from, size_t bytes, void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    const bool from_program = !is_remote(from) && !holds(pinned, from);
    const bool to_program = !is_remote(to) && !holds(pinned, to);

    if (s->device != current)
        return BAD_STREAM;
    if (error_now() != 0)
        return error_now();
    if ((from_program || to_program) && bytes > 65536)
        return NOT_STAGED;
    if (from_program) {
        const char *first = static_cast<const char *>(from);
        const std::vector<char> staged(first, first + bytes);

        give(s, [=] { std::copy(staged.begin(), staged.end(), static_cast<char *>(to)); });
    } else {
        give(s, [=] { memmove(to, from, bytes); });
    }
    if (to_program)
        run_until(s, s->given);
    return error_now();
}

int ht_cuda_copy_peer(void *to, int to_index, const void *from, int from_index, size_t bytes,
                      void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    if (s->device != current)
        return BAD_STREAM;
    if (!holds(memory[to_index], to) || !holds(memory[from_index], from))
        return BAD_DEVICE;
    give(s, [=] { memmove(to, from, bytes); });
    return error_now();
}

int ht_cuda_blas_new(void **blas, void *handle)
{
    *blas = is("EMULATED_BLAS", "no") ? NULL : handle;
    return 0;
}

void ht_cuda_blas_free(void *)
{
}

static double element(ht_dtype dtype, const void *array, int64_t i)
{
    switch (dtype) {
    case HT_FLOAT16:
        return ht__float16_to_float(static_cast<const uint16_t *>(array)[i]);
    case HT_BFLOAT16:
        return ht__bfloat16_to_float(static_cast<const uint16_t *>(array)[i]);
    case HT_FLOAT32:
        return static_cast<const float *>(array)[i];
    default:
        return static_cast<const double *>(array)[i];
    }
}

static void set_element(ht_dtype dtype, void *array, int64_t i, double value)
{
    switch (dtype) {
    case HT_FLOAT16:
        static_cast<uint16_t *>(array)[i] = ht__float_to_float16((float)value);
        break;
    case HT_BFLOAT16:
        static_cast<uint16_t *>(array)[i] = ht__float_to_bfloat16((float)value);
        break;
    case HT_FLOAT32:
        static_cast<float *>(array)[i] = (float)value;
        break;
    default:
        static_cast<double *>(array)[i] = value;
    }
}

/* c (m, n), column-major; c is not read where beta is 0. */
static void multiply(const ht_cuda_product &p)
{
    for (int64_t i = 0; i < p.batch * p.n * p.m; i++) {
        const int64_t row = i % p.m, column = i / p.m % p.n, batch = i / p.m / p.n;
        const int64_t at = batch * p.c_step + column * p.ldc + row;
        double sum = 0;

        for (int64_t k = 0; k < p.k; k++)
            sum += element(p.dtype, p.a,
                           batch * p.a_step + (p.trans_a ? row * p.lda + k : k * p.lda + row)) *
                   element(p.dtype, p.b,
                           batch * p.b_step +
                               (p.trans_b ? k * p.ldb + column : column * p.ldb + k));
        set_element(p.dtype, p.c, at,
                    p.alpha * sum + (p.beta != 0 ? p.beta * element(p.dtype, p.c, at) : 0));
    }
}

int ht_cuda_blas_multiply(void *handle, const ht_cuda_product *given)
{
    ALONE;
    const ht_cuda_product p = *given;

    if (static_cast<stream *>(handle)->device != current)
        return BAD_STREAM;
    give(static_cast<stream *>(handle), [=] { multiply(p); });
    return error_now();
}

int ht_cuda_host_malloc(void **made, size_t bytes)
{
    ALONE;
    *made = malloc(bytes);
    if (*made == NULL)
        return NO_MEMORY;
    pinned[static_cast<char *>(*made)] = bytes;
    return 0;
}

int ht_cuda_host_free(void *at)
{
    ALONE;
    pinned.erase(static_cast<char *>(at));
    free(at);
    return 0;
}

bool ht_cuda_is_pinned(const void *at)
{
    ALONE;
    return holds(pinned, at);
}
