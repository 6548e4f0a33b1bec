/* SPDX-License-Identifier: MIT
 *
 * Every way to read a parameter or a gradient just after a step, and to write to one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/train/train.h"

void note(struct training *t, const char *name, double value)
{
    struct notes *notes = t->notes;

    if (notes->count == MAX_NOTES)
        return;
    notes->value[notes->count] = value;
    notes->name[notes->count++] = name;
}

void note_tensor(struct training *t, const char *name, ht_tensor *x)
{
    const double *data = values_of(x);

    if (x == NULL || ht_tensor_dtype(x) != HT_FLOAT64)
        return;
    for (int64_t i = 0; i < ht_tensor_size(x); i++)
        note(t, name, data[i]);
}

bool went(struct training *t, const char *what, ht_status status)
{
    const char *message;

    if (status == HT_SUCCESS)
        return t->notes->trouble[0] == '\0';
    ht_error_get(&message);
    if (t->notes->trouble[0] == '\0')
        snprintf(t->notes->trouble, sizeof t->notes->trouble, "step %d, %s: %s", t->step, what,
                 message);
    ht_error_clear();
    return false;
}

static const char *path_of(const struct training *t, const char *name)
{
    static char path[512];
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/train-%s-%d.h5", fuzz_folder, name, rank);
    (void)t;
    return path;
}

/* Saved by this rank alone, and read back. */
static void read_file(struct training *t, const char *name, ht_tensor *x)
{
    const char *path = path_of(t, "tensor");

    if (x == NULL || !went(t, "ht_save_hdf5", ht_save_hdf5(x, path, "x", "w")))
        return;
    ht_use_comm(HT_COMM_SELF);
    x = ht_load_hdf5(path, "x", HT_FLOAT64, HT_NONE);
    ht_use_comm(HT_COMM_WORLD);
    went(t, "ht_load_hdf5", x != NULL ? HT_SUCCESS : ht_error_get(NULL));
    note_tensor(t, name, x);
    unlink(path);
}

/* The state map that was made before training began. */
static void read_checkpoint(struct training *t)
{
    ht_comm *comm = t->mode == MODE_ONE ? HT_COMM_SELF : HT_COMM_WORLD;
    char path[512];
    ht_value *loaded;

    if (t->mode == MODE_ONE)
        snprintf(path, sizeof path, "%s", path_of(t, "state"));
    else
        snprintf(path, sizeof path, "%s/train-state.h5", fuzz_folder);
    if (!went(t, "ht_checkpoint_save", ht_checkpoint_save(t->state, path, comm, NULL)))
        return;
    loaded = ht_checkpoint_load(path, comm, NULL);
    went(t, "ht_checkpoint_load", loaded != NULL ? HT_SUCCESS : ht_error_get(NULL));
    note_tensor(t, "last.bias in a checkpoint",
                ht_value_as_tensor(ht_value_get(loaded, "last.bias")));
    ht_barrier(comm);
    if (t->mode == MODE_ONE || ht_comm_rank(comm) == 0)
        unlink(path);
}

static void read_text(struct training *t, ht_tensor *x)
{
    char *text = ht_tensor_str(x);

    for (const char *c = text; c != NULL && *c != '\0'; c++)
        note(t, "a character of ht_tensor_str", *c);
    free(text);
}

static void read_clone(struct training *t)
{
    ht_module *clone = ht_module_clone(t->net);

    if (went(t, "ht_module_clone", clone != NULL ? HT_SUCCESS : ht_error_get(NULL)))
        note_tensor(t, "first.bias of a clone", ht_module_find_parameter(clone, "first.bias"));
    ht_release(clone);
}

static ht_tensor *sent_around(ht_tensor *x)
{
    bool was = ht_set_grad_enabled(false);
    ht_tensor *sent = ht_mul_scalar(x, 1.0 + ht_comm_rank(HT_COMM_WORLD));

    ht_bcast(HT_COMM_WORLD, sent, ht_comm_size(HT_COMM_WORLD) - 1);
    ht_set_grad_enabled(was);
    return sent;
}

void read_somehow(struct training *t)
{
    ht_tensor *last = ht_value_as_tensor(ht_value_get(t->state, "last.bias"));
    ht_tensor *first = ht_module_find_parameter(t->net, "first.bias");
    ht_value *list;

    switch (t->plan->knob[KNOB_READ]) {
    case 1:
        note_tensor(t, "last.bias of an old state map", last);
        return;
    case 2:
        read_file(t, "last.bias saved", last);
        return;
    case 3:
        read_checkpoint(t);
        return;
    case 4:
        note_tensor(t, "a sum of last.bias", ht_sum(last, HT_NONE));
        note_tensor(t, "a copy of first.bias", ht_copy(first));
        return;
    case 5:
        if (t->mode != MODE_ONE) /* its text has fewer digits than its values */
            read_text(t, first);
        return;
    case 6:
        read_file(t, "the gradient of last.bias saved", ht_tensor_grad(last));
        return;
    case 7:
        note_tensor(t, "the gradient of first.bias", ht_tensor_grad(first));
        return;
    case 8:
        list = ht_optimizer_state_dict(t->optimizers[0]);
        note(t, "entries of the optimizer's state", ht_value_count(list));
        note_tensor(t, "first.bias", first);
        return;
    case 9:
        ht_module_eval(t->model);
        note_tensor(t, "first.bias in evaluation", first);
        ht_module_train(t->model);
        return;
    case 10:
        note_tensor(t, "an early view of last.bias", t->view);
        return;
    case 11:
        read_file(t, "first.bias saved", first);
        return;
    case 12:
        read_clone(t);
        return;
    case 13:
        if (t->mode != MODE_ONE)
            note_tensor(t, "what other ranks see of last.bias", sent_around(last));
        return;
    default:
        return;
    }
}

void write_somehow(struct training *t)
{
    ht_tensor *bias = ht_module_find_parameter(t->net, "last.bias");
    bool was = ht_set_grad_enabled(false);
    ht_value *state;

    switch (t->plan->knob[KNOB_WRITE]) {
    case 1:
        went(t, "ht_fill_", ht_fill_(bias, 0.25));
        break;
    case 2:
        ht_nn_seed(t->plan->seed);
        went(t, "ht_nn_init_uniform", ht_nn_init_uniform(bias, -1, 1));
        break;
    case 3:
        state = ht_value_map();
        for (int i = 0; i < ht_value_count(t->state); i++)
            ht_value_set(
                state, ht_value_key(t->state, i),
                ht_value_tensor(ht_mul_scalar(ht_value_as_tensor(ht_value_at(t->state, i)), 0.5)));
        went(t, "ht_module_load_state_dict", ht_module_load_state_dict(t->net, state));
        break;
    case 4:
        ht_nn_seed(t->plan->seed);
        went(t, "ht_nn_init_kaiming_uniform",
             ht_nn_init_kaiming_uniform(ht_module_find_parameter(t->net, "last.weight"), 1));
        break;
    case 5:
        went(t, "ht_mul_scalar_ of a view", ht_mul_scalar_(t->view, 0.5));
        break;
    case 6:
        went(t, "ht_copy_", ht_copy_(bias, ht_mul_scalar(bias, 0.25)));
        break;
    case 7:
        if (t->mode != MODE_ONE)
            went(t, "ht_average_parameters", ht_average_parameters(t->parameters, HT_COMM_WORLD));
        break;
    default:
        break;
    }
    ht_set_grad_enabled(was);
}
