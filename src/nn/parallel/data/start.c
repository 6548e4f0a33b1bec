/* SPDX-License-Identifier: MIT
 *
 * The start of data-parallel training: checks that all ranks have the same model, and copies rank
 * 0's values to all. */
#include "core/base/environment.h"
#include "core/collective/collective.h"
#include "nn/layers/batch_norm.h"
#include "nn/parallel/data/data_parallel.h"
#include "nn/parallel/data/reducer/reducer_disjoint.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static const char what[] = "ht_nn_data_parallel";

/* A description of the model, one line for each thing that has to agree. */
struct text {
    char *data;
    size_t length, room;
    size_t settings; /* where the lines begin that are compared without init_sync, too */
    int trainable;
    ht_status status;
};

static void HT_PRINTF(2, 3) add_line(struct text *text, const char *format, ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);

    size_t more = strlen(line) + 2;

    if (text->length + more > text->room) {
        text->room = 2 * (text->length + more);
        text->data = ht__realloc(text->data, text->room);
    }
    text->length += (size_t)snprintf(text->data + text->length, more, "%s\n", line);
}

static void check_parameter(struct text *text, const char *name, const ht_tensor *x)
{
    if (x->body->comm->shared)
        text->status = ht__error_set(
            HT_ERR_COMM,
            "%s: parameter %s is on %d ranks; wrapped parameters are process-local "
            "(made on HT_COMM_SELF)",
            what, name, x->body->comm->size);
    else if (x->body->dtype != HT_FLOAT32 && x->body->dtype != HT_FLOAT64)
        text->status = ht__error_set(HT_ERR_DTYPE,
                                     "%s: parameter %s is %s, expected float32 or "
                                     "float64",
                                     what, name, ht_dtype_name(x->body->dtype));
    else if (ht__parameter_is_wrapped(x))
        text->status = ht__error_set(HT_ERR_STATE,
                                     "%s: parameter %s belongs to another data-parallel wrapper, "
                                     "and each would average its gradient; wrap a module that "
                                     "holds all its uses",
                                     what, name);
}

static void describe_parameter(const char *name, ht_tensor *x, void *user)
{
    struct text *text = user;
    bool trainable = ht_tensor_requires_grad(x);

    add_line(text, "%s %s %s%s", name, ht_dtype_name(x->body->dtype),
             ht__shape_str(x->body->ndim, x->body->shape), trainable ? "" : " (frozen)");
    if (!trainable)
        return;
    text->trainable++;
    if (text->status == HT_SUCCESS)
        check_parameter(text, name, x);
}

static void describe_buffer(const char *name, ht_tensor *x, void *user)
{
    add_line(user, "buffer %s %s %s", name, ht_dtype_name(x->body->dtype),
             ht__shape_str(x->body->ndim, x->body->shape));
}

/* An optimizer's list by the names that the module has for its parameters. */
struct listing {
    struct text *text;
    const ht_optimizer *optimizer;
    int known; /* entries that are the module's */
};

static void describe_entry(const char *name, ht_tensor *x, void *user)
{
    struct listing *listing = user;
    int entry = ht__optimizer_find(listing->optimizer, x);

    if (entry < 0)
        return;
    listing->known++;
    add_line(listing->text, "parameter %d of the optimizer %s", entry, name);
}

static void describe_optimizer(struct text *text, ht_module *module, const ht_optimizer *optimizer)
{
    struct listing listing = {.text = text, .optimizer = optimizer};
    char group[384];

    add_line(text, "optimizer %s of %d parameters", optimizer->type->name, optimizer->count);
    for (int g = 0; g < optimizer->group_count; g++) {
        ht__optimizer_describe_group(optimizer, g, group, sizeof group);
        add_line(text, "%s", group);
    }
    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, describe_entry, &listing);
    if (text->status != HT_SUCCESS)
        return;
    if (listing.known < optimizer->count)
        text->status = ht__error_set(HT_ERR_ARGUMENT,
                                     "%s: of the %d parameters of the %s optimizer, %d are not the "
                                     "module's: their gradients would not be averaged",
                                     what, optimizer->count, optimizer->type->name,
                                     optimizer->count - listing.known);
    else if (optimizer->deferral != NULL)
        text->status = ht__error_set(HT_ERR_STATE, "%s: the optimizer belongs to another wrapper",
                                     what);
}

/* A layer that waits for all ranks. */
static void describe_layer(const char *path, ht_module *module, void *user)
{
    const ht_batch_norm_layer *bn = ht__batch_norm_of(module);

    if (bn != NULL && bn->comm != NULL)
        add_line(user, "SyncBatchNorm%s%s over %d ranks", path[0] != '\0' ? " " : "", path,
                 bn->comm->size);
}

/* The environment replaces two of the options. */
static void describe_buckets(struct text *text, const ht_data_parallel_options *o)
{
    double megabytes;

    if (ht__env_number(HT_ENV_HT_BUCKET_CAP_MB, &megabytes))
        add_line(text, "buckets of %.17g MB by HT_BUCKET_CAP_MB", megabytes);
    else
        add_line(text, "buckets of %.17g and %.17g MB", o->first_bucket_mb, o->bucket_cap_mb);
}

static void describe(struct text *text, ht_module *module, const ht_data_parallel_options *o)
{
    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, describe_parameter, text);
    ht__module_walk_tensors(module, HT_SLOT_BUFFER, describe_buffer, text);
    for (int i = 0; i < o->optimizer_count; i++)
        describe_optimizer(text, module, o->optimizers[i]);
    text->settings = text->length;
    ht__module_walk(module, describe_layer, text);
    describe_buckets(text, o);
    add_line(text,
             "options blocking %d, averaging %d, views %d, broadcast_buffers %d, "
             "find_unused_parameters %d, static_graph %d, accumulation_steps %d",
             o->blocking, (int)o->averaging, o->gradient_as_bucket_view, o->broadcast_buffers,
             o->find_unused_parameters, o->static_graph, o->accumulation_steps);
}

/* The first line in which they differ. */
static ht_status compare(ht_comm *comm, const char *theirs, const char *mine)
{
    while (*mine != '\0' || *theirs != '\0') {
        size_t a = strcspn(theirs, "\n"), b = strcspn(mine, "\n");

        if (a != b || memcmp(theirs, mine, a) != 0)
            return ht__error_set(HT_ERR_ARGUMENT,
                                 "%s: the ranks differ: rank 0 has '%.*s', rank %d has '%.*s'",
                                 what, (int)a, theirs, comm->rank, (int)b, mine);
        theirs += a + (theirs[a] == '\n');
        mine += b + (mine[b] == '\n');
    }
    return HT_SUCCESS;
}

static ht_status compare_with_rank_0(ht_comm *comm, const struct text *text, size_t from)
{
    const char *mine = text->data + from;
    int64_t length = (int64_t)(text->length - from) + 1;
    ht_status status = ht__comm_bcast_bytes(comm, &length, sizeof length, 0, what);
    char *theirs;

    if (status != HT_SUCCESS)
        return status;
    theirs = ht__alloc((size_t)length);
    if (comm->rank == 0)
        memcpy(theirs, mine, (size_t)length);
    status = ht__comm_bcast_bytes(comm, theirs, (size_t)length, 0, what);
    if (status == HT_SUCCESS)
        status = compare(comm, theirs, mine);
    ht__free(theirs);
    return status;
}

struct placing {
    int device;
    struct text *text;
};

static void check_device(const char *name, ht_tensor *x, void *user)
{
    const struct placing *placing = user;
    const ht_device *device = x->body->storage->device;

    if (device->index != placing->device && placing->text->status == HT_SUCCESS)
        placing->text->status = ht__error_set(HT_ERR_DEVICE,
                                              "%s: parameter %s is on %s, but device_ids names %d",
                                              what, name, device->name, placing->device);
}

/* The checks that this rank can make on its own module and optimizers; `text` then describes them.
 */
static ht_status check_alone(ht_module *module, const ht_data_parallel_options *o,
                             struct text *text)
{
    struct placing placing = {.text = text};

    bool held = ht__error_hold(true);
    ht_status status = HT_IS_NULL(module, what, "module") ? ht_error_get(NULL)
                                                          : ht__module_check_free(what, module);

    ht__error_hold(held);
    if (status != HT_SUCCESS)
        return status;
    describe(text, module, o);
    if (o->device_id_count == 1) {
        placing.device = o->device_ids[0];
        ht__module_walk_tensors(module, HT_SLOT_PARAMETER, check_device, &placing);
    }
    if (text->trainable == 0 && text->status == HT_SUCCESS)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: no parameter of the module requires a gradient, so there is "
                             "nothing to train",
                             what);
    return text->status == HT_SUCCESS ? ht__module_check_disjoint(what, module) : text->status;
}

/* Whether the models are compared, and the state is sent, must not differ itself. */
static ht_status check_init_sync(ht_comm *comm, bool mine)
{
    int64_t range[2] = {mine, -(int64_t)mine};
    ht_status status = ht__comm_allreduce_i64(comm, range, 2, HT_OP_MIN, what);

    if (status != HT_SUCCESS || range[0] == -range[1])
        return status;
    return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: init_sync is true on some ranks and false on others",
                   what);
}

ht_status ht__dp_check(ht_module *module, ht_comm *comm, const ht_data_parallel_options *options,
                       ht_status status)
{
    struct text text = {.status = HT_SUCCESS};

    if (status == HT_SUCCESS)
        status = check_alone(module, options, &text);
    status = ht__agree(what, comm, status);
    if (status == HT_SUCCESS)
        status = check_init_sync(comm, options->init_sync);
    if (status == HT_SUCCESS)
        status = ht__agree(
            what, comm, compare_with_rank_0(comm, &text, options->init_sync ? 0 : text.settings));
    ht__free(text.data);
    return status;
}

struct broadcast {
    ht_comm *comm;
    int root;
    ht_status status;
};

static void broadcast_tensor(const char *name, ht_tensor *x, void *user)
{
    struct broadcast *broadcast = user;

    (void)name;
    if (broadcast->status != HT_SUCCESS)
        return;
    broadcast->status = ht__comm_bcast(broadcast->comm, x, broadcast->root);
    ht__storage_touch(x->body->storage);
}

ht_status ht__dp_broadcast_state(ht_module *module, ht_comm *comm, int count,
                                 ht_optimizer *const optimizers[], int root)
{
    struct broadcast broadcast = {.comm = comm, .root = root};
    ht_comm *outer = ht__together(comm);

    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, broadcast_tensor, &broadcast);
    ht__module_walk_tensors(module, HT_SLOT_BUFFER, broadcast_tensor, &broadcast);
    for (int i = 0; i < count && broadcast.status == HT_SUCCESS; i++)
        broadcast.status = ht__optimizer_broadcast(optimizers[i], comm, root);
    ht__together_end(outer);
    return broadcast.status;
}

/* Writes to new memory: a graph that still needs the old values keeps them. */
static void renew_buffer(const char *name, ht_tensor *x, void *user)
{
    struct broadcast *broadcast = user;
    ht_tensor *fresh = ht_copy(x);

    (void)name;
    if (fresh == NULL)
        broadcast->status = ht_error_get(NULL);
    if (broadcast->status == HT_SUCCESS)
        broadcast->status = ht__comm_bcast(broadcast->comm, fresh, broadcast->root);
    if (broadcast->status == HT_SUCCESS)
        broadcast->status = ht_tensor_set_(x, fresh);
}

ht_status ht__dp_broadcast_buffers(ht_module *module, ht_comm *comm, int root)
{
    struct broadcast broadcast = {.comm = comm, .root = root};
    ht_comm *outer = ht__together(comm);
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);

    ht__module_walk_tensors(module, HT_SLOT_BUFFER, renew_buffer, &broadcast);
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return broadcast.status;
}
