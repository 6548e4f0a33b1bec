#!/bin/sh
# ht-idx2hdf5 as its users meet it, without mpirun. The result of the conversion is tested in
# tests/utils/data/test_idx_to_hdf5.c.
set -u

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

# ends "name" STATUS "text" ARGUMENT...: that status, the text in the output, no file written.
ends() {
    name=$1
    expected=$2
    text=$3
    shift 3
    tools/ht-idx2hdf5 "$@" >"$work.out" 2>&1
    status=$?
    count=$((count + 1))
    if [ $status -eq "$expected" ] && grep -q -e "$text" "$work.out" && [ -z "$(ls "$work")" ]; then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name: status $status"
        sed 's/^/# /' "$work.out"
    fi
    rm -f "$work.out"
}

ends 'help' 0 'train/images' --help
ends 'no argument' 2 'expected FOLDER and FILE.h5'
ends 'one argument' 2 'expected FOLDER and FILE.h5' "$work"
ends 'unknown option' 2 'unknown option --what' --what "$work/a.h5"
ends 'missing folder' 1 'No such file or directory' "$work/nowhere" "$work/a.h5"
ends 'folder without images' 1 'holds no IDX files' "$work" "$work/a.h5"
echo "1..$count"
