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
    ht__free(segment->nodes);
    ht__free(segment->numbers);
    ht__object_fini(segment);
}

void ht__segment_enter(ht_segment_run *run, ht_segment *segment, bool again)
{
    *run = (ht_segment_run){.segment = segment, .again = again, .before = ht__segment_now};
    ht__segment_now = run;
}

bool ht__segment_leave(const ht_segment_run *run)
{
    const ht_segment *segment = run->segment;

    ht__segment_now = run->before;
    return !run->differs &&
           (!run->again || (run->nodes == segment->count && run->numbers == segment->number_count));
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

/* A node that a pass has used up takes nothing any more. */
static void pair(ht_segment_run *run, ht_node *node)
{
    ht_node *first = run->nodes < run->segment->count ? run->segment->nodes[run->nodes] : NULL;

    run->nodes++;
    if (first == NULL)
        return;
    if (strcmp(first->name, node->name) != 0)
        run->differs = true;
    else if (!first->released)
        node->twin = first;
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
    node->segment->nodes[node->place] = NULL;
    ht_release(node->segment);
    node->segment = NULL;
}

/* What it saved was dropped, so nothing is released. */
static void save_anew(ht_node *node)
{
    if (node->saved != node->inline_saved)
        ht__free(node->saved);
    node->saved = node->inline_saved;
    node->saved_count = 0;
}

bool ht__segment_restore(ht_segment *segment)
{
    if (segment->again)
        return !segment->failed;
    segment->again = true;
    for (int i = 0; i < segment->count; i++) {
        if (segment->nodes[i] != NULL && !segment->nodes[i]->released)
            save_anew(segment->nodes[i]);
    }
    segment->failed = !segment->run(segment);
    return !segment->failed;
}

static void note(ht_segment *segment, uint64_t number)
{
    if (segment->number_count == segment->number_capacity) {
        segment->number_capacity = segment->number_capacity > 0 ? 2 * segment->number_capacity : 16;
        segment->numbers = ht__realloc(segment->numbers,
                                       (size_t)segment->number_capacity * sizeof *segment->numbers);
    }
    segment->numbers[segment->number_count++] = number;
}

/* A second run is inside no other run. A first one may be, even in a second one. */
static uint64_t replay(ht_segment_run *run, uint64_t number)
{
    if (run == NULL)
        return number;
    if (!run->again) {
        number = replay(run->before, number);
        note(run->segment, number);
        return number;
    }
    if (run->numbers == run->segment->number_count) {
        run->differs = true;
        return number;
    }
    return run->segment->numbers[run->numbers++];
}

uint64_t ht__replay(uint64_t number)
{
    return replay(ht__segment_now, number);
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
