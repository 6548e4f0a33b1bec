/* SPDX-License-Identifier: MIT
 *
 * Hooks that run before and after each step of an optimizer. */
#include "optim/optim.h"

struct ht_step_hook {
    uint64_t id;
    bool post;
    ht_step_hook_fn *run;
    void *user; /* not owned */
};

static uint64_t add(const char *what, ht_optimizer *optimizer, ht_step_hook_fn *hook, void *user,
                    bool post)
{
    if (HT_IS_NULL(optimizer, what, "optimizer"))
        return 0;
    if (hook == NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: hook is NULL", what);
        return 0;
    }
    optimizer->hooks = ht__realloc(optimizer->hooks,
                                   ((size_t)optimizer->hook_count + 1) * sizeof *optimizer->hooks);
    optimizer->hooks[optimizer->hook_count++] = (struct ht_step_hook){
        .id = ++optimizer->last_hook, .post = post, .run = hook, .user = user};
    return optimizer->last_hook;
}

uint64_t ht_optimizer_register_step_pre_hook(ht_optimizer *optimizer, ht_step_hook_fn *hook,
                                             void *user)
{
    return add("ht_optimizer_register_step_pre_hook", optimizer, hook, user, false);
}

uint64_t ht_optimizer_register_step_post_hook(ht_optimizer *optimizer, ht_step_hook_fn *hook,
                                              void *user)
{
    return add("ht_optimizer_register_step_post_hook", optimizer, hook, user, true);
}

ht_status ht_optimizer_remove_hook(ht_optimizer *optimizer, uint64_t id)
{
    static const char what[] = "ht_optimizer_remove_hook";

    if (HT_IS_NULL(optimizer, what, "optimizer"))
        return ht_error_get(NULL);
    for (int i = 0; i < optimizer->hook_count; i++) {
        if (optimizer->hooks[i].id != id)
            continue;
        for (int k = i + 1; k < optimizer->hook_count; k++)
            optimizer->hooks[k - 1] = optimizer->hooks[k];
        optimizer->hook_count--;
        return HT_SUCCESS;
    }
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: id is %llu, expected that of a hook of optimizer",
                   what, (unsigned long long)id);
}

/* The next hook of that sort after `last`: a hook may remove itself, or others. */
static const struct ht_step_hook *next_of(const ht_optimizer *optimizer, bool post, uint64_t last)
{
    for (int i = 0; i < optimizer->hook_count; i++) {
        if (optimizer->hooks[i].post == post && optimizer->hooks[i].id > last)
            return &optimizer->hooks[i];
    }
    return NULL;
}

ht_status ht__optimizer_run_hooks(ht_optimizer *optimizer, bool post)
{
    const struct ht_step_hook *hook = next_of(optimizer, post, 0);
    ht_status status = HT_SUCCESS;

    while (hook != NULL && status == HT_SUCCESS) {
        const uint64_t id = hook->id;

        status = hook->run(optimizer, hook->user);
        hook = next_of(optimizer, post, id);
    }
    return status;
}
