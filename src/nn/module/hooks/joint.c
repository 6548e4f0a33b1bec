/* SPDX-License-Identifier: MIT
 *
 * A joint. A node has one output, so a joint of n tensors is n + 1 nodes. The first one, whose
 * inputs are the tensors, makes a token. Each other one makes a view of a tensor, and has the token
 * as its input. In backward they keep their gradients in the joint and reach the token. The first
 * node is older than the views, so its turn comes after the last of them.
 *
 * The token's storage is the joint itself. Every node keeps the token's body, so the joint lives
 * until the last node is given up. */
#include "nn/module/hooks/joint.h"

#include "ht/factories.h"

typedef struct joint {
    ht_joint_fn *run;
    void *user; /* owned */
    const char *what;
    int count;
    ht_tensor **grads;   /* owned; those that have arrived in the pass */
    ht_device **devices; /* of the tensors */
} joint;

/* The context of each node. */
struct place {
    joint *joint;
    int index; /* of a view */
};

static void destroy(void *memory)
{
    joint *j = memory;

    for (int i = 0; i < j->count; i++)
        ht_release(j->grads[i]);
    ht__free(j->grads);
    ht__free(j->devices);
    ht_release(j->user);
    ht__free(j);
}

static void set_place(ht_node *node, joint *j, int index, ht_tensor *token)
{
    struct place *place = ht_node_context(node, sizeof *place);

    ht__node_keep(node, token->body);
    if (place != NULL)
        *place = (struct place){.joint = j, .index = index};
}

static void arrive(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const struct place *place = ht_node_context(node, 0);
    ht_tensor **kept = &place->joint->grads[place->index];

    ht_release(*kept); /* of a pass that failed */
    *kept = ht_retain(g);
    gin[0] = ht_zeros_ext(0, NULL, HT_FLOAT32, HT_NONE, ht__device_cpu(), g->body->comm);
}

/* The engine converts dtype and split. */
static bool fits(const joint *j, ht_node *node, int index, const ht_tensor *grad)
{
    const ht_body *like = ht__node_input(node, index), *body = grad->body;
    const bool numbers = ht_dtype_is_floating(body->dtype) ||
                         (ht_dtype_is_complex(body->dtype) && ht_dtype_is_complex(like->dtype));

    if (numbers && ht__body_same_shape(body, like) && ht__comm_compatible(body->comm, like->comm) &&
        body->storage->device == j->devices[index])
        return true;
    HT_FAIL(like->comm, HT_ERR_SHAPE, "%s: gradient %d of a hook is %s, expected one that fits %s",
            j->what, index, ht__body_str(body), ht__body_str(like));
    return false;
}

static void pass_on(ht_node *node, ht_tensor *unused, ht_tensor *gin[])
{
    joint *j = ((const struct place *)ht_node_context(node, 0))->joint;

    (void)unused;
    for (int i = 0; i < j->count; i++) {
        gin[i] = ht_scope_adopt(j->grads[i]);
        j->grads[i] = NULL;
    }
    j->run(gin, j->user);
    for (int i = 0; i < j->count; i++) {
        if (gin[i] != NULL && ht_node_needs(node, i) && !fits(j, node, i, gin[i]))
            return;
    }
}

static ht_tensor *view_of(const char *what, ht_tensor *x, joint *j, int index, ht_tensor *token)
{
    ht_node *node = ht_node_new(what, arrive, 1, &token);
    ht_tensor *y = ht__tensor_view(ht__body_view(x->body));

    ht__set_base(y, x);
    set_place(node, j, index, token);
    return ht_node_set_output(node, y);
}

/* Scoped; it has the joint as its memory. */
static ht_tensor *new_token(joint *j, ht_comm *comm)
{
    ht_storage *storage = ht__storage_lend(ht__device_cpu(), j, destroy, j);

    return ht__tensor_new(ht__body_on(storage, comm, HT_FLOAT32, 0, NULL, HT_NONE, NULL));
}

static ht_tensor *first_that_needs_grad(int count, ht_tensor *const tensors[])
{
    for (int i = 0; i < count && ht_is_grad_enabled(); i++) {
        if (ht_tensor_requires_grad(tensors[i]))
            return tensors[i];
    }
    return NULL;
}

ht_status ht__joint(const char *what, int count, ht_tensor *tensors[], ht_joint_fn *run, void *user,
                    bool *joined)
{
    ht_tensor *first = first_that_needs_grad(count, tensors), *token;
    ht_node *node;
    joint *j;

    *joined = first != NULL;
    if (first == NULL)
        return HT_SUCCESS;
    j = ht__alloc(sizeof *j);
    *j = (joint){.run = run, .user = ht_retain(user), .what = what, .count = count};
    j->grads = ht__alloc((size_t)count * sizeof(void *));
    j->devices = ht__alloc((size_t)count * sizeof(void *));
    for (int i = 0; i < count; i++)
        j->devices[i] = tensors[i]->body->storage->device;

    token = new_token(j, first->body->comm);
    node = ht_node_new(what, pass_on, count, tensors);
    set_place(node, j, 0, token);
    if (ht_node_set_output(node, token) == NULL)
        return ht_error_get(NULL);
    for (int i = 0; i < count; i++) {
        if (ht_tensor_requires_grad(tensors[i]))
            tensors[i] = view_of(what, tensors[i], j, i, token);
    }
    return HT_SUCCESS;
}
