#!/usr/bin/env python3
"""How late the client's stamps are at high event rates, and the highest rate that it is certified for here.

    bench/client/speed.py [--treeline FILE] [--rounds 3] [--duration 4s]

Runs `treeline check --client` at each rate in turn, round after round: the sender is another process on the same cores,
and a lag is the time from its writing an event to the client's stamp. The table has the median round and, for p99 lag,
also the worst one. The last lines are the ladder that `check --client` climbs without --rate.
"""
import argparse
import json
import pathlib
import statistics
import subprocess

POINTS = [(streams, rate) for streams in (16, 1000) for rate in (10000, 25000, 50000)]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--treeline", type=pathlib.Path, default=pathlib.Path("treeline"))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--duration", default="4s")
    a = p.parse_args()
    steps = {point: [] for point in POINTS}
    for _ in range(a.rounds):
        for streams, rate in POINTS:
            c = check(a.treeline, "--streams", str(streams), "--rate", str(rate), "--duration", a.duration)
            steps[streams, rate].append(c["steps"][-1])
    ladder = check(a.treeline)
    m = ladder["machine"]
    isa = "avx512" if "avx512vnni" in m["isa"] else "avx2" if "avx2" in m["isa"] else ", ".join(m["isa"])
    print(f"{m['cpu']}, {m['cores']} cores for client and sender together, {isa}, {m['go']}\n")
    print("| streams | events/s | reached | lag p50, ms | p90 | p99 | p99, worst round | CPU, both processes | certified |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (streams, rate), found in steps.items():
        mid = {k: statistics.median(s[k] for s in found) for k in found[0] if isinstance(found[0][k], (int, float))}
        worst = max(s["stamp_lag_p99_ms"] for s in found)
        print(f"| {streams:,} | {rate:,} | {mid['events_per_s']:,.0f} | {mid['stamp_lag_p50_ms']:.3f} | {mid['stamp_lag_p90_ms']:.3f} "
              f"| {mid['stamp_lag_p99_ms']:.3f} | {worst:.3f} | {100 * mid['own_cpu']:.0f} % "
              f"| {sum(s['certified'] for s in found)} of {len(found)} |")
    print("\nThe ladder: " + "; ".join(f"{h['streams']:,} streams up to {h['events_per_s']:,.0f} events/s"
                                    for h in ladder["highest"]))


def check(treeline, *flags):
    """One certificate. Exit code 4 says that it is not certified, which is a result."""
    done = subprocess.run([treeline.resolve(), "check", "--client", "--json", *flags], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        raise SystemExit(f"treeline check --client: {done.stderr.strip()}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
