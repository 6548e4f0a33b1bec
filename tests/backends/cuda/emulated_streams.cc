/* SPDX-License-Identifier: MIT
 *
 * Streams of the emulated runtime, their work in queues, and events. */
#include <stdlib.h>

#include <utility>

#include "emulate.h"
#include "emulated_runtime.h"

/* Work may add to other queues, never to its own. */
void emulated_run_until(stream *s, long target)
{
    while (s->done < target && !s->work.empty()) {
        const work_piece piece = std::move(s->work.front());

        s->work.pop_front();
        if (emulated_devices[s->device].error == 0)
            piece.run();
        s->done++;
    }
}

void emulated_give(stream *s, std::function<void()> work, bool is_kernel)
{
    const bool first = is_kernel && !s->work.empty() && s->work.back().is_kernel &&
                       emulated_has_flaw("order");

    s->work.insert(s->work.end() - (first ? 1 : 0), {std::move(work), is_kernel});
    s->given++;
    if (emulated_is("EMULATED_RUN", "now"))
        emulated_run_until(s, s->given);
}

/* Kept to the end: another stream may wait for one that is freed, whose work is done then. */
static std::deque<stream> streams;

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

    emulated_run_until(s, s->given);
    return 0;
}

int ht_cuda_stream_wait(void *handle)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);

    emulated_run_until(s, s->given);
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
        emulated_give(s, [=] { emulated_run_until(e.of, e.number); });
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
    emulated_run_until(e->of, e->number);
    return emulated_devices[e->of->device].error;
}
