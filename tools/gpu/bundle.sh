#!/bin/sh
# usage: bundle.sh FOLDER, in the build folder: `make gpu-bundle`. Makes FOLDER of what run-gpu runs and of all that this
# needs but glibc and the driver: for a host that has a GPU, and neither MPI nor HDF5 nor a compiler.
#   HT_BUNDLE_CUBLAS=no    without cuBLAS (600 MB): run-gpu looks for it and for cuDNN (1 GB) on the host
set -eu
folder=${1:?folder}
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
module=src/backends/cuda/.libs/libht_cuda.so

fail() {
    echo "bundle.sh: $*" >&2
    exit 1
}
[ -f "$module" ] || fail "$module is missing: configure found no nvcc"

# Libraries of the system: they are there with glibc and the driver.
of_system='linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|resolv|util|anl|mvec|cuda|nvidia-ml)\.so'

# The file of a program: libtool's may be a script next to it.
file_of() {
    if [ -f "${1%/*}/.libs/${1##*/}" ]; then
        echo "${1%/*}/.libs/${1##*/}"
    else
        echo "$1"
    fi
}

# The parts that Open MPI loads for ranks on one host: no other network, no batch system, no OpenSHMEM.
components() {
    for component in "$1"/mca_*.so; do
        case ${component##*/mca_} in
        *_ucx* | *_ofi* | *openib* | *psm* | *slurm* | *flux* | *monitoring* | *gridengine* | spml_* | scoll_* | sshmem_* | memheap_* | \
            plm_rsh* | vprotocol_*) ;;
        *) echo "$component" ;;
        esac
    done
}

# Libraries that files need: one path a line.
needed() {
    ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | grep -vE "/($of_system)" | sort -u
}

open_mpi() {
    ompi_info --path "$1" --parsable | cut -d : -f 3-
}

rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/data" "$folder/lib" "$folder/modules" "$folder/ompi/components" "$folder/ompi/etc" "$folder/programs"
cp "$here/run-gpu" "$here/gpu-step" "$source/tests/mpi-run.sh" "$folder"
cp "$here/start" "$folder/bin"

for program in bench/cnn_step bench/gpu bench/nn examples/mnist/mnist tests/core/run-core tests/nn/parallel/run-parallel tests/nn/run-nn \
    tests/optim/run-optim tests/utils/data/run-data tests/utils/training/run-training tools/ht-info; do
    cp "$(file_of $program)" "$folder/programs"
    ln -s start "$folder/bin/${program##*/}"
done
bindir=$(open_mpi bindir)
cp -L "$bindir/orterun" "$bindir/orted" "$folder/programs"
cp "$here/mpirun" "$folder/bin"
ln -s start "$folder/bin/orterun"
# shellcheck disable=SC2046 # paths without spaces
cp -L $(components "$(open_mpi pkglibdir)") "$folder/ompi/components"
cp -r "$(open_mpi pkgdatadir)" "$folder/ompi/share"

for library in "$module" tests/core/.libs/libht_dummy.so tests/core/.libs/libht_near.so tests/backends/lagging/.libs/libht_lag.so; do
    cp -L "$library" "$folder/modules"
done
# shellcheck disable=SC2046
cp -L $(needed "$folder"/programs/* "$folder"/ompi/components/* "$folder"/modules/* "$(file_of tools/ht-info)") "$folder/lib"
strip --strip-debug "$folder"/programs/* "$folder"/modules/* "$folder"/lib/*

# cuBLAS is next to the runtime that the module was linked to.
toolkit=$(sed -n 's/^CUDA_LIBS = -L\([^ ]*\).*/\1/p' Makefile)
if [ "${HT_BUNDLE_CUBLAS:-yes}" != no ] && [ -e "$toolkit/libcublas.so" ]; then
    toolkit=$(dirname "$(readlink -f "$toolkit/libcublas.so")")
    for library in "$toolkit"/libcublas.so.?? "$toolkit"/libcublasLt.so.??; do
        cp -L "$library" "$folder/lib"
    done
fi

# Images for the example: real ones if the machine has them.
images=${HT_BENCH_DATA:-/usr/share/datasets/fashion-mnist}
if [ -f "$images/train-images-idx3-ubyte.gz" ]; then
    cp -L "$images"/*-ubyte.gz "$folder/data"
else
    # shellcheck source=tests/examples/images.sh
    . "$source/tests/examples/images.sh"
    images 250 >"$folder/data/train-images-idx3-ubyte"
    labels 250 >"$folder/data/train-labels-idx1-ubyte"
    images 50 >"$folder/data/t10k-images-idx3-ubyte"
    labels 50 >"$folder/data/t10k-labels-idx1-ubyte"
fi

# Nothing may be found outside of it.
for file in "$folder"/programs/* "$folder"/modules/* "$folder"/lib/* "$folder"/ompi/components/*; do
    LD_LIBRARY_PATH=$folder/lib ldd "$file" | grep -vE "$of_system|$folder/lib/|statically linked" && fail "$file needs more than the bundle has"
done
objdump -T "$folder"/programs/* "$folder"/lib/* "$folder"/modules/* | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 |
    sed 's/GLIBC_//' >"$folder/glibc"
echo "$folder: $(du -sh "$folder" | cut -f 1), for glibc $(cat "$folder/glibc") or later; run $folder/run-gpu there"
