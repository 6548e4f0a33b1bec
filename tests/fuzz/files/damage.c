/* SPDX-License-Identifier: MIT
 *
 * Damaged checkpoints: bytes flipped, cut off, or moved, of files with a seal and of those that an
 * earlier version wrote without. Loading is an error, the same on all ranks; a file that loads is
 * the one that was saved. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "fuzz/fuzz.h"
#include "ht.h"

static ht_value *state_of(struct random *random)
{
    ht_value *map = ht_value_map(), *list = ht_value_list(), *inner = ht_value_map();
    int entries = 1 + (int)random_below(random, 14);

    for (int i = 0; i < entries; i++) {
        int64_t shape[] = {1 + random_below(random, 5), 3};
        char name[16];

        snprintf(name, sizeof name, "x%d", i);
        ht_value_set(
            inner, name,
            ht_value_tensor(ht_full(2, shape, i, random_chance(random, 50) ? HT_FLOAT32 : HT_INT64,
                                    random_chance(random, 50) ? 0 : HT_NONE)));
        ht_value_append(list, ht_value_number(i));
    }
    ht_value_set(map, "inner", inner);
    ht_value_set(map, "list", list);
    return map;
}

static herr_t copy_one(hid_t from, const char *name, const H5L_info_t *info, void *to)
{
    (void)info;
    return H5Ocopy(from, name, *(hid_t *)to, name, H5P_DEFAULT, H5P_DEFAULT);
}

/* As format 1 is: the same groups and data sets, and nothing in front of them. */
static void unseal(const char *path)
{
    char copy[600];
    int64_t format = 1;
    hid_t access, from, to, space, attribute;

    snprintf(copy, sizeof copy, "%s.copy", path);
    ht_hdf5_lock();
    access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    from = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    to = H5Fcreate(copy, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Literate(from, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, copy_one, &to);
    space = H5Screate(H5S_SCALAR);
    attribute = H5Acreate2(to, "@libht", H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_INT64, &format);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Fclose(to);
    H5Fclose(from);
    H5Pclose(access);
    ht_hdf5_unlock();
    if (rename(copy, path) != 0)
        fprintf(stderr, "fuzz: cannot rename %s\n", copy);
}

static void damage(const char *path, struct random *random)
{
    FILE *file = fopen(path, "r+b");
    long size, at;
    int how = (int)random_below(random, 4);
    unsigned char block[64];

    if (file == NULL)
        return;
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    at = (long)random_below(random, size);
    if (how == 0) {
        fclose(file);
        if (truncate(path, at) != 0)
            fprintf(stderr, "fuzz: cannot cut %s\n", path);
        return;
    }
    for (int i = 0; i < (how == 1 ? 1 : 8); i++) {
        size_t count = how == 3 ? sizeof block : 1;

        at = (long)random_below(random, size);
        fseek(file, at, SEEK_SET);
        count = fread(block, 1, count, file);
        if (how != 3)
            block[0] ^= (unsigned char)(1u << random_below(random, 8));
        else /* a block moves */
            at = (long)random_below(random, size - (long)count);
        fseek(file, at, SEEK_SET);
        fwrite(block, 1, count, file);
    }
    fclose(file);
}

/* Whether everything in the map is what state_of put there. */
static bool is_whole(ht_value *map)
{
    ht_value *inner = ht_value_get(map, "inner"), *list = ht_value_get(map, "list");

    for (int i = 0; i < ht_value_count(inner); i++) {
        ht_tensor *x = ht_value_as_tensor(ht_value_at(inner, i));
        int which = atoi(ht_value_key(inner, i) + 1);
        struct array a;

        if (x == NULL)
            return false;
        gather(x, &a);
        for (int64_t k = 0; k < array_size(&a); k++) {
            struct number element = array_at(&a, k);

            if (element.re + (double)element.i != which)
                return false;
        }
    }
    return ht_value_count(inner) == ht_value_count(list) && ht_value_count(list) > 0;
}

bool family_damage(uint64_t seed, bool trace)
{
    struct random random = {hash_of(seed, 99)};
    ht_scope *scope = ht_scope_open();
    char path[512];
    int rank = ht_comm_rank(HT_COMM_WORLD), mine[2], most[2];
    bool well = true, whole = true, sealed = random_chance(&random, 50);
    ht_checkpoint_options options = ht_checkpoint_options_default();
    ht_value *loaded;

    if (trace && rank == 0)
        fprintf(stderr, "  %s\n", sealed ? "with a seal" : "of format 1");
    options.earlier = random_chance(&random, 30);
    snprintf(path, sizeof path, "%s/damage.h5", fuzz_folder);
    unlink(path);
    if (ht_checkpoint_save(state_of(&random), path, HT_COMM_WORLD, NULL) != HT_SUCCESS)
        well = false;
    ht_barrier(HT_COMM_WORLD);
    if (rank == 0 && !sealed)
        unseal(path);
    if (rank == 0)
        damage(path, &random);
    ht_barrier(HT_COMM_WORLD);
    loaded = ht_checkpoint_load(path, HT_COMM_WORLD, &options);
    mine[0] = loaded != NULL;
    mine[1] = -mine[0];
    MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    well = well && most[0] == -most[1];
    if (well && loaded != NULL)
        whole = is_whole(loaded);
    well = well && whole;
    ht_error_clear();
    ht_scope_close(scope);
    arrays_free();
    mine[0] = !well;
    MPI_Allreduce(mine, most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    if (most[0] && rank == 0)
        fprintf(stderr, "fuzz: damage, seed %llu, %d ranks: a damaged checkpoint %s\n",
                (unsigned long long)seed, ht_comm_size(HT_COMM_WORLD),
                whole ? "was loaded on some ranks alone" : "gave other values");
    return !most[0];
}
