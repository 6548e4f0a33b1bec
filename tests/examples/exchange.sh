#!/bin/sh
# The trainings resnet, chars and series against the same programs in PyTorch (bench/peers): from the same weights, the
# losses of the first steps agree to 1e-3. Weights that libht has trained give the same outputs in PyTorch, and the
# other way round, to 1e-5 of the largest output. HT_TEST_PYTHON is a Python that has PyTorch.
set -u
# shellcheck source=tests/examples/short_runs.sh
. "${srcdir:-.}/tests/examples/short_runs.sh"
peers=${srcdir:-.}/bench/peers
text=${srcdir:-.}/README.md
python=${HT_TEST_PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || skip_all "$python has no PyTorch"
export PYTHONDONTWRITEBYTECODE=1 # the sources may be read-only

# peer NAME ARGUMENT...: the program in PyTorch.
peer() {
    file=$peers/$1.py
    shift
    timeout --kill-after=2 $limit "$python" -W ignore "$file" "$@" </dev/null >"$work/peer" 2>"$work/peer.err" && return
    sed 's/^/# /' "$work/peer.err"
    return 1
}

same_outputs() { # same_outputs FILE FILE
    "$python" -W ignore - "$peers" "$@" <<'END'
import sys

sys.path.insert(0, sys.argv[1])
from files import load_tensors

a, b = (load_tensors(path) for path in sys.argv[2:])
same = (a["inputs"] - b["inputs"]).abs().max() <= 1e-6
difference = ((a["outputs"] - b["outputs"]).abs().max() / b["outputs"].abs().max()).item()
print(f"# the outputs differ by {difference:.1e} of the largest")
sys.exit(not (same and difference <= 1e-5))
END
}

# exchange NAME DATA PEER_DATA NOTHING ARGUMENT...: the options of the data, and those of no training at all.
exchange() {
    example=$1 data=$2 peer_data=$3 nothing=$4
    shift 4
    program=examples/$example/$example
    # shellcheck disable=SC2086 # lists of options
    {
        succeeds "$example: initial weights" 1 $program $data $nothing --save "$work/start"
        succeeds "$example: training" 1 $program $data --plain "$@" --load "$work/start" --save "$work/ours.weights" \
            --outputs "$work/ours.outputs"
        check "$example: training in PyTorch" peer "$example" $peer_data --plain "$@" --load "$work/start" \
            --save "$work/peer.weights" --outputs "$work/peer.outputs"
        check "$example: the losses agree" agree "$job_out" "$work/peer"
        check "$example: weights of libht in PyTorch" peer "$example" $peer_data $nothing --load "$work/ours.weights" \
            --outputs "$work/outputs"
        check "$example: weights of libht, same outputs" same_outputs "$work/ours.outputs" "$work/outputs"
        succeeds "$example: weights of PyTorch in libht" 2 $program $data $nothing --load "$work/peer.weights" \
            --outputs "$work/outputs"
        check "$example: weights of PyTorch, same outputs" same_outputs "$work/outputs" "$work/peer.outputs"
    }
}

make_images
# In float32, a change of its weights by 1e-7 soon changes the losses of this network by more than 1e-3.
exchange resnet "--data $work/images.h5 --double" "--data $work/idx --double" '--epochs 0' --epochs 4 --batch 24
exchange chars "--text $text --sample 0" "--text $text" '--steps 0' \
    --steps 20 --batch 4 --dropout 0
exchange series '' '' '--epochs 0' --epochs 2
finish
