/* SPDX-License-Identifier: MIT
 *
 * Places in a program's code, from the return addresses of calls. */
#define _GNU_SOURCE
#include "core/base/base.h"
#include "core/base/site.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct link_map *ht__site_object(const void *address, Dl_info *info)
{
    struct link_map *object = NULL;

    return dladdr1(address, info, (void **)&object, RTLD_DL_LINKMAP) != 0 ? object : NULL;
}

/* Inside of the call, not after it. */
static ptrdiff_t offset_of(const struct link_map *object, const void *address)
{
    return (const char *)address - 1 - (const char *)object->l_addr;
}

void ht__site_name(const struct link_map *object, const void *address, char *text, size_t size)
{
    const char *name = object->l_name[0] != '\0' ? object->l_name : program_invocation_short_name;
    const char *slash = strrchr(name, '/');

    snprintf(text, size, "%s+0x%tx", slash != NULL ? slash + 1 : name, offset_of(object, address));
}

static bool ask_addr2line(const char *path, ptrdiff_t offset, char *text, size_t size)
{
    char command[1200];
    FILE *answer;
    bool known;

    if (strchr(path, '\'') != NULL)
        return false;
    snprintf(command, sizeof command, "addr2line -e '%s' %#tx 2>/dev/null", path, offset);
    answer = popen(command, "r");
    if (answer == NULL)
        return false;
    known = fgets(text, (int)size, answer) != NULL && text[0] != '?';
    pclose(answer);
    text[strcspn(text, " \n")] = '\0'; /* a discriminator may follow */
    return known;
}

void ht__site_line(const void *address, char *text, size_t size)
{
    Dl_info info;
    const struct link_map *object = ht__site_object(address, &info);
    char path[1024] = "";

    snprintf(text, size, "%p", address);
    if (object == NULL)
        return;
    if (object->l_name[0] != '\0')
        snprintf(path, sizeof path, "%s", object->l_name);
    else if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        path[0] = '\0';
    if (path[0] == '\0' || !ask_addr2line(path, offset_of(object, address), text, size))
        ht__site_name(object, address, text, size);
}

/* The innermost frame outside of the library, after those in it (a sanitizer's come first). A
 * program that has the library's objects in itself shows no border. */
void ht__site_find(void *const frames[], int count, char *caller, size_t caller_size, char *site,
                   size_t site_size)
{
    Dl_info info;
    const struct link_map *own = ht__site_object(&ht__process, &info);
    bool inside = false;

    caller[0] = site[0] = '\0';
    if (own == NULL || own->l_name[0] == '\0')
        return;
    for (int i = 0; i < count; i++) {
        const struct link_map *object = ht__site_object(frames[i], &info);

        if (object == NULL || (object != own && !inside))
            continue;
        inside = true;
        if (object != own) {
            ht__site_name(object, frames[i], site, site_size);
            return;
        }
        snprintf(caller, caller_size, "%s", info.dli_sname != NULL ? info.dli_sname : "");
    }
}

struct wanted {
    const char *name; /* without folders */
    size_t length;
    char path[1024];
};

static int find_object(struct dl_phdr_info *info, size_t size, void *user)
{
    struct wanted *wanted = user;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash != NULL ? slash + 1 : info->dlpi_name;

    (void)size;
    if (strlen(name) != wanted->length || strncmp(name, wanted->name, wanted->length) != 0)
        return 0;
    snprintf(wanted->path, sizeof wanted->path, "%s", info->dlpi_name);
    return 1;
}

void ht__site_resolve(const char *site, char *text, size_t size)
{
    const char *plus = strrchr(site, '+');
    struct wanted wanted = {.name = site};
    unsigned long offset;

    snprintf(text, size, "%s", site);
    if (plus == NULL || sscanf(plus, "+%lx", &offset) != 1)
        return;
    wanted.length = (size_t)(plus - site);
    if (strlen(program_invocation_short_name) == wanted.length &&
        strncmp(site, program_invocation_short_name, wanted.length) == 0) {
        if (readlink("/proc/self/exe", wanted.path, sizeof wanted.path - 1) < 0)
            wanted.path[0] = '\0';
    } else {
        dl_iterate_phdr(find_object, &wanted);
    }
    if (wanted.path[0] != '\0' && !ask_addr2line(wanted.path, (ptrdiff_t)offset, text, size))
        snprintf(text, size, "%s", site);
}
