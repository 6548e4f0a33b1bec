/* SPDX-License-Identifier: MIT
 *
 * Observers of the backward passes of a thread. An observer may leave from within its own calls. */
#include "core/autograd/autograd.h"

static _Thread_local ht_backward_observer *observers;

/* The link that points to it, or the one at the end. */
static ht_backward_observer **link_to(const ht_backward_observer *observer)
{
    ht_backward_observer **link = &observers;

    while (*link != NULL && *link != observer)
        link = &(*link)->next;
    return link;
}

void ht__backward_observe(ht_backward_observer *observer)
{
    ht_backward_observer **link = link_to(observer);

    if (*link == observer)
        return;
    observer->next = NULL;
    *link = observer;
}

void ht__backward_leave(ht_backward_observer *observer)
{
    ht_backward_observer **link = link_to(observer);

    if (*link == observer)
        *link = observer->next;
}

/* One refuses the pass: for those before it the pass had begun, and those after it get no other
 * call. */
static void tell_refused(const ht_backward_observer *refuses, ht_tensor *root)
{
    bool begun = true;

    for (ht_backward_observer *o = observers, *next; o != NULL; o = next) {
        next = o->next;
        if (o == refuses)
            begun = false;
        else if (o->failed != NULL)
            o->failed(begun, root, o->user);
    }
}

double ht__backward_begins(ht_tensor *root)
{
    double scale = 1;

    for (ht_backward_observer *o = observers, *next; o != NULL; o = next) {
        const double own = o->begins != NULL ? o->begins(root, o->user) : 1;

        next = o->next;
        if (own < 0) {
            tell_refused(o, root);
            return own;
        }
        scale *= own;
    }
    return scale;
}

void ht__backward_progress(void)
{
    for (ht_backward_observer *o = observers, *next; o != NULL; o = next) {
        next = o->next;
        if (o->progress != NULL)
            o->progress(o->user);
    }
}

bool ht__backward_failed(bool begun, ht_tensor *root)
{
    bool heard = false;

    for (ht_backward_observer *o = observers, *next; o != NULL; o = next) {
        next = o->next;
        if (o->failed == NULL)
            continue;
        o->failed(begun, root, o->user);
        heard = true;
    }
    return heard;
}
