/* SPDX-License-Identifier: MIT
 *
 * The tree as text, as PyTorch prints it, with the number of parameters of each layer. */
#include "ht/autograd.h"
#include "nn/module/module.h"

#include <inttypes.h>
#include <string.h>

int64_t ht__module_own_parameters(ht_module *module)
{
    int64_t count = 0;

    for (int i = 0; i < module->slot_count; i++) {
        ht_slot *slot = &module->slots[i];

        if (slot->kind == HT_SLOT_PARAMETER)
            count += ht_tensor_size(*ht__slot_place(module, slot));
    }
    return count;
}

/* "  (name): Type(settings)  # 320", children inside the brackets. */
static void print_module(ht_module *module, const char *name, int depth, FILE *stream)
{
    char settings[256] = "";
    int children = ht_module_child_count(module);
    int64_t parameters = ht__module_own_parameters(module);

    ht__module_describe(module, settings, sizeof settings);
    fprintf(stream, "%*s", 2 * depth, "");
    if (name != NULL)
        fprintf(stream, "(%s): ", name);
    fprintf(stream, "%s(%s%s", module->type->name, settings, children == 0 ? ")" : "");
    if (parameters > 0)
        fprintf(stream, "  # %" PRId64, parameters);
    fputc('\n', stream);

    for (int i = 0; i < children; i++) {
        const char *child_name;
        ht_module *child = ht_module_child(module, i, &child_name);

        print_module(child, child_name, depth + 1, stream);
    }
    if (children > 0)
        fprintf(stream, "%*s)\n", 2 * depth, "");
}

static void add_trainable(const char *name, ht_tensor *tensor, void *total)
{
    (void)name;
    if (ht_tensor_requires_grad(tensor))
        *(int64_t *)total += ht_tensor_size(tensor);
}

void ht_module_print(ht_module *module, FILE *stream)
{
    int64_t trainable = 0;

    if (!HT_IS_THERE(module) || HT_IS_NULL(stream, "ht_module_print", "stream"))
        return;
    print_module(module, NULL, 0, stream);
    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, add_trainable, &trainable);
    fprintf(stream, "%" PRId64 " parameters, %" PRId64 " trainable\n",
            ht_module_parameter_count(module), trainable);
}
