#!/usr/bin/env bash
# Does the client cry wolf, and does it keep silent when it should not? Runs `treeline bench` against `treeline simulate`
# (20 ms to the first token, 5 ms a token) RUNS times on the machine as it is and RUNS times with SPIN endless loops per
# processor beside it, and prints what the client saw of itself. All quiet runs must be valid and all busy ones invalid
# because of client_bound; the exit code says so. Before that: what the sentinel's sender costs, and the certificate.
#
#   bench/certify.sh [path to treeline]      RUNS=20 SPIN=2 TOKENS="64 128"
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUNS:-20} spin=${SPIN:-2} tokens=(${TOKENS:-64 128})
work=$(mktemp -d)
pids=()
cleanup() { [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"; }
trap cleanup EXIT
treeline=${1:-$work/treeline}
[ -n "${1:-}" ] || go build -o "$treeline" ./cmd/treeline

# start FILE COMMAND...: starts a server, whose address is then in $url.
start() {
  local out=$1
  shift
  "$@" >"$out" 2>"$out.err" &
  pids+=($!)
  for _ in $(seq 100); do
    url=$(sed -n 's/^listening on //p' "$out")
    [ -z "$url" ] || return 0
    sleep 0.1
  done
  echo "no server: $(cat "$out.err")" >&2
  exit 1
}

# cpu PID: processor time so far of all its threads, in microseconds.
cpu() { cat /proc/"$1"/task/*/schedstat | awk '{s += $1} END {printf "%d", s / 1000}'; }

# number OBJECT KEY: the member KEY in the first object named OBJECT of $work/out.json.
number() { awk -v o="\"$1\": {" -v k="\"$2\":" 'index($0, o) {on = 1} on && $1 == k {gsub(/[",]/, "", $2); print $2; exit}' "$work/out.json"; }

echo "$(date -u +%F) $(uname -sr), $(nproc) processors, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), model $(sed -n 's/^model[ \t]*: //p' /proc/cpuinfo | head -1), load $(cut -d' ' -f1-3 /proc/loadavg)"

start "$work/clock" "$treeline" simulate --mode clock
clock=$url clockpid=$!
curl -sN -o "$work/null" "$clock/v1/chat/completions" -d '{"events":240,"gap_ns":25000000,"bytes":90}' &
sleep 0.5
before=$(cpu "$clockpid")
sleep 5
awk -v us=$(($(cpu "$clockpid") - before)) 'BEGIN {printf "sentinel at 40 events/s: its sender takes %.2f %% of a core, %.0f microseconds an event\n\n", us / 5e4, us / 200}'
wait $! || true
kill "$clockpid"

start "$work/server" "$treeline" simulate
failed=0
# series NAME WANTED: RUNS runs, half of them with each length of answers.
series() {
  local right=0
  printf '\n%s\n%4s %6s %8s %9s %9s %9s %6s %6s %8s  %s\n' "$1" run tokens verdict p50,ms p99,ms max,ms n others ttft,ms "why invalid"
  for i in $(seq "$runs"); do
    local n=${tokens[$(((i - 1) % ${#tokens[@]}))]} code=0
    "$treeline" bench "$url" --requests 8 --warmup 1 --max-tokens "$n" --json >"$work/out.json" 2>"$work/err" || code=$?
    local verdict=valid why
    why=$(sed -n 's/.*the result is invalid: //p' "$work/err" | cut -c1-150)
    [ "$code" = 0 ] || verdict="exit $code"
    [[ "$code" != 4 || "$why" != *client_bound* ]] || verdict=bound
    [ "$verdict" != "$2" ] || right=$((right + 1))
    printf '%4d %6d %8s %9.3f %9.3f %9.3f %6d %5.0f%% %8.2f  %s\n' "$i" "$n" "$verdict" "$(number during stamp_lag_p50_ms)" "$(number during stamp_lag_p99_ms)" \
      "$(number during stamp_lag_max_ms)" "$(number during n)" "$(awk -v v="$(number client background_cpu)" 'BEGIN {print 100 * v}')" "$(number ttft_ms p50)" "$why"
  done
  echo "$1: $right of $runs are $2"
  [ "$right" = "$runs" ] || failed=1
}
series "machine as it is" valid
for _ in $(seq $((spin * $(nproc)))); do
  sh -c 'while :; do :; done' &
  pids+=($!)
done
sleep 1
series "$spin endless loops per processor" bound
exit $failed
