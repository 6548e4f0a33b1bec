/* SPDX-License-Identifier: MIT
 *
 * Walks over a tensor's graph: each node that it depends on once, without recursion. */
#include <string.h>

#include "core/autograd/autograd.h"
#include "core/autograd/engine.h"
#include "core/tensor/node.h"

static atomic_uint_fast64_t walks;

uint64_t ht__graph_new_walk(void)
{
    return atomic_fetch_add_explicit(&walks, 1, memory_order_relaxed) + 1;
}

struct stack {
    ht_node **nodes; /* borrowed: the root keeps them */
    size_t count, capacity;
    ht_node *few[64]; /* nodes, as long as they are enough */
};

static void start(struct stack *stack)
{
    stack->nodes = stack->few;
    stack->count = 0;
    stack->capacity = sizeof stack->few / sizeof *stack->few;
}

static void grow(struct stack *stack)
{
    ht_node **nodes = stack->nodes == stack->few ? NULL : stack->nodes;

    stack->capacity *= 2;
    nodes = ht__realloc(nodes, stack->capacity * sizeof *nodes);
    if (stack->nodes == stack->few)
        memcpy(nodes, stack->few, sizeof stack->few);
    stack->nodes = nodes;
}

static void end(struct stack *stack)
{
    if (stack->nodes != stack->few)
        ht__free(stack->nodes);
}

static void push(struct stack *stack, ht_node *node, uint64_t walk)
{
    if (node == NULL || node->walk == walk)
        return;
    node->walk = walk;
    if (stack->count == stack->capacity)
        grow(stack);
    stack->nodes[stack->count++] = node;
}

void ht__graph_walk(ht_tensor *root, uint64_t walk, ht_leaf_visit_fn *visit, void *user)
{
    struct stack stack;

    start(&stack);
    if (root->node == NULL && root->meta != NULL && root->meta->requires_grad)
        visit(root->meta, user);
    push(&stack, root->node, walk);
    while (stack.count > 0) {
        ht_node *node = stack.nodes[--stack.count];

        for (int i = 0; i < node->input_count; i++) {
            if (node->inputs[i].leaf != NULL)
                visit(node->inputs[i].leaf, user);
            push(&stack, node->inputs[i].node, walk);
        }
    }
    end(&stack);
}

void ht__graph_walk_each(ht_node *from, ht_node_each_fn *visit, void *user)
{
    uint64_t walk = ht__graph_new_walk();
    struct stack stack;

    start(&stack);
    push(&stack, from, walk);
    while (stack.count > 0) {
        ht_node *node = stack.nodes[--stack.count];

        if (!visit(node, user))
            break;
        for (int i = 0; i < node->input_count; i++)
            push(&stack, node->inputs[i].node, walk);
    }
    end(&stack);
}

struct numbers {
    ht_node_visit_fn *visit;
    void *user;
};

static bool visit_number(const ht_node *node, void *user)
{
    const struct numbers *numbers = user;

    return numbers->visit(node->sequence, numbers->user);
}

void ht__graph_walk_nodes(ht_tensor *root, ht_node_visit_fn *visit, void *user)
{
    ht__graph_walk_each(root->node, visit_number, &(struct numbers){visit, user});
}
