#!/bin/sh
# usage: registers.sh FILE FLAG... -- SOURCE...: `make cuda-report`. The report of ptxas on each kernel and on each
# function that kernels call. FILE has a line for each (registers, bytes of its stack, bytes spilled, barriers, name),
# most registers first. A summary is printed.
set -eu
here=$(dirname "$0")
file=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=''
while [ "$1" != -- ]; do
    flags="$flags $1"
    shift
done
shift
# For one GPU: the last that the flags name.
flags="$(echo "$flags" | sed 's/-gencode [^ ]*//g') -arch=$(echo "$flags" | grep -o 'sm_[0-9]*' | tail -n 1)"

for source; do
    echo "$source" >&2
    # shellcheck disable=SC2086 # flags are several words
    sh "$here/nvcc.sh" "$NVCC" $flags -Xptxas -v -c -o "$work/object" "$source" >>"$work/said" 2>&1 || {
        cat "$work/said" >&2
        exit 1
    }
done

# Properties of a kernel come before its registers; those of a function come alone.
c++filt <"$work/said" | awk '
    function flush() { if (name != "") printf "%d %d %d %d %s\n", registers, stack, spilled, barriers, name; name = "" }
    /Function properties for / { flush(); name = $0; sub(/.*Function properties for /, "", name); registers = barriers = 0 }
    /bytes stack frame/ { stack = $1; spilled = $5 + $9 }
    / Used [0-9]+ registers/ {
        for (i = 1; i < NF; i++) {
            if ($(i + 1) ~ /^registers/) registers = $i
            if ($(i + 1) ~ /^barriers/) barriers = $i
        }
        flush()
    }
    END { flush() }' | sort -k1,1nr -k5 >"$file"

awk -v file="$file" '
    { name = $0; sub(/^[0-9]+ [0-9]+ [0-9]+ [0-9]+ /, "", name) }
    $1 > 0 { kernels++ }
    NR == 1 { most = $1 " registers: " name }
    $3 > 0 { spills = spills "\n  " $3 " bytes: " name }
    $4 > 0 { barriers = barriers "\n  " $4 ": " name }
    END {
        print kernels " kernels, " NR - kernels " functions that they call (" file ")"
        print "most " most
        print "spilled:" (spills != "" ? spills : " nothing")
        print "barriers:" (barriers != "" ? barriers : " none")
    }' "$file"
