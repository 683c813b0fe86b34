#!/bin/bash
# Restart the server; if it says "CUDA out of memory", do it again with less.
set -euo pipefail
log=/var/log/infer.log
start() { nohup python -m server --fraction "$1" >"$log" 2>&1 & }
start 0.9
sleep 30
if grep -q "torch.OutOfMemoryError: CUDA out of memory" "$log"; then
    echo "ERROR: CUDA out of memory, lowering the fraction" >&2
    start 0.8
fi
grep -q "Address already in use" "$log" && { echo "Error: port is already in use"; exit 98; }
trap 'echo Killed; exit 137' TERM
