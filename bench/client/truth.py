"""The server of known truth: starting it, and what its /truth says in terms of the figures that tools print."""
import json
import statistics
import subprocess
import urllib.request


class Server:
    """A `treeline simulate` of one spec on a free port, for as long as the with block lasts."""

    def __init__(self, treeline, spec, folder):
        self.command = [treeline, "simulate", spec, "--exit-with-stdin"]
        self.log = folder / "server.log"

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        first = self.process.stdout.readline()
        if not first.startswith("listening on "):
            self.process.wait()
            raise RuntimeError(f"{' '.join(map(str, self.command))}: {self.log.read_text().strip()}")
        self.url = first.split()[-1]
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=10)

    def truth(self):
        with urllib.request.urlopen(self.url + "/truth", timeout=30) as r:
            return json.load(r)


def figures(requests, count, streams, breaks):
    """The true figures of the last count requests, in seconds and tokens a second, from the moments of the writes.
    breaks says that the spec breaks streams of one token an event off: they are in no figure but events_s."""
    requests = sorted(requests, key=lambda r: r["read"])[-count:]
    if len(requests) < count:
        raise ValueError(f"the server saw {len(requests)} requests, not {count}")
    good = [r for r in requests if not breaks or r["events"] == r["tokens"]]
    ttft = [(r["first"] - r["read"]) / 1e9 for r in good]
    tpot = [(r["last"] - r["first"]) / 1e9 / (r["tokens"] - r["n_first"]) for r in good if r["tokens"] > r["n_first"]]
    begin, end = requests[0]["read"], max(r["last"] for r in requests)
    span = (end - begin) / 1e9
    return {"ttft_mean": statistics.mean(ttft), "ttft_median": statistics.median(ttft),
            "tpot_mean": statistics.mean(tpot), "tpot_median": statistics.median(tpot),
            "tok_s": sum(r["tokens"] for r in good) / span, "tok_s_steady": steady(good, streams),
            "events_s": sum(r["events"] for r in requests) / span, "good": len(good)}


def steady(requests, streams):
    """Tokens a second while all streams were in flight, which is what treeline's output_tok_s is. /truth has the first and
    the last token of a stream; the events between are taken as evenly spaced, as the specs make them."""
    sent = sorted(r["read"] for r in requests)
    over = sorted(r["last"] for r in requests)
    begin, end = sent[0], over[-1]
    if len(requests) > streams > 1 and over[-streams] > sent[streams - 1]:
        begin, end = sent[streams - 1], over[-streams]
    total = 0.0
    for r in requests:
        if begin < r["first"] <= end:
            total += r["n_first"]
        rest = r["events"] - 1
        if rest > 0:
            gap = (r["last"] - r["first"]) / rest
            inside = min(rest, (end - r["first"]) // gap) - max(0, (begin - r["first"]) // gap)
            total += max(0, inside) * (r["tokens"] - r["n_first"]) / rest
    return total / ((end - begin) / 1e9)


def rate_spec(rate, streams):
    """A plain stream whose events come at rate a second over all streams."""
    return f"# {rate} events a second over {streams} streams\nmodel: sim\nttft: 100ms\ntpot: {1e9 * streams / rate:.0f}ns\nvary: {{request: 0.02}}\n"
