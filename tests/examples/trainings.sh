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

# refuses NAME ARGUMENT...: status 2, and one rank says how the program is called.
refuses() {
    program=$1
    shift
    launch 2 "examples/$program/$program" "$@"
    [ $status -eq 2 ] && [ "$(grep -c '^usage: ' "$job_err")" -eq 1 ] && verdict=ok || verdict='not ok'
    result "$verdict" "$program with $*"
}

# complains NAME REASON ARGUMENT...: one line of the program, and status 1.
complains() {
    program=$1
    reason=$2
    shift 2
    launch 1 "examples/$program/$program" "$@"
    [ $status -eq 1 ] && [ "$(grep -c "^$program: .*$reason" "$job_err")" -eq 1 ] && ! grep -q leaked "$job_err" &&
        verdict=ok || verdict='not ok'
    result "$verdict" "$program with data: $reason"
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
complains series 'too short' --data "$work/short.csv"
complains chars 'too short' --text "$work/short.csv"
complains chars 'cannot be read' --text "$work/nothing"
head -c 16777217 /dev/zero >"$work/long"
complains chars 'longer than 16 MiB' --text "$work/long"
complains resnet 'fewer training images' --data "$work/images.h5" --batch 121
succeeds 'chars of one step' 1 examples/chars/chars --text "${srcdir:-.}/README.md" --steps 1 --batch 1 --sample 0
check 'chars of one step: one line has a loss' [ "$(losses "$job_out" | wc -l)" -eq 1 ]
for program in resnet chars series; do
    refuses "$program" --unknown
    refuses "$program" --batch 1e1
    refuses "$program" --seed -1
done
refuses chars --sample -5
refuses chars --steps ''
finish
