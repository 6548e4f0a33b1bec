/* SPDX-License-Identifier: MIT
 *
 * Writing the seal of a checkpoint, and checking it before the file's content is used. Each rank
 * computes the checksum of an equal part of the bytes; that of the file follows (crc32_combine). */
#include "core/io/checkpoint/checkpoint.h"
#include "core/base/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

static uint32_t own_crc(const ht_seal *seal)
{
    return (uint32_t)crc32(0, (const Bytef *)(const void *)seal, sizeof *seal - sizeof seal->own);
}

static ht_status damaged(const ht_target *target, const char *why)
{
    return ht__error_set(HT_ERR_FORMAT, "%s: %s is damaged: %s", target->what, target->path, why);
}

static ht_status unreadable(const ht_target *target)
{
    return ht__error_set(HT_ERR_IO, "%s: cannot read %s: %s", target->what, target->path,
                         strerror(errno));
}

/* When a process of this machine was started, in ticks since the machine was; 0: no running
 * process, or unknown. A number alone may be another process by now. */
static int64_t start_of(int64_t process)
{
    char name[64], text[1024], *at;
    size_t length;
    FILE *file;

    snprintf(name, sizeof name, "/proc/%lld/stat", (long long)process);
    file = fopen(name, "r");
    if (file == NULL)
        return 0;
    length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    at = strrchr(text, ')'); /* of the program's name, which may hold anything */
    if (at == NULL || strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0)
        return 0; /* it has ended, and its parent has not looked */
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoll(at, NULL, 10) : 0;
}

void ht__seal_begin(ht_seal *seal)
{
    static int64_t number;
    const char *job = ht__env_text(HT_ENV_HT_JOB);

    memset(seal, 0, sizeof *seal);
    memcpy(seal->magic, HT_SEAL_MAGIC, sizeof seal->magic);
    seal->order = HT_SEAL_ORDER;
    seal->format = HT_CHECKPOINT_FORMAT;
    snprintf(seal->job, sizeof seal->job, "%s", job != NULL ? job : "");
    seal->process = getpid();
    seal->started = start_of(getpid());
    seal->number = ++number;
    gethostname(seal->host, sizeof seal->host - 1);
    seal->own = own_crc(seal);
}

/* Reads the seal of the file at path; false: it has none. */
static bool read_seal(const char *path, ht_seal *seal)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool good = file >= 0 && pread(file, seal, sizeof *seal, 0) == sizeof *seal &&
                memcmp(seal->magic, HT_SEAL_MAGIC, sizeof seal->magic) == 0 &&
                seal->own == own_crc(seal);

    if (file >= 0)
        close(file);
    return good;
}

int64_t ht__seal_writer(const char *part)
{
    const char *job = ht__env_text(HT_ENV_HT_JOB);
    char host[sizeof((ht_seal *)NULL)->host] = "";
    ht_seal seal;

    gethostname(host, sizeof host - 1);
    if (!read_seal(part, &seal))
        return 0;
    if (job != NULL && strcmp(job, seal.job) == 0)
        return 0; /* the same job, before it was started again: its end may take a while */
    if (seal.length != 0)
        return -1;
    if (strcmp(seal.host, host) != 0 || seal.process == getpid() ||
        (kill((pid_t)seal.process, 0) != 0 && errno != EPERM)) /* EPERM: another user's */
        return 0;
    return seal.started != 0 && start_of(seal.process) == seal.started ? seal.process : 0;
}

/* The CRC of `count` bytes from `start` on; false: the file ends before. */
static bool crc_of(int file, int64_t start, int64_t count, uint32_t *crc)
{
    enum { ROOM = 1 << 18 };
    unsigned char *bytes = ht__alloc(ROOM);
    uLong sum = crc32(0, NULL, 0);

    while (count > 0) {
        ssize_t got = pread(file, bytes, count < ROOM ? (size_t)count : ROOM, start);

        if (got <= 0)
            break;
        sum = crc32(sum, bytes, (uInt)got);
        start += got;
        count -= got;
    }
    ht__free(bytes);
    *crc = (uint32_t)sum;
    return count == 0;
}

/* This rank's part of a file of `length`, whose checksum is combined to that of all behind the
 * seal. Collective, agrees. */
static ht_status crc_of_all(const ht_target *target, int file, int64_t length, uint32_t *crc)
{
    ht_comm *comm = target->comm;
    int64_t start, mine[2], *all = ht__alloc(2 * (size_t)comm->size * sizeof *all);
    uLong sum = crc32(0, NULL, 0);
    ht_status status = HT_SUCCESS;
    uint32_t part = 0;

    ht_comm_chunk(comm, length - HT_SEAL_BYTES, comm->rank, &start, &mine[1]);
    if (!crc_of(file, HT_SEAL_BYTES + start, mine[1], &part))
        status = damaged(target, "it cannot be read completely");
    mine[0] = part;
    status = ht__agree(target->what, comm, status);
    if (status == HT_SUCCESS)
        status = ht__comm_allgather_i64(comm, mine, 2, all, target->what);
    for (int r = 0; r < comm->size && status == HT_SUCCESS; r++)
        sum = crc32_combine(sum, (uLong)all[2 * r], (z_off_t)all[2 * r + 1]);
    ht__free(all);
    *crc = (uint32_t)sum;
    return status;
}

/* Another writer that began there has put its own seal in place. */
static ht_status write_seal(const ht_target *target, int file, const ht_seal *begun,
                            const ht_seal_sum *sum)
{
    ht_seal seal = *begun, there;

    if (file < 0)
        return unreadable(target);
    if (pread(file, &there, sizeof there, 0) != sizeof there ||
        memcmp(&there, begun, sizeof there) != 0)
        return ht__error_set(HT_ERR_IO,
                             "%s: cannot write %s: another job has written to its .part: two "
                             "jobs save to one file",
                             target->what, target->path);
    seal.length = sum->length;
    seal.crc = sum->crc;
    seal.process = seal.started = seal.number = 0;
    memset(seal.host, 0, sizeof seal.host);
    seal.own = own_crc(&seal);
    if (pwrite(file, &seal, sizeof seal, 0) == sizeof seal && fsync(file) == 0)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_IO, "%s: cannot write %s: %s", target->what, target->path,
                         strerror(errno));
}

ht_status ht__seal_measure(const ht_target *target, const char *part, ht_seal_sum *sum)
{
    ht_comm *comm = target->comm;
    int file = open(part, O_RDONLY | O_CLOEXEC);
    struct stat info = {0};
    int64_t lengths[2];
    ht_status status = HT_SUCCESS;

    if (file < 0 || fstat(file, &info) != 0)
        status = unreadable(target);
    status = ht__agree(target->what, comm, status);
    lengths[0] = info.st_size;
    lengths[1] = -lengths[0];
    if (status == HT_SUCCESS)
        status = ht__comm_allreduce_i64(comm, lengths, 2, HT_OP_MAX, target->what);
    if (status == HT_SUCCESS && (lengths[0] != -lengths[1] || lengths[0] < HT_SEAL_BYTES))
        status = damaged(target, "the written file has different lengths on different ranks");
    sum->length = lengths[0];
    if (status == HT_SUCCESS)
        status = crc_of_all(target, file, sum->length, &sum->crc);
    if (file >= 0)
        close(file);
    return status;
}

ht_status ht__seal_close(const ht_target *target, const char *part, const ht_seal *begun,
                         const ht_seal_sum *sum)
{
    int file = open(part, O_RDWR | O_CLOEXEC);
    ht_status status = write_seal(target, file, begun, sum);

    if (file >= 0)
        close(file);
    return status;
}

/* Files of format 1, and those of others, begin as HDF5 does and say that nothing is before them.
 * (A superblock that was moved to the front says how much was before it.) */
static bool begins_as_hdf5(const unsigned char *head)
{
    static const int base_address[] = {24, 28, 12, 12}; /* by the superblock's version */
    static const unsigned char nothing[8];

    return memcmp(head, "\211HDF\r\n\032\n", 8) == 0 && head[8] < 4 &&
           memcmp(head + base_address[head[8]], nothing, 8) == 0;
}

static ht_status check_seal(const ht_target *target, const ht_seal *seal, int64_t length)
{
    char why[128];

    if (seal->own != own_crc(seal))
        return damaged(target, "its first 512 bytes do not match their checksum");
    if (seal->order != HT_SEAL_ORDER)
        return damaged(target, "it was written on a machine with another byte order");
    if (seal->format > HT_CHECKPOINT_FORMAT)
        return ht__error_set(HT_ERR_FORMAT,
                             "%s: %s has format %u, written by a newer libht; this one reads "
                             "formats up to %d",
                             target->what, target->path, (unsigned)seal->format,
                             HT_CHECKPOINT_FORMAT);
    if (seal->length == 0)
        return damaged(target, "it was not written completely");
    snprintf(why, sizeof why, "it has %lld bytes, but had %lld when it was written",
             (long long)length, (long long)seal->length);
    return length == seal->length ? HT_SUCCESS : damaged(target, why);
}

/* Not collective. *length stays 0 if there is no seal, and the file may be read without one. */
static ht_status look(const ht_target *target, int file, ht_seal *seal, int64_t *length)
{
    struct stat info;
    ssize_t got;

    memset(seal, 0, sizeof *seal);
    if (file < 0 || fstat(file, &info) != 0)
        return unreadable(target);
    got = pread(file, seal, sizeof *seal, 0);
    if (got < 0)
        return unreadable(target);
    if (memcmp(seal->magic, HT_SEAL_MAGIC, sizeof seal->magic) == 0) {
        *length = info.st_size;
        return check_seal(target, seal, info.st_size);
    }
    if (begins_as_hdf5((const unsigned char *)seal))
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_FORMAT,
                         "%s: %s is damaged or not a checkpoint: it begins neither as a "
                         "checkpoint nor as an HDF5 file",
                         target->what, target->path);
}

ht_status ht__seal_check(const ht_target *target, ht_seal *seal, bool *sealed)
{
    ht_comm *comm = target->comm;
    int64_t length = 0, lengths[2];
    ht_status status = ht__agree(target->what, comm, ht__file_check(target->what, target->path));
    char why[96];
    uint32_t crc;
    int file;

    *sealed = false;
    if (status != HT_SUCCESS)
        return status;
    file = open(target->path, O_RDONLY | O_CLOEXEC);
    status = ht__agree(target->what, comm, look(target, file, seal, &length));
    lengths[0] = length;
    lengths[1] = -length;
    if (status == HT_SUCCESS)
        status = ht__comm_allreduce_i64(comm, lengths, 2, HT_OP_MAX, target->what);
    if (status == HT_SUCCESS && lengths[0] != -lengths[1])
        status = HT_FAIL(comm, HT_ERR_FORMAT, "%s: %s is not the same file on all ranks",
                         target->what, target->path);
    *sealed = length > 0;
    if (status == HT_SUCCESS && *sealed) {
        status = crc_of_all(target, file, length, &crc);
        snprintf(why, sizeof why, "the checksum of its contents is %08x, expected %08x",
                 (unsigned)crc, (unsigned)seal->crc);
        if (status == HT_SUCCESS)
            status = ht__agree(target->what, comm,
                               crc == seal->crc ? HT_SUCCESS : damaged(target, why));
    }
    if (file >= 0)
        close(file);
    return status;
}
