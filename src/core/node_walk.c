/* SPDX-License-Identifier: MIT
 *
 * What a tensor depends on: each node of its graph once, without recursion. */
#include "node.h"

static atomic_uint_fast64_t walks;

uint64_t ht__graph_new_walk(void)
{
    return atomic_fetch_add_explicit(&walks, 1, memory_order_relaxed) + 1;
}

struct stack {
    ht_node **nodes; /* borrowed: the root keeps them */
    size_t count, capacity;
};

static void push(struct stack *stack, ht_node *node, uint64_t walk)
{
    if (node == NULL || node->walk == walk)
        return;
    node->walk = walk;
    if (stack->count == stack->capacity) {
        stack->capacity = stack->capacity > 0 ? 2 * stack->capacity : 64;
        stack->nodes = ht__realloc(stack->nodes, stack->capacity * sizeof *stack->nodes);
    }
    stack->nodes[stack->count++] = node;
}

void ht__graph_walk(ht_tensor *root, uint64_t walk, ht_leaf_visit_fn *visit, void *user)
{
    struct stack stack = {0};

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
    ht__free(stack.nodes);
}
