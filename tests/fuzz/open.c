/* SPDX-License-Identifier: MIT
 *
 * Defects that are known and not mended yet: which statements the generator leaves out. A repair
 * removes its row. */
#include <string.h>

#include "fuzz.h"

static const struct array *first(const struct run *run, const struct statement *s)
{
    return s->arg[0] >= 0 ? &run->vars[s->arg[0]].a : NULL;
}

static const struct array *second(const struct run *run, const struct statement *s)
{
    return s->arg[1] >= 0 ? &run->vars[s->arg[1]].a : NULL;
}

/* An empty array remembers no leaf. */
static bool may_follow(const struct run *run, const struct array *x)
{
    return x->memory->tracked || (run->program->differentiates && array_size(x) == 0);
}

static bool writes_history(const struct run *run, const struct statement *s)
{
    return s->op->rules & RULE_WRITES && run->recording &&
           (may_follow(run, first(run, s)) ||
            (second(run, s) != NULL && may_follow(run, second(run, s))));
}

static const struct open_defect {
    const char *name;
    bool (*triggers)(const struct run *run, const struct statement *s);
} open_defects[] = {
    {"writes into what a graph follows", writes_history},
    {NULL, NULL},
};

bool triggers_open_defect(const struct run *run, const struct statement *s)
{
    for (const struct open_defect *defect = open_defects; defect->name != NULL; defect++) {
        if ((run->defects == NULL || strstr(defect->name, run->defects) == NULL) &&
            defect->triggers(run, s))
            return true;
    }
    return false;
}
