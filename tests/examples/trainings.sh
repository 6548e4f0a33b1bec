#!/bin/sh
# The trainings resnet, chars and series in a short form, on 1, 2 and 4 ranks: the loss falls, and blocking and
# non-blocking runs give the same parameters. On any number of ranks, the rows of a step of chars and series are the
# same, so the losses are too.
set -u
# shellcheck source=tests/examples/short_runs.sh
. "${srcdir:-.}/tests/examples/short_runs.sh"

# falls FILE: the last loss is below the first one by a tenth of it.
falls() {
    losses "$1" | awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(NR > 1 && last < 0.9 * first) }'
}

# trains NAME ARGUMENT...
trains() {
    program=$1
    shift
    for n in 1 2 4; do
        succeeds "$program, $n ranks, blocking" $n "examples/$program/$program" "$@" --blocking --save "$work/one"
        succeeds "$program, $n ranks, non-blocking" $n "examples/$program/$program" "$@" --save "$work/two"
        cp "$job_out" "$work/$program.$n"
        check "$program, $n ranks: the loss falls" falls "$work/$program.$n"
        check "$program, $n ranks: both ways give the same parameters" cmp "$work/one" "$work/two"
        rm -f "$work/one" "$work/two"
    done
}

# one_program NAME: its losses are those of one rank.
one_program() {
    for n in 2 4; do
        check "$1, $n ranks: the losses of one rank" agree "$work/$1.1" "$work/$1.$n"
    done
}

# refuses NAME: an unknown option is status 2, and one rank says how the program is called.
refuses() {
    launch 2 "examples/$1/$1" --unknown
    [ $status -eq 2 ] && [ "$(grep -c '^usage: ' "$job_err")" -eq 1 ] && verdict=ok || verdict='not ok'
    result "$verdict" "$1 with an unknown option"
}

# too_short NAME ARGUMENT...: one line of the program, and status 1.
too_short() {
    program=$1
    shift
    launch 1 "examples/$program/$program" "$@"
    [ $status -eq 1 ] && [ "$(grep -c "^$program: .* too short" "$job_err")" -eq 1 ] && ! grep -q leaked "$job_err" &&
        verdict=ok || verdict='not ok'
    result "$verdict" "$program without enough data"
}

make_images
trains resnet --data "$work/images.h5" --epochs 4 --batch 24 --lr 0.02
trains chars --text "${srcdir:-.}/README.md" --steps 20 --batch 4 --dropout 0 --sample 20
trains series --epochs 3 --batch 64
one_program chars
one_program series
awk 'BEGIN { for (i = 0; i < 200; i++) print sin(i / 5) }' >"$work/series.csv"
succeeds 'series of a file' 2 examples/series/series --data "$work/series.csv" --epochs 5 --batch 16
check 'series of a file: the loss falls' falls "$job_out"
echo 1 >"$work/short.csv"
too_short series --data "$work/short.csv"
too_short chars --text "$work/nothing"
for program in resnet chars series; do
    refuses $program
done
finish
