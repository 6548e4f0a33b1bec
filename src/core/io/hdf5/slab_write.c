/* SPDX-License-Identifier: MIT
 *
 * Collective writing of slabs. A slab is cut along one axis, separately for every index of the axes
 * before it, so that no piece exceeds ht__io_piece_bytes. Ranks with fewer pieces than others take
 * part in the remaining writes with an empty selection. */
#include "core/io/hdf5/slab_write.h"

int64_t ht__io_piece_bytes = INT64_C(1) << 30;

struct cut {
    int axis;          /* pieces are ranges of this axis */
    int64_t inner;     /* elements per index of it */
    int64_t step;      /* indices per piece */
    int64_t per_outer; /* pieces per combination of the axes before it */
    int64_t pieces;
};

static struct cut cut_slab(const ht_slab *slab)
{
    struct cut cut = {.inner = 1, .step = 1, .per_outer = 1, .pieces = 1};
    int64_t most = ht__io_piece_bytes / (int64_t)slab->element;

    for (int i = 0; i < slab->ndim; i++) {
        if (slab->count[i] == 0)
            return (struct cut){.pieces = 0};
    }
    cut.axis = slab->ndim - 1;
    while (cut.axis > 0 && cut.inner * slab->count[cut.axis] <= most)
        cut.inner *= slab->count[cut.axis--];
    if (slab->ndim == 0)
        return cut;
    cut.step = most / cut.inner > 1 ? most / cut.inner : 1;
    cut.per_outer = (slab->count[cut.axis] + cut.step - 1) / cut.step;
    cut.pieces = cut.per_outer;
    for (int i = 0; i < cut.axis; i++)
        cut.pieces *= slab->count[i];
    return cut;
}

/* Where piece `index` lies; returns its elements, and in *offset where it begins in memory. */
static int64_t piece_at(const ht_slab *slab, const struct cut *cut, int64_t index, hsize_t start[],
                        hsize_t count[], int64_t *offset)
{
    int64_t outer = index / cut->per_outer, first = index % cut->per_outer * cut->step;
    int64_t length = slab->count[cut->axis] - first;

    if (length > cut->step)
        length = cut->step;
    for (int i = cut->axis + 1; i < slab->ndim; i++) {
        start[i] = (hsize_t)slab->start[i];
        count[i] = (hsize_t)slab->count[i];
    }
    start[cut->axis] = (hsize_t)(slab->start[cut->axis] + first);
    count[cut->axis] = (hsize_t)length;
    *offset = (outer * slab->count[cut->axis] + first) * cut->inner;
    for (int i = cut->axis - 1; i >= 0; i--) {
        start[i] = (hsize_t)(slab->start[i] + outer % slab->count[i]);
        count[i] = 1;
        outer /= slab->count[i];
    }
    return length * cut->inner;
}

struct target {
    hid_t set, type, how;
};

/* One piece; an empty one where `index` is beyond them. Here: in memory; there: in the data set. */
static ht_status write_piece(const struct target *to, const ht_slab *slab, const struct cut *cut,
                             int64_t index, const char *memory)
{
    hsize_t start[HT_MAX_NDIM], count[HT_MAX_NDIM], elements = 1;
    hid_t there = H5Dget_space(to->set), here;
    ht_status status = HT_SUCCESS;
    static const char nothing;
    int64_t offset = 0;

    if (index >= cut->pieces) {
        here = H5Screate_simple(1, &elements, NULL);
        H5Sselect_none(there);
        H5Sselect_none(here);
        memory = &nothing;
    } else if (slab->ndim == 0) {
        here = H5Screate(H5S_SCALAR);
    } else {
        elements = (hsize_t)piece_at(slab, cut, index, start, count, &offset);
        here = H5Screate_simple(1, &elements, NULL);
        H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL);
    }
    memory += offset * (int64_t)slab->element;
    /* Before anything is closed, which would forget why. */
    if (H5Dwrite(to->set, to->type, here, there, to->how, memory) < 0)
        status = ht__error_set(HT_ERR_IO, "%s", ht__hdf5_error());
    H5Sclose(here);
    H5Sclose(there);
    return status;
}

ht_status ht__slab_write(ht_parallel *file, hid_t set, ht_dtype dtype, const ht_slab *slab,
                         const void *memory)
{
    struct cut cut = cut_slab(slab);
    int64_t rounds = cut.pieces;
    ht_status agreed = ht__comm_allreduce_i64(file->comm, &rounds, 1, HT_OP_MAX, file->what);
    ht_status status = HT_SUCCESS;
    struct target to = {.set = set};

    if (agreed != HT_SUCCESS)
        return agreed;
    ht__parallel_enter(file);
    to.type = ht__hdf5_type(dtype);
    to.how = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(to.how, H5FD_MPIO_COLLECTIVE);
    for (int64_t i = 0; i < rounds; i++) {
        ht_status piece = write_piece(&to, slab, &cut, i, memory);

        if (status == HT_SUCCESS)
            status = piece;
        ht__parallel_leave(file); /* each piece has the full deadline */
        ht__parallel_enter(file);
    }
    H5Pclose(to.how);
    H5Tclose(to.type);
    ht__parallel_leave(file);
    return status;
}
