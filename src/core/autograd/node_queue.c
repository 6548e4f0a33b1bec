/* SPDX-License-Identifier: MIT
 *
 * The nodes that a backward pass is to come to: a heap in which the latest is on top. */
#include "core/autograd/engine.h"

void ht__queue_push(ht_node_queue *queue, ht_node *node)
{
    size_t i = queue->count++;

    if (queue->count > queue->capacity) {
        queue->capacity = queue->capacity > 0 ? 2 * queue->capacity : 64;
        queue->nodes = ht__realloc(queue->nodes, queue->capacity * sizeof *queue->nodes);
    }
    for (; i > 0 && queue->nodes[(i - 1) / 2]->sequence < node->sequence; i = (i - 1) / 2)
        queue->nodes[i] = queue->nodes[(i - 1) / 2];
    queue->nodes[i] = ht_retain(node);
}

ht_node *ht__queue_pop(ht_node_queue *queue)
{
    ht_node *top = queue->nodes[0], *last = queue->nodes[--queue->count];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < queue->count) {
        if (child + 1 < queue->count &&
            queue->nodes[child + 1]->sequence > queue->nodes[child]->sequence)
            child++;
        if (queue->nodes[child]->sequence < last->sequence)
            break;
        queue->nodes[i] = queue->nodes[child];
        i = child;
    }
    queue->nodes[i] = last;
    return top;
}

void ht__queue_keep(ht_node_queue *queue, void *object)
{
    if (queue->kept_count == queue->kept_capacity) {
        queue->kept_capacity = queue->kept_capacity > 0 ? 2 * queue->kept_capacity : 8;
        queue->kept = ht__realloc(queue->kept, queue->kept_capacity * sizeof *queue->kept);
    }
    queue->kept[queue->kept_count++] = ht_retain(object);
}

void ht__queue_free(ht_node_queue *queue)
{
    for (size_t i = 0; i < queue->kept_count; i++)
        ht_release(queue->kept[i]);
    ht__free(queue->kept);
    ht__free(queue->nodes);
    ht__free(queue->told.comms);
}
