/* SPDX-License-Identifier: MIT
 *
 * The graph of a tensor in the language DOT: a box for each node, an ellipse for each leaf, and
 * arrows in the direction of the forward pass. */
#include <inttypes.h>

#include "core/autograd/autograd.h"
#include "core/autograd/engine.h"

struct drawing {
    FILE *file;
    const ht_value *names;
    const ht_grad_meta *
        *leaves; /* owned; those drawn so far, not owned; their number is the index */
    int count;
};

/* Text inside of a quoted label. */
static void write_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', file);
        putc(*text, file);
    }
}

static const char *name_of(const struct drawing *drawing, const ht_grad_meta *leaf)
{
    for (int i = 0; i < ht_value_count(drawing->names); i++) {
        const char *name = ht_value_key(drawing->names, i);
        const ht_tensor *x = ht_value_as_tensor(ht_value_get(drawing->names, name));

        if (x != NULL && x->meta == leaf)
            return name;
    }
    return NULL;
}

static void write_shape(FILE *file, const ht_body *body)
{
    write_text(file, ht__shape_str(body->ndim, body->shape));
    fprintf(file, " %s", ht_dtype_name(body->dtype));
    if (body->split != HT_NONE)
        fprintf(file, " split %d", body->split);
}

/* The number of a leaf, which is drawn when it comes for the first time. */
static int leaf_number(struct drawing *drawing, const ht_grad_meta *leaf, const ht_body *body)
{
    const size_t room = (size_t)drawing->count + 1;
    const char *name;

    for (int i = 0; i < drawing->count; i++) {
        if (drawing->leaves[i] == leaf)
            return i;
    }
    drawing->leaves = ht__realloc(drawing->leaves, room * sizeof *drawing->leaves);
    drawing->leaves[drawing->count] = leaf;
    fprintf(drawing->file, "    leaf%d [label=\"", drawing->count);
    name = name_of(drawing, leaf);
    if (name != NULL) {
        write_text(drawing->file, name);
        fputs("\\n", drawing->file);
    }
    write_shape(drawing->file, body);
    fputs("\", shape=ellipse];\n", drawing->file);
    return drawing->count++;
}

static bool draw_node(const ht_node *node, void *user)
{
    struct drawing *drawing = user;
    FILE *file = drawing->file;

    fprintf(file, "    node%" PRIu64 " [label=\"", node->sequence);
    write_text(file, node->name);
    if (node->layer != NULL) {
        fputs("\\n", file);
        write_text(file, node->layer);
    }
    fputs("\"];\n", file);
    for (int i = 0; i < node->input_count; i++) {
        const ht_edge *edge = &node->inputs[i];

        if (edge->node != NULL)
            fprintf(file, "    node%" PRIu64, edge->node->sequence);
        else if (edge->leaf != NULL)
            fprintf(file, "    leaf%d", leaf_number(drawing, edge->leaf, edge->shape));
        else
            continue;
        fprintf(file, " -> node%" PRIu64 ";\n", node->sequence);
    }
    return true;
}

void ht__graph_write_dot(ht_tensor *root, const ht_value *names, FILE *file)
{
    struct drawing drawing = {.file = file, .names = names};

    fputs("digraph ht {\n    node [shape=box];\n    root [label=\"", file);
    write_shape(file, root->body);
    fputs("\", shape=plain];\n", file);
    ht__graph_walk_each(root->node, draw_node, &drawing);
    if (root->node != NULL)
        fprintf(file, "    node%" PRIu64 " -> root;\n", root->node->sequence);
    else if (root->meta != NULL && root->meta->requires_grad)
        fprintf(file, "    leaf%d -> root;\n", leaf_number(&drawing, root->meta, root->body));
    fputs("}\n", file);
    ht__free(drawing.leaves);
}
