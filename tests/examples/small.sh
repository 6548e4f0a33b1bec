#!/bin/sh
# The small examples: each prints the same on 1, 2 and 4 ranks.
set -u
# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# prints NAME [ARGUMENT]: the text on standard input.
prints() {
    cat >"$work/expected"
    for ranks in 1 2 4; do
        succeeds "$1 ends well on $ranks ranks" $ranks "examples/$1/$1" ${2+"$2"}
        if diff "$work/expected" "$job_out" >"$work/difference"; then
            result ok "$1 prints what is known on $ranks ranks"
        else
            result 'not ok' "$1 prints what is known on $ranks ranks"
            sed 's/^/# /' "$work/difference"
        fi
    done
}

prints diffusion <<'END_OF_TEXT'
the centre has cooled to 0.617516, expected 0.617516
END_OF_TEXT

prints fit <<'END_OF_TEXT'
ht_tensor(shape=(3,), dtype=float64, device=cpu:0, split=0)
[ 1.00, -1.99,  3.00]
residual: standard deviation 0.102, orthogonal to the columns
END_OF_TEXT

prints kmeans "$work/points.h5" <<'END_OF_TEXT'
ht_tensor(shape=(3, 2), dtype=float32, device=cpu:0, split=none)
[[1.00, 1.00],
 [4.98, 1.00],
 [1.01, 5.01]]
ht_tensor(shape=(3,), dtype=int64, device=cpu:0, split=none)
[1000, 1000, 1000]
END_OF_TEXT

prints lowpass <<'END_OF_TEXT'
largest error 0.500 before, 0.000 after
END_OF_TEXT

prints pca <<'END_OF_TEXT'
ht_tensor(shape=(6,), dtype=float64, device=cpu:0, split=none)
[0.965, 0.034, 0.000, 0.000, 0.000, 0.000]
two components leave 2.5 % of the norm
END_OF_TEXT

prints table "$work/readings.csv" <<'END_OF_TEXT'
ht_tensor(shape=(3,), dtype=float64, device=cpu:0, split=none)
[17.28, 23.95, 30.86]
ht_tensor(shape=(5,), dtype=int64, device=cpu:0, split=none)
[ 46, 600, 992, 350,  12]
152 readings above 30
ht_tensor(shape=(3,), dtype=float64, device=cpu:0, split=0)
[2.00, 3.00, 4.00]
ht_tensor(shape=(3,), dtype=int64, device=cpu:0, split=0)
[ 11,  31, 110]
END_OF_TEXT
finish
