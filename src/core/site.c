/* SPDX-License-Identifier: MIT
 *
 * Places in a program's code, from the addresses that calls return to. */
#define _GNU_SOURCE
#include "site.h"

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
