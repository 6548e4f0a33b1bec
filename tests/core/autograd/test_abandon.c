/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Graphs that wait for other ranks, which another thread releases while this one tells those. */
#include <pthread.h>

#include "core/autograd/autograd.h"
#include "core/tensor/node.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { GRAPHS = 500 };

static int told; /* on this thread */

static void count(const ht_meeting *meeting)
{
    (void)meeting;
    told++;
}

static ht_meeting a_meeting(void)
{
    return (ht_meeting){.tell = count, .what = "a test", .comm = ht_comm_self(), .count = 1};
}

static void no_gradient(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    (void)node;
    (void)g;
    (void)gin;
}

/* Its backward waits. */
static ht_tensor *waiting_node(ht_tensor *x)
{
    const ht_meeting meeting = a_meeting();
    ht_node *node = ht_node_new("waiting", no_gradient, HT_LIST(ht_tensor *, x));

    ht__node_waits(node, &meeting);
    return ht_node_set_output(node, ht_copy(ht_detach(x)));
}

/* Its second run waits. */
static ht_tensor *waiting_run(ht_tensor *inputs[], void *user)
{
    const ht_meeting meeting = a_meeting();

    (void)user;
    return ht__segment_meets(&meeting) ? ht_square(ht_square(inputs[0])) : NULL;
}

static void *release_all(void *graphs)
{
    for (int i = GRAPHS - 1; i >= 0; i--)
        ht_release(((ht_tensor **)graphs)[i]);
    return NULL;
}

static void lose(void)
{
    ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "no loss");
    told = 0;
    assert_int_equal(ht_backward(NULL), HT_ERR_IO);
    ht_error_clear();
}

static void another_thread_may_release_graphs_that_wait(void **state)
{
    const int64_t nodes = ht_live_objects("node"), segments = ht_live_objects("segment");
    ht_tensor *graphs[GRAPHS], *x = ht_ones(HT_SHAPE(3), HT_FLOAT32, HT_LOCAL);
    ht_scope *scope = ht_scope_open();
    pthread_t thread;

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    for (int i = 0; i < GRAPHS; i++)
        graphs[i] = ht_retain(i % 2 == 0 ? waiting_node(ht_square(x))
                                         : ht_recomputed(waiting_run, 1, &x, NULL));
    ht_scope_close(scope);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    lose();
    assert_int_equal(told, 1); /* a communicator gets the error once */
    assert_int_equal(pthread_create(&thread, NULL, release_all, graphs), 0);
    while (ht__waiting_any())
        lose();
    assert_int_equal(pthread_join(thread, NULL), 0);
    lose();
    assert_int_equal(told, 0);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    assert_int_equal(ht_live_objects("node"), nodes);
    assert_int_equal(ht_live_objects("segment"), segments);
}

HT_TEST_SUITE(test_abandon, cmocka_unit_test(another_thread_may_release_graphs_that_wait));
