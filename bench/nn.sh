#!/bin/sh
# Layers forward and backward, libht and PyTorch in turns, one thread each: `make bench-nn`. For each case the medians in
# milliseconds, and the median of the ratios run by run (above 1: libht is faster).
#   HT_BENCH_DEVICE=cpu  cuda: on a GPU; both wait for it at the end of each pass
#   HT_BENCH_RUNS=7  HT_BENCH_CASES="gelu conv1d"  HT_BENCH_PYTHON=/usr/bin/python3   a Python that has PyTorch
set -eu

here=$(cd "$(dirname "$0")" && pwd)
runs=${HT_BENCH_RUNS:-7}
cases=${HT_BENCH_CASES:-}
device=${HT_BENCH_DEVICE:-cpu}
python=${HT_BENCH_PYTHON:-/usr/bin/python3}
# shellcheck source=tests/mpi-env.sh
. "$here/../tests/mpi-env.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
unset OPENBLAS_CORETYPE

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

for run in $(seq "$runs"); do
    printf '\rrun %s of %s ' "$run" "$runs" >&2
    # shellcheck disable=SC2086 # a list of names
    bench/nn --repeat 5 --device "$device" $cases >>"$work/ours"
    # shellcheck disable=SC2086
    "$python" -W ignore "$here/peers/nn.py" --repeat 5 --device "$device" $cases >>"$work/peer"
done
printf '\r%-20s %10s %10s   ratio (least ... most)\n' case libht PyTorch
"$python" - "$work/ours" "$work/peer" <<'END'
import collections, json, statistics, sys

ours, peer = (collections.defaultdict(list) for _ in range(2))
for times, path in ((ours, sys.argv[1]), (peer, sys.argv[2])):
    for line in open(path):
        case = json.loads(line)
        times[case["case"]].append(case["ms"])
for name in ours:
    ratios = sorted(p / o for o, p in zip(ours[name], peer[name]))
    print(f"{name:20} {statistics.median(ours[name]):10.3f} {statistics.median(peer[name]):10.3f}   "
          f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} ... {ratios[-1]:.2f})")
END
