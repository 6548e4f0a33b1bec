/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Drawings of graphs. */
#include <stdio.h>
#include <string.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

static const char path[] = "graph.dot";

/* The file, which rank 0 alone needs. */
static const char *text_of(void)
{
    static char text[8192];
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int count(const char *text, const char *part)
{
    int found = 0;

    while ((text = strstr(text, part)) != NULL) {
        found++;
        text += strlen(part);
    }
    return found;
}

static ht_tensor *leaf(int64_t rows, ht_dtype dtype, int split)
{
    ht_tensor *x = ht_ones(HT_SHAPE(rows, 3), dtype, split);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

/* x is drawn once for its two uses, and a constant is not drawn. */
static void a_graph_is_drawn_with_names(void **state)
{
    ht_tensor *x = leaf(4, HT_FLOAT64, 0), *bias = leaf(1, HT_FLOAT32, HT_NONE);
    ht_tensor *y = ht_sum(ht_mul(ht_add(x, bias), ht_exp(x)), HT_NONE);
    ht_value *names = ht_value_map();

    (void)state;
    ht_value_set(names, "a \"quoted\" name", ht_value_tensor(bias));
    assert_int_equal(ht_graph_dot(ht_add(y, ht_ones(0, NULL, HT_FLOAT64, HT_NONE)), names, path),
                     HT_SUCCESS);
    if (ht_test_rank == 0) {
        const char *text = text_of();

        assert_int_equal(count(text, "label=\"(4, 3) float64 split 0\", shape=ellipse"), 1);
        assert_int_equal(
            count(text, "label=\"a \\\"quoted\\\" name\\n(1, 3) float32\", shape=ellipse"), 1);
        assert_int_equal(count(text, "shape=ellipse"), 2);
        assert_int_equal(count(text, "label=\"() float64\", shape=plain"), 1);
        assert_int_equal(count(text, "label=\"ht_exp\""), 1);
        assert_int_equal(count(text, " -> node"), 7);
        assert_int_equal(count(text, " -> root"), 1);
        assert_int_equal(strncmp(text, "digraph ht {\n", 13), 0);
        assert_string_equal(text + strlen(text) - 4, ";\n}\n");
    }
    ht_test_remove(path);
}

static void operations_have_the_path_of_their_layer(void **state)
{
    ht_module *net = ht_nn_sequential(2, (ht_module *[]){ht_nn_linear(3, 2), ht_nn_tanh()});
    ht_tensor *y = ht_forward(net, ht_ones(HT_SHAPE(2, 3), HT_FLOAT32, HT_LOCAL));

    (void)state;
    assert_int_equal(ht_graph_dot(y, ht_module_state_dict(net), path), HT_SUCCESS);
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0) {
        const char *text = text_of();

        assert_int_equal(count(text, "label=\"ht_linear\\n0\"]"), 1);
        assert_int_equal(count(text, "label=\"ht_tanh\\n1\"]"), 1);
        assert_int_equal(count(text, "label=\"0.weight\\n(2, 3) float32\""), 1);
        assert_int_equal(count(text, "label=\"0.bias\\n(2,) float32\""), 1);
    }
    ht_test_remove(path);
    ht_release(net);
}

static void a_leaf_is_a_graph(void **state)
{
    (void)state;
    assert_int_equal(ht_graph_dot(leaf(2, HT_FLOAT32, HT_NONE), NULL, path), HT_SUCCESS);
    if (ht_test_rank == 0)
        assert_int_equal(count(text_of(), "    leaf0 -> root;\n"), 1);
    ht_test_remove(path);
}

static void wrong_arguments_are_refused(void **state)
{
    ht_tensor *x = leaf(2, HT_FLOAT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_graph_dot(NULL, NULL, path), HT_ERR_ARGUMENT,
                         "ht_graph_dot: x is NULL");
    HT_TEST_EXPECT_ERROR(ht_graph_dot(x, NULL, NULL), HT_ERR_ARGUMENT, "path is NULL");
    HT_TEST_EXPECT_ERROR(ht_graph_dot(x, ht_value_list(), path), HT_ERR_ARGUMENT,
                         "names is a list, expected a map");
    HT_TEST_EXPECT_ERROR(ht_graph_dot(ht_detach(x), NULL, path), HT_ERR_STATE, "expected a graph");
    HT_TEST_EXPECT_ERROR(ht_graph_dot(x, NULL, "/nowhere/x.dot"), HT_ERR_IO, "/nowhere/x.dot");
}

HT_TEST_SUITE(test_graph_dot, cmocka_unit_test(a_graph_is_drawn_with_names),
              cmocka_unit_test(operations_have_the_path_of_their_layer),
              cmocka_unit_test(a_leaf_is_a_graph), cmocka_unit_test(wrong_arguments_are_refused));
