#!/bin/sh
# `make gpu-bundle` has all that it needs but glibc: it runs in a folder that has only this, glibc and a few tools.
set -u
# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
bundle=$root/gpu-bundle

[ -f src/backends/cuda/.libs/libht_cuda.so ] || skip_all 'configure found no nvcc'
mkdir -p "$root/dev/shm" "$root/tmp" "$root/bin"
chmod 1777 "$root/tmp" "$root/dev/shm"
if ! mknod -m 666 "$root/dev/null" c 1 3 2>/dev/null || ! chroot / true 2>/dev/null; then
    skip_all 'this user may not make devices or change the root'
fi

make_bundle() {
    env -u MAKEFLAGS -u MAKELEVEL HT_BUNDLE_CUBLAS=no HT_BENCH_DATA=none make -s gpu-bundle gpu_bundle="$bundle" >"$work/made" 2>&1 ||
        ! sed 's/^/# /' "$work/made"
}

# A tool, and the libraries that it needs, at the path where it expects them.
add_tool() {
    path=$(command -v "$1") || return
    cp -L "$path" "$root/bin"
    for library in $(ldd "$path" | grep -o '/[^ ]*'); do
        mkdir -p "$root/${library%/*}"
        cp -L "$library" "$root/${library%/*}"
    done
}

# In the folder. STEP WANTED: that line, of all that run-gpu prints.
runs() {
    env -i PATH=/bin HOME=/tmp HT_TEST_RANKS="$1" "$(command -v chroot)" "$root" /bin/sh /gpu-bundle/run-gpu --cpu --minutes 60 --only "$2" --logs /tmp/logs \
        >"$work/out" 2>&1 && grep -q "^passed   $2 " "$work/out" && return
    sed 's/^/# /' "$work/out" "$root/tmp/logs/$2.log"
    false
}

# has_results STEP RANKS: more than a few of its tests passed on RANKS ranks.
has_results() {
    [ "$(grep -c "^ok .*\[ranks $2\]" "$root/tmp/logs/$1.log")" -gt 10 ]
}

# glibc: libraries that Open MPI, HDF5 and the programs may load at run time, in addition to those they are linked to.
for tool in sh cat chmod cut date env getconf grep head mkdir mktemp rm sed seq sort tail tee timeout; do
    add_tool $tool
done
add_glibc() {
    folder=$(dirname "$(ldd "$root/bin/sh" | grep -o '/[^ ]*libc\.so\.6')")
    for library in c m dl rt pthread resolv util nss_files; do
        cp -L "$folder/lib$library".so.* "$root/$folder" 2>/dev/null
    done
    [ -f "$root/$folder/libm.so.6" ]
}

check 'the bundle is made' make_bundle
check 'there is a root without libraries but glibc' add_glibc
check 'ht-info runs' runs '' info
check 'a runner of tests runs on 1 and 2 ranks' runs '1 2' optim
check 'it had results on 1 rank' has_results optim 1
check 'and on 2 ranks' has_results optim 2
check 'the benchmarks run' runs '' bench
check 'blocking and non-blocking training agree on 3 ranks' runs '' mnist
finish
