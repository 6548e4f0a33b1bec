/* SPDX-License-Identifier: MIT
 *
 * A summary: a table of the modules of a tree, which one forward pass fills. Hooks see the outputs,
 * and the weights of a layer give its operations. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ht/autograd.h"
#include "ht/factories.h"
#include "nn/module/module.h"

enum { COLUMNS = 5 };

struct row {
    ht_module *module;  /* not owned */
    char *path, *shape; /* owned; shape: of the last output; NULL: none */
    int64_t parameters, flops;
    uint64_t hook;
    bool training;
};

struct table {
    struct row *rows;
    int count;
};

static void add_row(const char *path, ht_module *module, void *user)
{
    struct table *table = user;

    table->rows = ht__realloc(table->rows, ((size_t)table->count + 1) * sizeof *table->rows);
    table->rows[table->count++] = (struct row){
        .module = module,
        .path = ht__strdup(path[0] != '\0' ? path : "(root)"),
        .parameters = ht__module_own_parameters(module),
        .training = module->training,
    };
}

static ht_tensor *first_tensor(const ht_value *value)
{
    return ht_value_count(value) > 0 ? first_tensor(ht_value_at(value, 0))
                                     : ht_value_as_tensor(value);
}

/* The weights of a layer: the tensors of its slots with at least two axes. */
static int64_t weights_of(ht_module *module, const ht_tensor **first)
{
    int64_t size = 0;

    *first = NULL;
    for (int i = 0; i < module->slot_count; i++) {
        const ht_slot_kind kind = module->slots[i].kind;
        ht_tensor *x = *ht__slot_place(module, &module->slots[i]);

        if ((kind != HT_SLOT_PARAMETER && kind != HT_SLOT_COMPUTED) || ht_tensor_ndim(x) < 2)
            continue;
        *first = *first != NULL ? *first : x;
        size += ht_tensor_size(x);
    }
    return size;
}

/* The layers whose weights are multiplied once for each place: the elements of the output, or of
 * the input, over the length of an axis of the weight. */
static const struct {
    const char *type;
    bool of_input;
    int axis;
} rules[] = {
    {"Linear", false, 0},
    {"Bilinear", false, 0},
    {"Conv1d", false, 0},
    {"Conv2d", false, 0},
    {"Conv3d", false, 0},
    {"ConvTranspose1d", true, 0},
    {"ConvTranspose2d", true, 0},
    {"ConvTranspose3d", true, 0},
    {"RNN", true, 1},
    {"LSTM", true, 1},
    {"GRU", true, 1},
};

static int64_t flops_of(ht_module *module, const ht_value *inputs, const ht_value *output)
{
    const ht_tensor *first, *x;
    const int64_t weights = weights_of(module, &first);

    for (size_t i = 0; i < sizeof rules / sizeof *rules && first != NULL; i++) {
        if (strcmp(rules[i].type, module->type->name) != 0)
            continue;
        x = first_tensor(rules[i].of_input ? inputs : output);
        return x != NULL ? 2 * weights * (ht_tensor_size(x) / ht_tensor_shape(first)[rules[i].axis])
                         : 0;
    }
    return 0;
}

static ht_value *see_output(ht_module *module, ht_value *inputs, ht_value *output, void *user)
{
    struct table *table = user;
    ht_tensor *y = first_tensor(output);

    for (int i = 0; i < table->count; i++) {
        struct row *row = &table->rows[i];

        if (row->module != module)
            continue;
        ht__free(row->shape);
        row->shape = y != NULL ? ht__strdup(ht__shape_str(ht_tensor_ndim(y), ht_tensor_shape(y)))
                               : NULL;
        row->flops += flops_of(module, inputs, output);
    }
    return NULL;
}

static ht_status run(struct table *table, ht_module *module, ht_value *inputs)
{
    ht_scope *scope = ht_scope_open();
    const bool was = ht_set_grad_enabled(false);
    ht_status status;

    for (int i = 0; i < table->count; i++) {
        struct row *row = &table->rows[i];

        row->module->training = false;
        row->hook = ht_module_register_forward_hook(row->module, see_output, table);
    }
    status = ht_forward_value(module, inputs) != NULL ? HT_SUCCESS : ht_error_get(NULL);
    for (int i = 0; i < table->count; i++) {
        struct row *row = &table->rows[i];

        row->module->training = row->training;
        ht_module_remove_hook(row->module, row->hook);
    }
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

typedef char cell[64];

static void fill_cells(const struct row *row, const char *type, cell cells[COLUMNS])
{
    snprintf(cells[0], sizeof(cell), "%s", row->path);
    snprintf(cells[1], sizeof(cell), "%s", type);
    snprintf(cells[2], sizeof(cell), "%s", row->shape != NULL ? row->shape : "-");
    snprintf(cells[3], sizeof(cell), "%" PRId64, row->parameters);
    snprintf(cells[4], sizeof(cell), "%" PRId64, row->flops);
}

/* Text is aligned left, numbers right. */
static void print_line(cell cells[COLUMNS], const int width[COLUMNS], FILE *stream)
{
    for (int k = 0; k < COLUMNS; k++)
        fprintf(stream, "%s%*s", k > 0 ? "  " : "", k < 3 ? -width[k] : width[k], cells[k]);
    fputc('\n', stream);
}

static void print_table(const struct table *table, FILE *stream)
{
    cell *lines = ht__alloc(((size_t)table->count + 2) * sizeof(cell[COLUMNS]));
    static const char *const heads[COLUMNS] = {"path", "type", "output", "parameters", "FLOPs"};
    struct row total = {.path = (char *)"total", .shape = (char *)""};
    int width[COLUMNS] = {0}, count = 0;

    for (int k = 0; k < COLUMNS; k++)
        snprintf(lines[k], sizeof(cell), "%s", heads[k]);
    for (int i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];

        fill_cells(row, row->module->type->name, lines + ++count * COLUMNS);
        total.parameters += row->parameters;
        total.flops += row->flops;
    }
    total.parameters = ht_module_parameter_count(table->rows[0].module);
    fill_cells(&total, "", lines + ++count * COLUMNS);
    for (int i = 0; i < (count + 1) * COLUMNS; i++) {
        const int length = (int)strlen(lines[i]);

        width[i % COLUMNS] = length > width[i % COLUMNS] ? length : width[i % COLUMNS];
    }
    for (int i = 0; i <= count; i++)
        print_line(lines + i * COLUMNS, width, stream);
    ht__free(lines);
}

static ht_status summary(const char *what, ht_module *module, ht_value *inputs, FILE *stream)
{
    struct table table = {0};
    ht_status status;

    if (HT_IS_NULL(module, what, "module") || HT_IS_NULL(inputs, what, "inputs") ||
        HT_IS_NULL(stream, what, "stream") || ht__module_drain(module) != HT_SUCCESS)
        return ht_error_get(NULL);
    module = ht__module_unwrapped(module);
    ht__module_walk(module, add_row, &table);
    status = run(&table, module, inputs);
    if (status == HT_SUCCESS)
        print_table(&table, stream);
    for (int i = 0; i < table.count; i++) {
        ht__free(table.rows[i].path);
        ht__free(table.rows[i].shape);
    }
    ht__free(table.rows);
    return status;
}

ht_status ht_module_summary_ext(ht_module *module, ht_value *inputs, FILE *stream)
{
    return summary("ht_module_summary_ext", module, inputs, stream);
}

static void find_floating(const char *name, ht_tensor *x, void *user)
{
    ht_tensor **found = user;

    (void)name;
    if (*found == NULL && ht_dtype_is_floating(ht_tensor_dtype(x)))
        *found = x;
}

ht_status ht_module_summary(ht_module *module, int ndim, const int64_t shape[], FILE *stream)
{
    static const char what[] = "ht_module_summary";
    ht_tensor *like = NULL, *x;
    ht_scope *scope;
    ht_status status;

    if (HT_IS_NULL(module, what, "module"))
        return ht_error_get(NULL);
    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, find_floating, &like);
    scope = ht_scope_open();
    {
        HT_NAMED(what);
        x = ht_zeros_ext(ndim, shape, like != NULL ? ht_tensor_dtype(like) : HT_FLOAT32, HT_NONE,
                         like != NULL ? like->body->storage->device : ht_get_device(),
                         HT_COMM_SELF);
    }
    status = x != NULL ? summary(what, module, ht_value_tensor(x), stream) : ht_error_get(NULL);
    ht_scope_close(scope);
    return status;
}
