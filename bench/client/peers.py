#!/usr/bin/env python3
"""Treeline, aiperf, guidellm and `vllm bench serve` side by side on streams of known truth.

    bench/client/peers.py PEERS [--treeline FILE] [--out FOLDER] [--rounds N] [--only specs|rates] [--tools a,b]

PEERS is the folder that install.sh filled. Each tool gets a fresh `treeline simulate` of the same spec, the same number
of requests, in flight and tokens, one tool after the other, in an order that rotates from run to run. The truth is the
moments at which the server's writes returned (its /truth), not what it had planned. Prints two Markdown tables and
writes every figure to FOLDER/results.jsonl. Standard library only.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import truth
from tools import TOOLS, Load

HERE = pathlib.Path(__file__).resolve().parent
# What each stream is for; the file is specs/NAME.yaml.
SPECS = {
    "plain": "one token an event",
    "bursts": "speculative: several tokens an event",
    "reasoning": "reasoning tokens before the answer",
    "role-first": "role event at once, then a long prefill",
    "no-usage": "server tells no token counts, three tokens an event",
    "error-in-200": "a quarter of the streams break with an error object",
}
RATES = [500, 1000, 2000, 5000, 10000, 20000, 50000]
STREAMS = 16
LIMIT = 1.0  # per cent
SECONDS = 180  # for one run of one tool


def main():
    a = arguments()
    a.out.mkdir(parents=True, exist_ok=True)
    log = open(a.out / "results.jsonl", "a", encoding="utf-8")
    tools = [t for t in TOOLS if t in a.tools]
    runs = 0

    def measure(name, spec, tool, load):
        nonlocal runs
        runs += 1
        folder = a.out / f"{runs:03d}-{name}-{tool}"
        folder.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with truth.Server(a.treeline, spec, folder) as server:
            said, failed = run_tool(TOOLS[tool], server.url, load, a.peers, a.treeline, folder)
            true = truth.figures(server.truth(), load.requests, load.streams, load.breaks)
        row = {"point": name, "tool": tool, "said": said, "true": true, "failed": failed,
               "seconds": round(time.monotonic() - began, 1)}
        log.write(json.dumps(row) + "\n")
        log.flush()
        print(f"{name:12s} {tool:9s} {row['seconds']:5.1f} s  {failed or brief(errors(row))}", file=sys.stderr)
        return row

    rows = []
    if a.only in (None, "specs"):
        for round_ in range(a.rounds):
            for i, name in enumerate(SPECS):
                load = Load(64, STREAMS, 128, usage=name != "no-usage", breaks=name == "error-in-200")
                for tool in rotated(tools, i + round_):
                    rows.append(measure(name, HERE / "specs" / f"{name}.yaml", tool, load))
        print_specs(rows, tools)
    if a.only in (None, "rates"):
        rows = []
        gone = {t: 0 for t in tools}  # rates in a row at which the tool's TPOT was off; after two it is not tried further
        for i, rate in enumerate(RATES):
            tokens = max(64, rate * 2 // STREAMS)  # two waves of two seconds
            spec = a.out / f"rate-{rate}.yaml"
            spec.write_text(truth.rate_spec(rate, STREAMS))
            for tool in rotated(tools, i):
                if gone[tool] >= 2:
                    continue
                row = measure(f"rate-{rate}", spec, tool, Load(2 * STREAMS, STREAMS, tokens))
                rows.append(row | {"rate": rate})
                tpot = errors(row).get("tpot_median")
                off = row["failed"] or tpot is None or abs(tpot) > LIMIT
                gone[tool] = gone[tool] + 1 if off else 0
        print_rates(rows, tools)
    for tool in tools:
        TOOLS[tool].close()


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("peers", type=pathlib.Path, help="folder that install.sh filled")
    p.add_argument("--treeline", type=pathlib.Path, default=pathlib.Path("treeline"), help="binary (default: ./treeline)")
    p.add_argument("--out", type=pathlib.Path, default=pathlib.Path("peers-results"))
    p.add_argument("--rounds", type=int, default=1, help="how often each spec is measured; the table shows medians")
    p.add_argument("--only", choices=["specs", "rates"])
    p.add_argument("--tools", type=lambda s: s.split(","), default=list(TOOLS), help="some of " + ",".join(TOOLS))
    a = p.parse_args()
    a.peers, a.treeline, a.out = a.peers.resolve(), a.treeline.resolve(), a.out.resolve()
    if not os.access(a.treeline, os.X_OK):
        p.error(f"{a.treeline}: no such program; go build -o treeline ./cmd/treeline")
    unknown = [t for t in a.tools if t not in TOOLS]
    if unknown:
        p.error(f"unknown tool {unknown[0]}")
    return a


def run_tool(tool, url, load, peers, treeline, folder):
    """Runs one tool. Returns its figures, and what went wrong or None."""
    code = tool.run(url, load, peers, treeline, folder, SECONDS)
    if code is None:
        return {}, f"no end after {SECONDS} s"
    try:
        return tool.read(folder), None
    except (OSError, KeyError, ValueError, TypeError, IndexError) as e:
        return {}, f"exit code {code}, no result ({type(e).__name__}: {e})"


def rotated(names, by):
    by %= len(names)
    return names[by:] + names[:by]


def errors(row):
    """Relative error in per cent of each figure that the tool gave; None where it gave none."""
    out = {}
    true = row["true"]
    if row["tool"] == "treeline":
        true = true | {"tok_s": true["tok_s_steady"]}
    for key, true in true.items():
        said = row["said"].get(key)
        out[key] = None if said is None or not true else 100 * (said / true - 1)
    other = row["said"].get("other")
    if other and other[1] is not None:
        out["other"] = (other[0], 100 * (other[1] / row["true"]["tpot_median"] - 1))
    return out


def brief(e):
    return "  ".join(f"{k} {cell(e[k])}" for k in ("ttft_median", "tpot_median", "tok_s"))


def cell(v):
    return "-" if v is None else f"{v:+.2f} %" if abs(v) < 10 else f"{v:+.0f} %"


KEYS = ("ttft_median", "ttft_mean", "tpot_median", "tpot_mean", "tok_s")


def middle(rows, key):
    values = [v for v in (errors(r).get(key) for r in rows) if v is not None]
    return statistics.median(values) if values else None


def print_specs(rows, tools):
    print("| stream | tool | TTFT, median | TTFT, mean | TPOT, median | TPOT, mean | tokens/s | its other figure, median | good requests |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in SPECS:
        for tool in tools:
            mine = [r for r in rows if r["point"] == name and r["tool"] == tool]
            failed = [r["failed"] for r in mine if r["failed"]]
            if failed:
                print(f"| {name} | {tool} | {failed[0]} | | | | | | |")
                continue
            others = [errors(r)["other"] for r in mine if "other" in errors(r)]
            other = f"{others[0][0]} {cell(statistics.median(o[1] for o in others))}" if others else ""
            print(f"| {name} | {tool} | " + " | ".join(cell(middle(mine, k)) for k in KEYS) + f" | {other} | {mine[0]['said']['good']:.0f} of {mine[0]['true']['good']} |")


RATE_KEYS = {"tpot_median": "TPOT", "tok_s": "tokens/s", "ttft_median": "TTFT"}


def print_rates(rows, tools):
    print("\nMedian TPOT / tokens a second / median TTFT, and in brackets the events a second that the server wrote over the run.")
    print("\n| events/s | " + " | ".join(f"{t}" for t in tools) + " |")
    print("|---|" + "---|" * len(tools))
    for rate in RATES:
        cells = []
        for tool in tools:
            r = next((r for r in rows if r["rate"] == rate and r["tool"] == tool), None)
            if r is None:
                cells.append("not run")
            elif r["failed"]:
                cells.append(r["failed"])
            else:
                e = errors(r)
                cells.append(" / ".join(cell(e[k]) for k in RATE_KEYS) + f" ({r['true']['events_s']:,.0f})")
        print(f"| {rate:,} | " + " | ".join(cells) + " |")
    for key, label in RATE_KEYS.items():
        print(f"| {label} leaves 1 % at | " + " | ".join(leaves(rows, t, key) for t in tools) + " |")


def leaves(rows, tool, key):
    """The first rate at which the figure is off by more than the limit, or above the last one tried."""
    mine = [r for r in rows if r["tool"] == tool]
    for r in mine:
        v = errors(r).get(key)
        if v is None or abs(v) > LIMIT:
            return f"{r['rate']:,}"
    return f"not up to {mine[-1]['rate']:,}" if mine else "-"


if __name__ == "__main__":
    main()
