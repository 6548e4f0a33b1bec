/* SPDX-License-Identifier: MIT
 *
 * Nodes of the graph, for the folder autograd and node.c only. */
#ifndef HT_CORE_TENSOR_NODE_H
#define HT_CORE_TENSOR_NODE_H
#include "core/tensor/graph.h"

#define HT_NODE_INLINE 4 /* inputs and saved tensors most operations get by with */

/* Where a gradient goes: to the node that made the input, or to the leaf it is. */
typedef struct ht_edge {
    ht_node *node;      /* owned */
    ht_grad_meta *leaf; /* owned */
    ht_body *shape;     /* owned metadata, so that no memory is kept alive */
} ht_edge;

typedef struct ht_saved {
    ht_body *body; /* owned; of a segment: metadata until the second run */
    unsigned version;
} ht_saved;

/* A node whose backward waits for other ranks, until it has run, or a segment whose second run
 * does. A list of all threads, newest first. */
typedef struct ht_waiting {
    ht_node *node;              /* not owned; NULL: a segment */
    ht_meeting meeting;         /* of the node */
    struct ht_segment *segment; /* not owned */
    uint64_t thread;            /* that recorded it */
    struct ht_waiting *newer, *older;
} ht_waiting;

/* A random draw or a counter, or the values of a tensor. */
typedef struct ht_replayed {
    uint64_t number;
    ht_body *body; /* owned; NULL: a number */
} ht_replayed;

/* Nodes whose saved tensors are dropped, until the first of them is read: then a second run makes
 * them again (segment.c). */
typedef struct ht_segment {
    ht_object base;
    bool (*run)(struct ht_segment *segment); /* the second run; false after an error */
    ht_node **nodes; /* owned array; not owned: in the order of the first run; NULL: freed since */
    int count, capacity;
    ht_replayed *numbers; /* owned; of the first run, in order */
    int number_count, number_capacity;
    ht_meeting *meetings;   /* owned; of the first run, in order */
    int meeting_count, met; /* met: by the second run */
    ht_waiting *waiting;    /* owned; NULL: it waits for no other rank */
    bool again, failed;     /* the second run has begun; has failed */
    bool differs;           /* the second run from the first */
} ht_segment;

struct ht_node {
    ht_object base;
    uint64_t sequence; /* order of creation on this thread */
    const char *name;  /* not owned: a literal */
    const char *layer; /* not owned, kept by the timeline: whose forward made it; NULL */
    ht_backward_fn *backward;
    int input_count, saved_count;
    ht_edge *inputs;
    ht_saved *saved;
    ht_edge inline_inputs[HT_NODE_INLINE];
    ht_saved inline_saved[HT_NODE_INLINE];
    void *context;
    size_t context_bytes;
    void *kept; /* retained, any object; until the node is given up, in a segment as well */
    ht_grad_meta *watch; /* owned; hooks on the output */
    ht_tensor *pending;  /* owned; the gradient that has arrived so far */
    ht_waiting *waiting; /* owned; NULL: it waits for no other rank */
    ht_segment *segment; /* owned; NULL: saved tensors are kept */
    int place;           /* in the segment */
    int remade;          /* saved tensors that the second run has made */
    ht_origin *origin;   /* retained; NULL: no rank asks */
    ht_node *twin;       /* not owned; of the first run, for what this one saves; NULL */
    uint64_t walk;       /* the last ht__graph_walk that came by */
    bool released;       /* a backward pass has used it up */
    bool stale;          /* an input could not be brought up to date: there will be no output */
};

/* Copies the first hook for the value of a node (its sequence; 0: of a leaf) with an id above
 * `after` and up to `last`; false where there is none. Hooks may come and go while one runs: those
 * that come have higher ids. A write in place gives the tensor another node, and what hooks of
 * before are to see is the gradient of the value of before. */
bool ht__next_hook(const ht_grad_meta *meta, uint64_t of, uint64_t after, uint64_t last,
                   ht_hook *hook);
uint64_t ht__last_hook(const ht_grad_meta *meta); /* its id; 0: there are none */

/* Backward of a write through a view, whose inputs are the earlier base and the values written to
 * its part. Also of a view of a base that was written to, whose inputs are the base and the view
 * for its place. They use rooms above this one, and are installed by ht__autograd_start. */
typedef struct ht_view_backward {
    ht_backward_fn *write, *view;
} ht_view_backward;
extern ht_view_backward ht__view_backward;

/* ht_node_new without looking at the inputs. stale: one of them could not be brought up to date. */
ht_node *ht__node_make(const char *name, ht_backward_fn *backward, int count,
                       ht_tensor *const inputs[], bool stale);

void ht__node_watch(ht_node *node, ht_grad_meta *meta);
void ht__node_empty(ht_node *node); /* drops inputs and saved tensors after a backward pass */

/* ---- waits (waits.c) ------------------------------------------------------------------------- */
/* The communicators whose ranks know of a failure; of the pass that runs on this thread. */
typedef struct ht_told {
    ht_comm **comms; /* owned array; not owned */
    int count;
} ht_told;
extern _Thread_local ht_told *ht__told_now; /* NULL: no step of a pass runs */

ht_waiting *ht__waiting_new(ht_node *node, ht_segment *segment); /* one of the two */
void ht__waiting_free(ht_waiting *gone);                         /* NULL: nothing */
bool ht__waiting_any(void);                                      /* of any thread */
/* The nodes that this thread recorded and at whose turns a pass waits; nodes: owned array of
 * retained ones. Another thread may release any of them meanwhile. */
int ht__waiting_find(ht_node ***nodes);
void ht__waiting_clear(ht_node **place);          /* in a segment that may be among them */
void ht__node_leave(ht_node *node);               /* its backward no longer waits for other ranks */
void ht__meeting_tell(const ht_meeting *meeting); /* unless that was done; the error stays */

/* ---- segments (segment.c) -------------------------------------------------------------------- */
/* A run of a segment's function on this thread, between enter and leave. */
typedef struct ht_segment_run {
    ht_segment *segment;
    bool again;                    /* the second one */
    int nodes, numbers;            /* that a second run has come to */
    struct ht_segment_run *before; /* the one that this one is in */
} ht_segment_run;
extern _Thread_local ht_segment_run *ht__segment_now;

void ht__segment_enter(ht_segment_run *run, ht_segment *segment, bool again);
bool ht__segment_leave(const ht_segment_run *run);  /* false: a second run that did other things */
void ht__segment_take(ht_node *node);               /* a new node, in a run */
void ht__segment_forget(ht_node *node);             /* a node of a segment, before it is freed */
bool ht__segment_restore(ht_segment *segment);      /* makes saved tensors; false after an error */
void ht__segment_save(ht_node *twin, ht_tensor *x); /* a node of the first run, in the second */
/* In place of the second run, after a failure: the ranks that wait in theirs get the error. */
void ht__segment_miss(ht_segment *segment);
void ht__segment_fini(ht_segment *segment);

#endif
