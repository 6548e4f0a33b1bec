/* SPDX-License-Identifier: MIT
 *
 * Streams of the emulated runtime, their work in queues, and events. */
#include <stdlib.h>
#include <unistd.h>

#include <utility>

#include "emulate.h"
#include "emulated_runtime.h"

/* Work may add to other queues, never to its own. */
bool emulated_run_until(stream *s, long target)
{
    while (s->done < target && !s->work.empty()) {
        work_piece piece = std::move(s->work.front());

        s->work.pop_front();
        if (emulated_devices[s->device].error == 0 && !piece.run()) {
            s->work.push_front(std::move(piece));
            return false;
        }
        s->done++;
    }
    return s->done >= target;
}

void emulated_wait(stream *s, long target)
{
    while (!emulated_run_until(s, target)) {
        emulated_mutex.unlock(); /* its only lock: it is called right in the body of a call */
        usleep(50);
        emulated_mutex.lock();
    }
}

static void add(stream *s, work_piece piece, size_t before)
{
    s->work.insert(s->work.end() - (std::ptrdiff_t)before, std::move(piece));
    s->given++;
    if (emulated_is("EMULATED_RUN", "now"))
        emulated_run_until(s, s->given);
}

void emulated_give(stream *s, std::function<void()> work, bool is_kernel)
{
    const bool first = is_kernel && !s->work.empty() && s->work.back().is_kernel &&
                       emulated_has_flaw("order");

    add(s,
        {[=] {
             work();
             return true;
         },
         is_kernel},
        first ? 1 : 0);
}

void emulated_give_waiting(stream *s, std::function<bool()> work, bool first)
{
    add(s, {std::move(work), false}, first ? s->work.size() : 0);
}

/* Kept for ever: another stream may wait for one that is freed, whose work is done then, and a
 * thread may work to the end. */
static std::deque<stream> &streams = *new std::deque<stream>;

void emulated_run_all(void)
{
    for (stream &s : streams)
        emulated_run_until(&s, s.given);
}

int ht_cuda_stream_new(void **made)
{
    ALONE;
    streams.emplace_back();
    streams.back().device = emulated_current;
    *made = &streams.back();
    return 0;
}

int ht_cuda_stream_free(void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    emulated_wait(s, s->given);
    return 0;
}

int ht_cuda_stream_wait(void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    emulated_wait(s, s->given);
    return emulated_devices[s->device].error;
}

/* Asking is how time passes here. */
int ht_cuda_stream_query(void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    emulated_run_until(s, s->done + 1);
    if (emulated_devices[s->device].error != 0)
        return emulated_devices[s->device].error;
    return s->done < s->given ? NOT_READY : 0;
}

int ht_cuda_stream_after(void *handle, void *made)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    const event e = *static_cast<event *>(made);

    if (e.of != NULL)
        emulated_give_waiting(
            s, [=] { return emulated_run_until(e.of, e.number); }, false);
    return emulated_error_now();
}

int ht_cuda_host_call(void *handle, void (*run)(void *), void *user)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    if (s->device != emulated_current)
        return BAD_STREAM;
    emulated_give(s, [=] {
        emulated_in_host_call = true;
        run(user);
        emulated_in_host_call = false;
    });
    return emulated_error_now();
}

int ht_cuda_event_new(void **made)
{
    ALONE;
    *made = new event{NULL, 0};
    return emulated_error_now();
}

int ht_cuda_event_free(void *made)
{
    ALONE;
    delete static_cast<event *>(made);
    return 0;
}

int ht_cuda_event_record(void *made, void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    if (s->device != emulated_current)
        return BAD_STREAM;
    *static_cast<event *>(made) = {s, s->given};
    return emulated_error_now();
}

int ht_cuda_event_query(void *made)
{
    ALONE;
    const event *e = static_cast<event *>(made);

    if (e->of == NULL)
        return 0;
    emulated_run_until(e->of, e->of->done + 1);
    if (emulated_devices[e->of->device].error != 0)
        return emulated_devices[e->of->device].error;
    return e->of->done >= e->number ? 0 : NOT_READY;
}

int ht_cuda_event_wait(void *made)
{
    ALONE;
    const event *e = static_cast<event *>(made);

    if (e->of == NULL)
        return 0;
    emulated_wait(e->of, e->number);
    return emulated_devices[e->of->device].error;
}
