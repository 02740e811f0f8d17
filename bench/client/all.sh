#!/usr/bin/env bash
# All measurements of the client, on an idle machine: about 17 minutes with the peers installed.
#
#   bench/client/all.sh PEERS [OUT]
#
# PEERS is the folder that install.sh filled. Prints the tables of docs/performance.md; OUT keeps every figure.
set -euo pipefail
peers=$(realpath "${1:?usage: bench/client/all.sh PEERS [OUT]}")
out=$(realpath -m "${2:-client-results}")
cd "$(dirname "$0")/../.."
mkdir -p "$out"
go build -o "$out/treeline" ./cmd/treeline
export PYTHONDONTWRITEBYTECODE=1

grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'
echo "$(nproc) processors, $(grep -qm1 avx512_vnni /proc/cpuinfo && echo avx512 || echo avx2), load $(cut -d' ' -f1 /proc/loadavg)"
for p in aiperf guidellm vllm; do echo "$p $("$peers/$p/bin/python" -c "import importlib.metadata as m; print(m.version('$p'))")"; done
echo
python3 bench/client/speed.py --treeline "$out/treeline"
echo
python3 bench/client/memory.py --treeline "$out/treeline" || true
echo
python3 bench/client/peers.py "$peers" --treeline "$out/treeline" --out "$out"
