/* SPDX-License-Identifier: MIT
 *
 * Segments: nodes whose saved tensors are dropped, and made again by a second run when the first of
 * them is read. The second run makes the same nodes in the same order, and what these save goes to
 * the nodes of the first run. Both runs see the same random numbers. */
#include "core/tensor/node.h"

#include <string.h>

_Thread_local ht_segment_run *ht__segment_now;

void ht__segment_fini(ht_segment *segment)
{
    ht__waiting_free(segment->waiting); /* no code reads its nodes from here on */
    ht__free(segment->nodes);
    for (int i = 0; i < segment->number_count; i++)
        ht_release(segment->numbers[i].body);
    ht__free(segment->numbers);
    ht__free(segment->meetings);
    ht__object_fini(segment);
}

void ht__segment_enter(ht_segment_run *run, ht_segment *segment, bool again)
{
    *run = (ht_segment_run){.segment = segment, .again = again, .before = ht__segment_now};
    ht__segment_now = run;
}

static bool saved_all(const ht_segment *segment)
{
    for (int i = 0; i < segment->count; i++) {
        const ht_node *node = segment->nodes[i];

        if (node != NULL && !node->released && node->remade != node->saved_count)
            return false;
    }
    return true;
}

bool ht__segment_leave(const ht_segment_run *run)
{
    const ht_segment *segment = run->segment;

    ht__segment_now = run->before;
    return !run->again || (!segment->differs && run->nodes == segment->count &&
                           run->numbers == segment->number_count &&
                           segment->met == segment->meeting_count && saved_all(segment));
}

static void append(ht_segment *segment, ht_node *node)
{
    if (segment->count == segment->capacity) {
        segment->capacity = segment->capacity > 0 ? 2 * segment->capacity : 16;
        segment->nodes = ht__realloc(segment->nodes,
                                     (size_t)segment->capacity * sizeof *segment->nodes);
    }
    node->segment = ht_retain(segment);
    node->place = segment->count;
    segment->nodes[segment->count++] = node;
}

static bool alike(const ht_body *a, const ht_body *b)
{
    return a == NULL || b == NULL ? a == b : ht__body_fits(a, b);
}

static bool are_alike(const ht_node *first, const ht_node *node)
{
    bool same = strcmp(first->name, node->name) == 0 && first->input_count == node->input_count;

    for (int i = 0; same && i < node->input_count; i++)
        same = alike(first->inputs[i].shape, node->inputs[i].shape);
    return same;
}

/* A node that a pass has used takes no more gradients. */
static void pair(ht_segment_run *run, ht_node *node)
{
    ht_node *first = run->nodes < run->segment->count ? run->segment->nodes[run->nodes] : NULL;

    run->nodes++;
    if (first == NULL || first->released)
        return;
    if (are_alike(first, node))
        node->twin = first;
    else
        run->segment->differs = true;
}

void ht__segment_take(ht_node *node)
{
    if (ht__segment_now->again)
        pair(ht__segment_now, node);
    else
        append(ht__segment_now->segment, node);
}

void ht__segment_forget(ht_node *node)
{
    ht__waiting_clear(&node->segment->nodes[node->place]);
    ht_release(node->segment);
    node->segment = NULL;
}

/* The metadata of the first run makes room. */
void ht__segment_save(ht_node *twin, ht_tensor *x)
{
    ht_saved *saved = &twin->saved[twin->remade];

    if (twin->remade == twin->saved_count || !alike(saved->body, x != NULL ? x->body : NULL)) {
        twin->segment->differs = true;
        return;
    }
    twin->remade++;
    if (x == NULL)
        return;
    ht_release(saved->body);
    *saved = (ht_saved){.body = ht_retain(x->body), .version = ht__body_version(x->body)};
}

static bool has_failed(const ht_segment *segment)
{
    if (segment->failed && ht_error_get(NULL) == HT_SUCCESS)
        HT_FAIL(NULL, HT_ERR_STATE,
                "ht_backward: f of ht_recomputed has failed in an earlier second run");
    return segment->failed;
}

/* The ranks that wait in second runs where this one has not come. */
static void tell_waiting(const ht_segment *segment)
{
    for (int i = segment->met; i < segment->meeting_count; i++)
        ht__meeting_tell(&segment->meetings[i]);
}

bool ht__segment_restore(ht_segment *segment)
{
    if (segment->again)
        return !has_failed(segment);
    segment->again = true;
    segment->failed = !segment->run(segment);
    if (segment->failed)
        tell_waiting(segment);
    return !segment->failed;
}

void ht__segment_miss(ht_segment *segment)
{
    if (segment->again || segment->meeting_count == 0)
        return;
    segment->again = segment->failed = true;
    tell_waiting(segment);
}

static void append_meeting(ht_segment *segment, const ht_meeting *meeting)
{
    segment->meetings = ht__realloc(segment->meetings, ((size_t)segment->meeting_count + 1) *
                                                           sizeof *segment->meetings);
    segment->meetings[segment->meeting_count++] = *meeting;
    if (segment->waiting == NULL)
        segment->waiting = ht__waiting_new(NULL, segment);
}

static bool is_same_meeting(const ht_meeting *a, const ht_meeting *b)
{
    return a->tell == b->tell && a->comm == b->comm && a->count == b->count;
}

static bool meet_again(ht_segment *segment, const ht_meeting *meeting)
{
    if (segment->met < segment->meeting_count &&
        is_same_meeting(&segment->meetings[segment->met], meeting)) {
        segment->met++;
        return true;
    }
    segment->differs = true;
    HT_FAIL(
        meeting->comm, HT_ERR_STATE,
        "ht_backward: f of ht_recomputed comes to %s in its second run, expected the same as in "
        "its first",
        meeting->what);
    return false;
}

bool ht__segment_meets(const ht_meeting *meeting)
{
    for (ht_segment_run *run = ht__segment_now; run != NULL; run = run->before) {
        if (!run->again)
            append_meeting(run->segment, meeting);
        else if (!meet_again(run->segment, meeting))
            return false;
    }
    return true;
}

static void note(ht_segment *segment, ht_replayed one)
{
    if (segment->number_count == segment->number_capacity) {
        segment->number_capacity = segment->number_capacity > 0 ? 2 * segment->number_capacity : 16;
        segment->numbers = ht__realloc(segment->numbers,
                                       (size_t)segment->number_capacity * sizeof *segment->numbers);
    }
    ht_retain(one.body);
    segment->numbers[segment->number_count++] = one;
}

/* A second run is inside no other run. A first one may be, even in a second one. */
static ht_replayed replay(ht_segment_run *run, ht_replayed one)
{
    const ht_replayed *first;

    if (run == NULL)
        return one;
    if (!run->again) {
        one = replay(run->before, one);
        note(run->segment, one);
        return one;
    }
    first = &run->segment->numbers[run->numbers];
    if (run->numbers == run->segment->number_count || !alike(first->body, one.body)) {
        run->segment->differs = true;
        return one;
    }
    run->numbers++;
    return *first;
}

uint64_t ht__replay(uint64_t number)
{
    return replay(ht__segment_now, (ht_replayed){.number = number}).number;
}

ht_tensor *ht__replay_tensor(ht_tensor *x)
{
    ht_body *body;

    if (x == NULL)
        return NULL;
    body = replay(ht__segment_now, (ht_replayed){.body = x->body}).body;
    return body == x->body ? x : ht__tensor_view(ht_retain(body));
}

bool ht__replaying(void)
{
    for (const ht_segment_run *run = ht__segment_now; run != NULL; run = run->before) {
        if (run->again)
            return true;
    }
    return false;
}

uint64_t ht__replay_count(uint64_t *counter)
{
    const uint64_t number = ht__replay(*counter);

    if (!ht__replaying())
        ++*counter;
    return number;
}
