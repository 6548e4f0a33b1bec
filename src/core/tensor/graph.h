/* SPDX-License-Identifier: MIT
 *
 * The autograd state of tensors: gradients, hooks, and the effect of writes in place on the
 * graph. */
#ifndef HT_CORE_TENSOR_GRAPH_H
#define HT_CORE_TENSOR_GRAPH_H

#include <pthread.h>

#include "core/tensor/tensor.h"
#include "ht/autograd.h"

/* The first n elements of the gradient that is being written in place are there. */
typedef void ht_grad_filling_fn(ht_tensor *leaf, int64_t n, void *user);

/* `what` is about to give the leaf the body `to`: whether it may, else the code of HT_FAIL. */
typedef ht_status ht_grad_moving_fn(const char *what, const ht_tensor *leaf, const ht_body *to,
                                    void *user);

typedef struct ht_hook {
    uint64_t id;
    uint64_t of; /* the node that had made the value it was given for, by its sequence; 0: a leaf */
    ht_tensor_hook_fn *gradient; /* one of the two */
    ht_grad_ready_fn *ready;
    ht_grad_filling_fn *filling; /* of an early hook; may be NULL */
    ht_grad_moving_fn *moving;   /* likewise */
    bool early; /* leaves the leaf as it is: the rest of its node may still need it */
    void *user;
} ht_hook;

/* The autograd state of a tensor; made when first needed. */
struct ht_grad_meta {
    ht_object base;
    bool requires_grad; /* leaf */
    ht_tensor *grad;    /* owned */
    bool overwrite;     /* the next accumulation replaces: zero_grad without freeing */
    unsigned zeroings;  /* so far, by the program: a gradient may be overwritten without one */
    ht_hook *hooks;
    int hook_count;
    ht_tensor *leaf; /* not owned; the handle this belongs to, NULL once that is released */
    atomic_int uses; /* edges of live graphs that lead here */
    bool arrived;    /* got a gradient in the running pass; ready hooks wait for its other uses */
    const int *unfinished; /* not owned; not 0: the gradient is this rank's part of one, to which
                              more passes are to add before it is used. NULL: never */
    /* The gradient is being averaged, or an update with it is due. Called before its existence is
     * queried, or another one is given. Not HT_SUCCESS: its content is invalid. NULL: neither. */
    ht_status (*coming)(void *user);
    void *coming_user;
};

static inline ht_status ht__grad_await(const ht_grad_meta *meta)
{
    return meta->coming != NULL ? meta->coming(meta->coming_user) : HT_SUCCESS;
}

/* ht_tensor_grad with a status. *grad is NULL if x has none, and not to be used after an error. */
ht_status ht__grad_get(const ht_tensor *x, ht_tensor **grad);

ht_grad_meta *ht__grad_meta(ht_tensor *x); /* made on demand */

/* zero_grad of any object: the next gradient overwrites. Nothing in the middle of an accumulation,
 * whose wrapper counts passes (`unfinished`). */
void ht__grad_zero(ht_tensor *x);
bool ht__needs_grad(const ht_tensor *x); /* leaf that requires it, or made by a node */
const ht_body *ht__node_input(const ht_node *node, int index); /* metadata only; borrowed */

/* The memory a kernel may write the gradient of a leaf to directly: the leaf's own gradient, when
 * it is to be overwritten, contiguous and unhooked. NULL: make a new tensor. The caller returns it
 * as gin[index]. */
ht_tensor *ht__grad_target(ht_node *node, int index);

/* A ready hook that only reads: it may run before the node that made the gradient has ended, and
 * `filling` (or NULL) while it makes it. `moving` (or NULL) says what memory the leaf may have. */
uint64_t ht__register_early_hook(ht_tensor *leaf, ht_grad_ready_fn *hook,
                                 ht_grad_filling_fn *filling, ht_grad_moving_fn *moving,
                                 void *user);

uint64_t ht__node_last_number(void);

/* Retains an object to which the context points, such as a body or communicator, until a backward
 * pass has used up the node. Unlike what ht_node_save takes, it stays where a function is to run
 * again. Nothing for a node NULL. */
void ht__node_keep(ht_node *node, void *object);

/* State that a second run of a function must see as the first run did (segment.c): a number, and a
 * counter, which counts in the first run only. Outside of such functions they are as given. */
uint64_t ht__replay(uint64_t number);
uint64_t ht__replay_count(uint64_t *counter); /* its value before */
ht_tensor *ht__replay_tensor(ht_tensor *x);   /* values that change between the runs: a copy */
bool ht__replaying(void);                     /* in a second run: state that has followed stays */

/* ---- origins (origin.c) -------------------------------------------------------------------------
 * A forward pass that asks later whether any node that it made is left. Otherwise no loss can come
 * to it. Each of its nodes retains it, as do the origins inside it. */
typedef struct ht_origin {
    ht_object base;
    struct ht_origin *outer; /* retained; NULL: none */
    pthread_t thread;        /* that began it */
    atomic_bool in_doubt;    /* a node was freed while an error was pending, or by another thread */
} ht_origin;
extern _Thread_local ht_origin
    *ht__origin_now; /* retained; of the nodes that are made; NULL: none */

/* begin: inside the one that is now. end: it, and those inside it that have not ended. No further
 * node is made for it, and it is released. */
ht_origin *ht__origin_begin(void);
void ht__origin_end(ht_origin *origin);
void ht__origin_leave(ht_origin *origin); /* a node is freed; NULL is ignored */

/* Whether it has ended and only one caller retains it: no node is left. Not while an error is
 * pending that may have taken the loss. */
bool ht__origin_is_over(const ht_origin *origin);

/* ---- waits (waits.c) ----------------------------------------------------------------------------
 * An exchange with other ranks in a backward pass. A rank that fails before it comes there calls
 * tell, which takes part in the exchange with an error, so that all ranks get one. */
typedef struct ht_meeting ht_meeting;
struct ht_meeting {
    void (*tell)(const ht_meeting *meeting);
    const char *what; /* from ht__name, or a literal */
    ht_comm *comm;    /* not owned; the node keeps it */
    int64_t count;    /* of whatever is exchanged, for tell */
};

/* The backward of this node makes this exchange. */
void ht__node_waits(ht_node *node, const ht_meeting *meeting);

/* This rank comes to an exchange that a second run makes again (segment.c). False after an error:
 * a second run comes to another exchange than the first one. Then the caller leaves it out. */
bool ht__segment_meets(const ht_meeting *meeting);

/* Whether the ranks of a communicator know of a failure in the pass that runs: then they make no
 * exchange. An exchange that brings an error says that they know. Outside of a pass none does. */
bool ht__is_told(const ht_comm *comm);
void ht__told(ht_comm *comm);

/* ---- writes in place (history.c) ----------------------------------------------------------------
 * A function that writes to x checks first, x brought up to date; writes; and says what the graph
 * is to know of it. Refused are read-only views and, while recording, leaves that require gradients
 * and views of them. values: the tensor to be written, where it may need a gradient. */
ht_status ht__check_in_place(const char *what, const char *name, ht_tensor *x,
                             const ht_tensor *values);
void ht__written(const char *what, ht_tensor *x, ht_node *node); /* node: taken; NULL: constants */
bool ht__has_history(const ht_tensor *x);                        /* it, or what it is a view of */

/* Whether a backward function may write its result over the gradient it was given: there is no
 * other reference to the handle, the body or the memory. Saves a pass over fresh memory. */
bool ht__may_overwrite(const ht_tensor *grad);

/* y was made as a view of x. */
void ht__set_base(ht_tensor *y, ht_tensor *x);
/* y is a view of memory without another reference, so it does not count as a view. */
ht_tensor *ht__without_base(ht_tensor *y);

/* Whether no write through another handle came after x's node was made; makes it so, or false after
 * the error. ht_node_new does it with its inputs. */
static inline bool ht__is_current(const ht_tensor *x)
{
    return x->history == x->body->storage->history;
}
bool ht__catch_up(const char *what, const char *name, ht_tensor *x);

#endif
