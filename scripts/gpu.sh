#!/usr/bin/env bash
# Everything that is worth running on a machine with a GPU, in one go:
#
#   scripts/gpu.sh MODELS EXAMPLES OUT
#
# MODELS has folders of transformers: encoder, rewriter, reranker and reader (docs/benchmarks/real-models.md), and
# minilm, the base of the trainings. EXAMPLES has the folders reader, query_encoder and resolver of `python -m recipes...`
# (docs/reference/training.md). OUT receives the logs and the trained models. Needs `make .venv/.models`.
#
# DEVICE=cpu and COUNT=300 try it on any machine. PARTS names the parts to run.
set -euo pipefail
cd "$(dirname "$0")/.."
MODELS=$(realpath "$1") EXAMPLES=$(realpath -m "$2") OUT=$(realpath -m "$3")
DEVICE=${DEVICE:-cuda} COUNT=${COUNT:-100000} PARTS=${PARTS:-tests encoding pipeline training}
mkdir -p "$OUT"
convqa=.venv/bin/convqa

has() { [[ " $PARTS " == *" $1 "* ]]; }

if has tests; then
    make test-gpu 2>&1 | tee "$OUT/tests.log"
fi

if has encoding; then
    # Repeats the example's passages; a number keeps their texts apart, so that none is cached.
    .venv/bin/python - "$COUNT" > "$OUT/passages.jsonl" << 'PYTHON'
import gzip, itertools, json, sys
with gzip.open("examples/qrecc-trec/passages.jsonl.gz", "rt", encoding="utf-8") as lines:
    texts = [json.loads(line)["text"] for line in lines]
for number, text in zip(range(int(sys.argv[1])), itertools.cycle(texts)):
    print(json.dumps({"id": str(number), "text": f"{number} {text}"}))
PYTHON
    $convqa index "$OUT/passages.jsonl" --collection "$OUT/collection" --no-vectors --replace
    for precision in float32 bfloat16; do
        echo "encoding $COUNT passages in $precision"
        rm -rf "$OUT/copy" && cp -r "$OUT/collection" "$OUT/copy"
        time $convqa index --collection "$OUT/copy" --vectors "$MODELS/encoder" --device "$DEVICE" --precision "$precision"
    done 2>&1 | tee "$OUT/encoding.log"
    rm -rf "$OUT/copy" "$OUT/collection" "$OUT/passages.jsonl"
fi

if has pipeline; then
    {
        $convqa index examples/qrecc-trec/passages.jsonl.gz --collection "$OUT/example" --vectors "$MODELS/encoder" \
            --device "$DEVICE" --replace
        time $convqa run examples/qrecc-trec "$OUT/run" --pipeline transformers --collection "$OUT/example" --restart \
            --device "$DEVICE" --limit "${LIMIT:-32}" --set retriever.encoder=null --set "rewriter.model=$MODELS/rewriter" \
            --set "reranker.model=$MODELS/reranker" --set "reader.model=$MODELS/reader"
        $convqa evaluate examples/qrecc-trec "$OUT/run" --partial
    } 2>&1 | tee "$OUT/pipeline.log"
fi

if has training; then
    for recipe in reader query_encoder resolver; do
        time $convqa train "$recipe" --data "$EXAMPLES/$recipe" --output "$OUT/$recipe" --device "$DEVICE" \
            --set "base=$MODELS/minilm"
    done 2>&1 | tee "$OUT/training.log"
fi
