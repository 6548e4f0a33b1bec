/* SPDX-License-Identifier: MIT
 *
 * Loading a checkpoint. Every rank reads an equal part of axis 0 of each tensor, so that no byte is
 * read twice. The checksums of the parts give those of the tensors. Only after that do the ranks
 * exchange the parts. */
#include "core/io/checkpoint/checkpoint.h"
#include "core/base/environment.h"
#include "ht/autograd.h"
#include "ht/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ht_status compare_checksums(const ht_entries *entries, const ht_target *target)
{
    for (int i = 0; i < entries->count; i++) {
        const ht_entry *entry = &entries->items[i];

        if (entry->x != NULL && entry->stored >= 0 && entry->crc != entry->stored)
            return ht__error_set(HT_ERR_FORMAT,
                                 "%s: %s is damaged: %s: its checksum is %08x, expected %08x",
                                 target->what, target->path, entry->path, (unsigned)entry->crc,
                                 (unsigned)entry->stored);
    }
    return HT_SUCCESS;
}

/* Memory may run out on one rank alone, in a file that asks for too much: all return that. */
static ht_status read_entries(const ht_target *target, bool plain, bool sealed, ht_entries *entries)
{
    bool begun = ht__agree_begin();
    ht_status status = ht__checkpoint_walk(target, plain, sealed, entries);

    return ht__agree_end(target->what, target->comm, begun, status);
}

/* One file; NULL after an error that all ranks know. `job`: it must have written it; "": any. */
static ht_value *load(const ht_target *target, bool plain, const char *job)
{
    ht_comm *comm = target->comm;
    ht_entries entries = {0};
    ht_value *value = NULL;
    ht_seal seal;
    bool sealed;
    ht_status status = ht__seal_check(target, &seal, &sealed);

    if (status == HT_SUCCESS && job[0] != '\0' && strcmp(seal.job, job) != 0)
        status = HT_FAIL(comm, HT_ERR_STATE, "%s: %s was written by another job", target->what,
                         target->path);
    if (status == HT_SUCCESS)
        status = read_entries(target, plain, sealed, &entries);
    if (status == HT_SUCCESS)
        status = ht__entries_agree(&entries, target);
    if (status == HT_SUCCESS)
        status = ht__entries_checksum(&entries, target);
    if (status == HT_SUCCESS)
        status = ht__agree(target->what, comm, compare_checksums(&entries, target));
    if (status == HT_SUCCESS) {
        value = ht__entries_value(&entries, target);
        if (ht__agree(target->what, comm, value != NULL ? HT_SUCCESS : ht_error_get(NULL)) !=
            HT_SUCCESS)
            value = NULL;
    }
    ht__entries_free(&entries);
    return value;
}

/* Rank 0's view of the files that may be loaded. */
struct candidates {
    char job[HT_SEAL_JOB]; /* that must have written it; "": any */
    char path[HT_PATH_ROOM];
    int count, ages[1024];
};

/* ht-run resumes from files that its job has written, and from no others. */
static void find_candidates(struct candidates *found, const ht_target *target)
{
    const char *job = ht__env_text(HT_ENV_HT_RESUME_JOB);
    int count;

    snprintf(found->job, sizeof found->job, "%s", job != NULL ? job : "");
    if (!ht__file_follow(target->path, found->path))
        snprintf(found->path, sizeof found->path, "%s", target->path);
    found->ages[0] = 0; /* FILE itself: its error is the one that is reported */
    ht__place_ages(found->path, found->ages + 1, 1023, &count);
    found->count = count + 1;
}

/* The newest that is good; the error of the first tried when none is. */
static ht_value *load_earlier(const ht_target *target)
{
    struct candidates *found = ht__alloc(sizeof *found);
    char name[HT_PATH_ROOM + 16], first[1024] = "";
    ht_comm *comm = target->comm;
    ht_status code = HT_ERR_IO;
    ht_value *value = NULL;
    ht_error_kept before;

    ht__error_set_aside(&before); /* another file may be intact */
    if (comm->rank == 0)
        find_candidates(found, target);
    if (ht__comm_bcast_bytes(comm, found, sizeof *found, 0, target->what) != HT_SUCCESS)
        found->count = 0;
    for (int i = 0; value == NULL && i < found->count; i++) {
        const ht_target one = {.what = target->what, .path = name, .comm = comm};
        const char *why;

        ht__place_earlier(name, sizeof name, found->path, found->ages[i]);
        value = load(&one, false, found->job);
        if (value == NULL) {
            ht_status failed = ht_error_get(&why);

            if (i == 0) {
                code = failed;
                snprintf(first, sizeof first, "%s", why);
            }
            if (comm->rank == 0)
                ht_log_write(HT_LOG_WARN, "%s", why);
        } else if (i > 0 && comm->rank == 0) {
            ht_log_write(HT_LOG_WARN, "%s: resumes from %s", target->what, name);
        }
    }
    ht_error_clear();
    ht__error_put_back(&before);
    if (value == NULL)
        ht__error_set(code, "%s", first);
    ht__free(found);
    return value;
}

static ht_value *load_either(const ht_target *target, bool plain, bool earlier)
{
    ht_errhandler handler = target->comm->handler;
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_value *value;

    target->comm->handler = HT_ERRORS_RETURN; /* one that is damaged need not be the end */
    value = earlier ? load_earlier(target) : load(target, plain, "");
    target->comm->handler = handler;
    ht_set_grad_enabled(was);
    value = ht_scope_return(scope, value);
    if (value == NULL) {
        const char *why;
        ht_status code = ht_error_get(&why);

        HT_FAIL(target->comm, code, "%s", why);
    }
    return value;
}

ht_value *ht__checkpoint_load(const ht_target *target, bool plain)
{
    return load_either(target, plain, false);
}

ht_value *ht_checkpoint_load(const char *path, ht_comm *comm, const ht_checkpoint_options *options)
{
    HT_NAMED("ht_checkpoint_load");
    const ht_target target = {.what = "ht_checkpoint_load", .path = path, .comm = comm};
    ht_checkpoint_options o = options != NULL ? *options : ht_checkpoint_options_default();

    ht_status status;
    bool begun;

    if (HT_IS_NULL(comm, target.what, "comm"))
        return NULL;
    begun = ht__agree_begin();
    status = HT_IS_NULL(path, target.what, "path")
                 ? ht_error_get(NULL)
                 : HT_CHECK_OPTIONS(comm, target.what, &o, ht_checkpoint_options);
    if (ht__agree_end(target.what, comm, begun, status) != HT_SUCCESS)
        return NULL;
    return load_either(&target, false, o.earlier);
}
