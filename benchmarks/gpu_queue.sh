#!/bin/sh
# Work on a queue for some minutes on a bare machine with a GPU: OUT=FOLDER benchmarks/gpu_queue.sh MINUTES [RETURNED]
#
# What must come back lies in the folder OUT, at most 8 files; RETURNED is the folder of those of the call before.
# WHEELS is the folder of `python -m cluster.wheels` (build/wheels), QUEUE the queue (benchmarks/gpu_queue.toml).
# Leave three of ten minutes for the start and for a validation or test that is running when time is up.
set -eu
: "${OUT:?is the folder of the files that come back: set it}"
minutes=${1:?is missing: write OUT=FOLDER benchmarks/gpu_queue.sh MINUTES [RETURNED]}
mkdir -p "$OUT"
out=$(cd "$OUT" && pwd)
[ -z "${2:-}" ] || cp "$2"/queue_*.part_* "$out"
cd "$(dirname "$0")/.."
if ! python3 -c 'import gymnasium, pettingzoo, pydantic, tyro' 2>/dev/null; then
    python3 -m pip install --quiet --no-index --no-deps --no-compile --upgrade --target build/site "${WHEELS:-build/wheels}"/*.whl
    PYTHONPATH=$PWD/build/site${PYTHONPATH:+:$PYTHONPATH}
    export PYTHONPATH
fi
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
exec python3 -m benchmarks.gpu_queue --queue "${QUEUE:-benchmarks/gpu_queue.toml}" --out "$out" --minutes "$minutes" --device "${DEVICE:-auto}"
