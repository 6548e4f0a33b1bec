/* SPDX-License-Identifier: MIT
 *
 * The wrappers that ran forward on a thread, which its backward passes ask. A wrapper may be
 * released on another thread, even after the thread of its forward has ended. So the list belongs
 * to its thread and to the wrappers in it. Removing a wrapper waits until the thread does not go
 * through the list. */
#include <pthread.h>

#include "nn/parallel/data/data_parallel.h"

struct ht_dp_list {
    atomic_int holders;      /* its thread, until that ends, and the wrappers in it */
    pthread_mutex_t lock;    /* recursive */
    ht_data_parallel *first; /* in the order of their numbers, which all ranks have */
};

static _Thread_local ht_dp_list *known;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void let_go(void *held)
{
    ht_dp_list *list = held;

    if (atomic_fetch_sub(&list->holders, 1) > 1)
        return;
    pthread_mutex_destroy(&list->lock);
    ht__free(list);
}

static void end_thread(void *list)
{
    known = NULL; /* a later end of the thread may release wrappers */
    let_go(list);
}

static void make_key(void)
{
    pthread_key_create(&key, end_thread);
}

static ht_dp_list *list_new(void)
{
    ht_dp_list *list = ht__alloc(sizeof *list);
    pthread_mutexattr_t recursive;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&list->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    atomic_init(&list->holders, 1);
    pthread_once(&once, make_key);
    pthread_setspecific(key, list);
    return list;
}

ht_data_parallel *ht__dp_enter(void)
{
    if (known == NULL)
        known = list_new();
    pthread_mutex_lock(&known->lock);
    return known->first;
}

void ht__dp_exit(void)
{
    pthread_mutex_unlock(&known->lock);
}

ht_data_parallel *ht__dp_known(void)
{
    return known->first;
}

/* The link that points to it. */
static ht_data_parallel **link_to(ht_dp_list *list, const ht_data_parallel *dp)
{
    ht_data_parallel **link = &list->first;

    while (*link != dp)
        link = &(*link)->next;
    return link;
}

/* The link to the first one that was made after it. */
static ht_data_parallel **place_for(ht_dp_list *list, const ht_data_parallel *dp)
{
    ht_data_parallel **link = &list->first;

    while (*link != NULL && (*link)->reducer->number < dp->reducer->number)
        link = &(*link)->next;
    return link;
}

void ht__dp_get_known(ht_data_parallel *dp)
{
    ht_data_parallel **link;

    if (dp->list != NULL && dp->list == known)
        return;
    ht__dp_leave_known(dp);
    ht__dp_enter();
    link = place_for(known, dp);
    dp->next = *link;
    dp->list = known;
    *link = dp;
    atomic_fetch_add(&known->holders, 1);
    ht__dp_exit();
}

void ht__dp_leave_known(ht_data_parallel *dp)
{
    ht_dp_list *list = dp->list;

    if (list == NULL)
        return;
    pthread_mutex_lock(&list->lock);
    *link_to(list, dp) = dp->next;
    pthread_mutex_unlock(&list->lock);
    dp->list = NULL;
    let_go(list);
}
