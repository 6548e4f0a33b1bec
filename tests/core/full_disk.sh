#!/bin/sh
# A full disk while a file is saved: one clear error, and the earlier file stays intact. On a small tmpfs of its own,
# which other programs fill up at any moment too.
set -u

if [ -z "${HT_TEST_MOUNTS:-}" ]; then
    if unshare -rm sh -c 'mount -t tmpfs none /mnt' 2>/dev/null; then
        HT_TEST_MOUNTS=1 exec unshare -rm sh "$0"
    fi
    echo '1..0 # SKIP mounting a file system is not allowed'
    exit
fi

program=$PWD/examples/mnist/mnist
saver=$PWD/tests/core/full_disk
converter=$PWD/tools/ht-idx2hdf5
work=$(mktemp -d)
trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/data" "$work/tmp" "$work/disk"
export TMPDIR="$work/tmp"
count=0

# shellcheck source=tests/examples/images.sh
. "${srcdir:-.}/tests/examples/images.sh"
images 60 >"$work/data/train-images-idx3-ubyte"
labels 60 >"$work/data/train-labels-idx1-ubyte"
images 10 >"$work/data/t10k-images-idx3-ubyte"
labels 10 >"$work/data/t10k-labels-idx1-ubyte"
cd "$work" || exit 1

result() {
    count=$((count + 1))
    echo "$1 $count - $2"
}

# job ARGUMENT...: the example, saving to the small disk after each of its steps.
job() {
    timeout --kill-after=2 300 "${MPIRUN:-mpirun}" -n 2 "$program" --data "$work/data" --net mlp \
        --batch-size 2 --epochs 1 --no-progress "$@" </dev/null >out 2>err
}

# A disk of $1 bytes.
disk() {
    umount disk 2>/dev/null
    mount -t tmpfs -o "size=$1" none disk
}

# check "name": the job that ended with $status could not save and said so, once, and the old file is good.
check() {
    ended "$1" "$status" 1
}

# check_either "name": the same, or it could save each time, and said nothing.
check_either() {
    ended "$1" "$status" "$((status != 0))"
}

# ended "name" STATUS EXPECTED: with that status, and an error for status 1 only.
ended() {
    said=$(grep -c '^ht: ranks 0-1: ht_checkpoint_save: cannot reserve [0-9]* bytes for disk/run.h5: No space left on device$' err)
    if [ "$2" -eq "$3" ] && [ "$said" -eq "$3" ] && [ ! -e disk/run.h5.part ] && cp disk/run.h5 kept.h5 &&
        job --resume kept.h5 --steps 1; then
        result ok "$1"
    else
        result 'not ok' "$1: status $2"
        sed 's/^/# /' err
    fi
}

# Room for one file, but not for two.
disk 1g
job --steps 1 --save disk/run.h5 || result 'not ok' 'a disk with room'
size=$(stat -c %s disk/run.h5)
for room in $((size + 500000)) $((2 * size)); do # it reserves a little more than it needs
    disk "$room"
    job --steps 1 --save disk/run.h5
    job --save disk/run.h5 --save-every 1
    status=$?
    check "room for $room bytes, of which one file takes $size"
done

# Another program takes all remaining space, again and again, also between saves, so that all saves may pass.
fill() {
    while :; do
        dd if=/dev/zero of=disk/other bs=65536 2>/dev/null
        rm -f disk/other
        sleep 0.05
    done
}
for round in 1 2; do
    disk $((4 * size))
    job --steps 1 --save disk/run.h5
    fill &
    job --save disk/run.h5 --save-every 1
    status=$?
    kill $!
    wait $! 2>/dev/null
    rm -f disk/other
    check_either "a disk that others fill, $round"
done

# save RANKS FILE MODE NAME ROWS SPLIT: one tensor, or why not.
save() {
    ranks=$1
    shift
    HT_TIMEOUT=60 timeout --kill-after=2 100 "${MPIRUN:-mpirun}" -n "$ranks" "$saver" "$@" </dev/null >out 2>err
    status=$?
}

# refused "name" NAME FILE: each rank has reported the error and ended normally, and the disk has the same files as
# before.
refused() {
    saying "$1" "ht_save_hdf5: cannot write $2 to $3: .*No space left on device"
}

# saying "name" PATTERN: the same of any error.
saying() {
    said=$(grep -c "^$2\$" out)
    if [ "$status" -eq 0 ] && [ "$said" -eq "$ranks" ] && [ "$(cksum disk/*)" = "$before" ]; then
        result ok "$1"
    else
        result 'not ok' "$1: status $status"
        cat out err | sed 's/^/# /'
        ls -l disk | sed 's/^/# /'
    fi
}

for ranks in 1 2 3; do
    disk 64k
    before=$(cksum disk/*)
    save "$ranks" disk/x.h5 w x 1000 0
    refused "a new file that does not fit, $ranks ranks" x disk/x.h5
    save "$ranks" disk/x.h5 w x 1000 none
    refused "one of a tensor that all have, $ranks ranks" x disk/x.h5
    disk 1m
    save "$ranks" disk/x.h5 w x 10 0
    before=$(cksum disk/*)
    save "$ranks" disk/x.h5 a a/b 1000 0
    refused "a data set that does not fit, $ranks ranks" a/b disk/x.h5
    save "$ranks" disk/x.h5 w y 1000 0
    refused "a file in the place of another, $ranks ranks" y disk/x.h5
    dd if=/dev/zero of=disk/other bs=65536 2>/dev/null
    before=$(cksum disk/*)
    save "$ranks" disk/x.h5 a y 1 0
    refused "a small data set and no room, $ranks ranks" y disk/x.h5
    save "$ranks" disk/y.h5 w y 1 0
    refused "a small file and no room, $ranks ranks" y disk/y.h5
done

# Other formats; the earlier files stay.
for ranks in 1 2; do
    disk 1m
    for suffix in npy csv; do
        save "$ranks" disk/x.$suffix by-name - 10 0
    done
    before=$(cksum disk/*)
    for suffix in npy csv; do
        save "$ranks" disk/x.$suffix by-name - 1000 1
        saying "a file $suffix in the place of another, $ranks ranks" \
            "ht_save: cannot write disk/x.$suffix: cannot reserve [0-9]* bytes: No space left on device"
    done
done

# Not a word of HDF5's when the program ends.
for room in 0 4096 16384; do
    disk $((room + 4096))
    echo >disk/other
    "$converter" data disk/x.h5 >out 2>err
    status=$?
    if [ "$status" -eq 1 ] && [ "$(ls disk)" = other ] && [ "$(wc -l <err)" -eq 1 ] &&
        grep -q '^ht: ht_idx_to_hdf5_ext: cannot write disk/x.h5: No space left on device$' err; then
        result ok "ht-idx2hdf5 with room for $room bytes"
    else
        result 'not ok' "ht-idx2hdf5 with room for $room bytes: status $status"
        sed 's/^/# /' err
    fi
done
echo "1..$count"
