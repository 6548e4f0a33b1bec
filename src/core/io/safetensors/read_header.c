/* SPDX-License-Identifier: MIT
 *
 * The text of a header, as the file's first bytes give it. */
#include "core/io/files/runs.h"
#include "core/io/safetensors/safetensors.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The format's own limit. It bounds the memory that a damaged length asks for. */
static const int64_t most_text = INT64_C(100000000);

static ht_status damaged(const char *what, const char *path, const char *why)
{
    return ht__error_set(HT_ERR_FORMAT, "%s: %s is not a safetensors file: %s", what, path, why);
}

static ht_status read_open(const char *what, const char *path, int file, ht_safetensors_raw *text)
{
    unsigned char front[HT_SAFETENSORS_FRONT];
    uint64_t length = 0;
    struct stat info;

    if (fstat(file, &info) != 0 || ht__read_at(file, front, sizeof front, 0) != 0)
        return damaged(what, path, "it has less than 8 bytes");
    for (int i = HT_SAFETENSORS_FRONT - 1; i >= 0; i--)
        length = length << 8 | front[i];
    if (length > (uint64_t)most_text)
        return damaged(what, path, "the length of its header is above 100000000 bytes");
    if ((int64_t)length > (int64_t)info.st_size - HT_SAFETENSORS_FRONT)
        return damaged(what, path, "it ends before its header does");
    text->length = (int64_t)length;
    text->left = (int64_t)info.st_size - HT_SAFETENSORS_FRONT - text->length;
    text->text = ht__alloc((size_t)length + 1);
    if (ht__read_at(file, text->text, text->length, HT_SAFETENSORS_FRONT) == 0)
        return HT_SUCCESS;
    ht__free(text->text);
    text->text = NULL;
    return damaged(what, path, "its header cannot be read");
}

ht_status ht__safetensors_read(const char *what, const char *path, ht_safetensors_raw *text)
{
    int file;
    ht_status status = ht__stored_open(what, path, &file);

    *text = (ht_safetensors_raw){0};
    if (status != HT_SUCCESS)
        return status;
    status = read_open(what, path, file, text);
    close(file);
    return status;
}

ht_status ht__safetensors_share(const char *what, ht_comm *comm, const char *path,
                                ht_safetensors_raw *text)
{
    bool begun = ht__agree_begin();
    ht_status status = HT_SUCCESS;
    int64_t sizes[2] = {0};

    *text = (ht_safetensors_raw){0};
    if (comm->rank == 0)
        status = ht__safetensors_read(what, path, text);
    status = ht__agree_end(what, comm, begun, status);
    sizes[0] = text->length;
    sizes[1] = text->left;
    if (status == HT_SUCCESS)
        status = ht__comm_bcast_bytes(comm, sizes, sizeof sizes, 0, what);
    if (status == HT_SUCCESS && comm->rank != 0)
        *text = (ht_safetensors_raw){ht__alloc((size_t)sizes[0] + 1), sizes[0], sizes[1]};
    if (status == HT_SUCCESS)
        status = ht__comm_bcast_bytes(comm, text->text, (size_t)text->length, 0, what);
    if (status != HT_SUCCESS) {
        ht__free(text->text);
        text->text = NULL;
    }
    return status;
}
