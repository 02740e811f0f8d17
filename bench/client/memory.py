#!/usr/bin/env python3
"""Peak memory of a run that records many long streams.

    bench/client/memory.py [--treeline FILE] [--streams 1000] [--events 4096] [--rate 40000]

`treeline bench --out` against `treeline simulate`: all streams at once, one token an event, raw streams on disk. Prints
the largest resident set of the bench process as the kernel counted it, and checks that every event was recorded.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import truth
from tools import prompts

LIMIT_MB = 300


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--treeline", type=pathlib.Path, default=pathlib.Path("treeline"))
    p.add_argument("--streams", type=int, default=1000)
    p.add_argument("--events", type=int, default=4096, help="per stream")
    p.add_argument("--rate", type=int, default=40000, help="events a second over all streams")
    a = p.parse_args()
    need = a.streams + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < need:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(need, hard), hard))
    with tempfile.TemporaryDirectory() as tmp:
        measure(a, pathlib.Path(tmp))


def measure(a, folder):
    spec = folder / "spec.yaml"
    spec.write_text(truth.rate_spec(a.rate, a.streams))
    with truth.Server(a.treeline.resolve(), spec, folder) as server:
        command = [a.treeline.resolve(), "bench", server.url, "--model", "sim", "--concurrency", str(a.streams),
                   "--requests", str(a.streams), "--warmup", "0", "--max-tokens", str(a.events),
                   "--prompts", prompts(folder, "prompt", a.streams), "--out", folder / "run"]
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        took = time.monotonic() - began
    requests = json.loads((folder / "run" / "baseline.json").read_text())["requests"]
    size = sum(f.stat().st_size for f in (folder / "run").rglob("*") if f.is_file())
    mb = usage.ru_maxrss / 1024
    print("| streams | events each | ok | seconds | CPU seconds | run folder | peak memory |\n|---|---|---|---|---|---|---|")
    print(f"| {a.streams} | {a.events} | {requests['ok']} | {took:.0f} | {usage.ru_utime + usage.ru_stime:.0f} "
          f"| {size / 1e6:.0f} MB | {mb:.0f} MB |")
    if requests["ok"] != a.streams or mb >= LIMIT_MB:
        print(f"exit code {os.waitstatus_to_exitcode(status)}; wanted {a.streams} ok under {LIMIT_MB} MB\n{said}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
