#!/usr/bin/env bash
# Greedy decoding of one GGUF file by llama.cpp's server and by `treeline serve`, 2 threads each, in alternating fresh
# starts on the same machine: an experiment of treeline's own (treeline run), so the machine must be idle.
#
#   RIG_HOME=DIR bench/llamacpp.sh MODEL.gguf [BLOCKS] [OUT]
#
# RIG_HOME holds an installed llama.cpp server: venv-llamacpp/bin/python with the package xllamacpp, and the runner
# llamacpp_run.py (arguments: model, port, mode, threads). Prints the verdict, and the memory of both servers.
set -euo pipefail
model=$(realpath "${1:?usage: RIG_HOME=DIR bench/llamacpp.sh MODEL.gguf [BLOCKS] [OUT]}")
blocks=${2:-4}
out=$(realpath -m "${3:-treeline-run-llamacpp}")
rig=$(realpath "${RIG_HOME:?the folder of an installed llama.cpp server}")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/treeline" ./cmd/treeline

cat >"$work/plan.yaml" <<EOF
schema: treeline.plan/1
name: greedy decoding, llama.cpp against treeline
blocks: $blocks
baseline: llamacpp
workload:
  per_category: 1
  max_tokens: 128
arms:
  - name: llamacpp
    method: none
    server: llamacpp
    command: ["$rig/venv-llamacpp/bin/python", "$rig/llamacpp_run.py", "$model", "{port}", ar, "2"]
  - name: treeline
    method: none
    treeline: {model: "$model", flags: [--threads, "2"]}
EOF
"$work/treeline" run "$work/plan.yaml" --out "$out" || echo "(exit $?)"

# Memory after one request, of the whole process.
rss() { # rss URL PID NAME
	"$work/treeline" bench "$1" --requests 4 --warmup 1 --max-tokens 128 --json >/dev/null 2>&1 || true
	awk -v name="$3" '/VmHWM|VmRSS/ {printf "%s %s %.0f MB\n", name, $1, $2/1024}' "/proc/$2/status"
}
"$work/treeline" serve "$model" --threads 2 --port 18431 2>/dev/null &
pid=$!
until curl -sf http://127.0.0.1:18431/health >/dev/null; do sleep 0.2; done
rss http://127.0.0.1:18431 $pid treeline
kill $pid
"$rig/venv-llamacpp/bin/python" "$rig/llamacpp_run.py" "$model" 18432 ar 2 >/dev/null 2>&1 &
pid=$!
until curl -sf http://127.0.0.1:18432/health >/dev/null; do sleep 0.2; done
rss http://127.0.0.1:18432 $pid llamacpp
kill $pid
