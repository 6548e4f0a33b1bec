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

static bool begins(const struct statement *s, const char *text)
{
    return strncmp(s->op->format, text, strlen(text)) == 0;
}

static bool writes_history(const struct run *run, const struct statement *s)
{
    return s->op->rules & RULE_WRITES && run->recording &&
           (first(run, s)->memory->tracked ||
            (second(run, s) != NULL && second(run, s)->memory->tracked));
}

static bool complex_gradient(const struct run *run, const struct statement *s)
{
    return run->program->differentiates && kind_of(s->dtype) == KIND_COMPLEX;
}

static bool copies_overlapping(const struct run *run, const struct statement *s)
{
    const struct array *a = first(run, s), *b = second(run, s);

    return begins(s, "ht_copy_(") && a->memory == b->memory &&
           (a->offset != b->offset || !same_shape(a, b) ||
            memcmp(a->stride, b->stride, sizeof a->stride) != 0);
}

static const struct open_defect {
    const char *name;
    bool (*triggers)(const struct run *run, const struct statement *s);
} open_defects[] = {
    {"writes into what a graph follows", writes_history},
    {"complex gradients are not conjugated", complex_gradient},
    {"copies between overlapping memory", copies_overlapping},
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
