"""How each tool is called and where its figures stand. Times are returned in seconds.

A tool's TPOT is what it prints under that name, or its nearest of the same meaning: time per output token without the
first. "other" is a second figure that readers take for the same thing, with its name.
"""
import dataclasses
import json
import os
import pathlib
import subprocess


@dataclasses.dataclass
class Load:
    """What every tool is to send."""
    requests: int
    streams: int  # in flight
    tokens: int   # of an answer
    usage: bool = True   # the server tells token counts
    breaks: bool = False  # some streams end with an error


def prompts(folder, key, n, **more):
    """A file of n different prompts in one tool's shape."""
    path = folder / "prompts.jsonl"
    with open(path, "w", encoding="utf-8") as f:
        for i in range(n):
            f.write(json.dumps({key: f"Request {i}: tell us something about the number {i}."} | more) + "\n")
    return path


class Tool:
    """What tools have in common: one command a run."""

    def run(self, url, load, peers, treeline, folder, seconds):
        """Runs the tool, its output into folder/log. Returns the exit code, or None when it took too long."""
        command, env = self.command(url, load, peers, treeline, folder)
        with open(folder / "log", "w", encoding="utf-8") as log:
            log.write(" ".join(map(str, command)) + "\n")
            log.flush()
            try:
                return subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, env=os.environ | env,
                                      timeout=seconds, check=False).returncode
            except subprocess.TimeoutExpired:
                return None

    def close(self):
        pass


class Treeline(Tool):
    def command(self, url, load, peers, treeline, folder):
        file = prompts(folder, "prompt", load.requests)
        return [treeline, "bench", url, "--model", "sim", "--concurrency", str(load.streams), "--requests", str(load.requests),
                "--warmup", "0", "--max-tokens", str(load.tokens), "--prompts", file, "--out", folder / "run"], {}

    def read(self, folder):
        b = json.loads((folder / "run" / "baseline.json").read_text())
        m = b["metrics"]

        def get(name, key):
            return m[name][key] if name in m else None

        def seconds(name, key):
            v = get(name, key)
            return None if v is None else v / 1e3

        return {"ttft_mean": seconds("ttft_ms", "mean"), "ttft_median": seconds("ttft_ms", "p50"),
                "tpot_mean": seconds("tpot_ms", "mean"), "tpot_median": seconds("tpot_ms", "p50"),
                "tok_s": get("output_tok_s", "mean"), "good": b["requests"]["ok"] + b["requests"]["excluded"],
                "other": ("ICL", seconds("icl_ms", "p50"))}


class AIPerf(Tool):
    def command(self, url, load, peers, treeline, folder):
        file = prompts(folder, "text", load.requests)
        # HF_HUB_OFFLINE must not be set: then it looks for a local folder in the hub's cache and refuses it.
        return [peers / "aiperf/bin/aiperf", "profile", "--model", "sim", "--url", url, "--endpoint-type", "chat",
                "--streaming", "--tokenizer", peers / "tokenizer", *(["--use-server-token-count"] if load.usage else []),
                "--input-file", file, "--custom-dataset-type", "single-turn", "--osl", str(load.tokens),
                "--use-legacy-max-tokens", "--concurrency", str(load.streams), "--request-count", str(load.requests),
                "--ui", "none", "--no-server-metrics", "--no-gpu-telemetry", "--artifact-dir", folder / "aiperf"], {}

    def read(self, folder):
        m = json.loads((folder / "aiperf" / "profile_export_aiperf.json").read_text())

        def ms(name, key):
            return m[name][key] / 1e3 if name in m else None

        return {"ttft_mean": ms("time_to_first_token", "avg"), "ttft_median": ms("time_to_first_token", "p50"),
                "tpot_mean": ms("inter_token_latency", "avg"), "tpot_median": ms("inter_token_latency", "p50"),
                "tok_s": m["output_token_throughput"]["avg"] if "output_token_throughput" in m else None,
                "good": m["request_count"]["avg"], "other": ("inter chunk latency", ms("inter_chunk_latency", "p50"))}


class GuideLLM(Tool):
    def command(self, url, load, peers, treeline, folder):
        file = prompts(folder, "prompt", load.requests, output_tokens_count=load.tokens)
        return [peers / "guidellm/bin/guidellm", "run", "--backend", f"kind=openai_http,target={url},model=sim",
                "--profile", f"kind=concurrent,streams={load.streams}", "--constraint", f"kind=max_requests,count={load.requests}",
                "--tokenizer", f"kind=huggingface_auto,model={peers / 'tokenizer'}", "--data", f"kind=json_file,path={file}",
                "--disable-console", "--output", f"kind=json,path={folder / 'guidellm.json'}"], {"HF_HUB_OFFLINE": "1"}

    def read(self, folder):
        m = json.loads((folder / "guidellm.json").read_text())["benchmarks"][0]["metrics"]

        def get(name, key):
            v = m[name]["successful"]
            return v[key] if v and v.get("count") else None

        def ms(name, key):
            v = get(name, key)
            return None if v is None else v / 1e3

        return {"ttft_mean": ms("time_to_first_token_ms", "mean"), "ttft_median": ms("time_to_first_token_ms", "median"),
                "tpot_mean": ms("inter_token_latency_ms", "mean"), "tpot_median": ms("inter_token_latency_ms", "median"),
                "tok_s": get("output_tokens_per_second", "mean"), "good": m["request_totals"]["successful"],
                "other": ("time per output token", ms("time_per_output_token_ms", "median"))}


class VLLM(Tool):
    process = None  # see vllm_bench.py

    def run(self, url, load, peers, treeline, folder, seconds):
        file = prompts(folder, "prompt", load.requests)
        args = ["--backend", "openai-chat", "--base-url", url, "--endpoint", "/v1/chat/completions", "--model", "sim",
                "--tokenizer", peers / "tokenizer", "--dataset-name", "custom", "--dataset-path", file,
                "--custom-output-len", load.tokens, "--skip-chat-template", "--disable-shuffle",
                "--num-prompts", load.requests, "--max-concurrency", load.streams, "--num-warmups", 0,
                "--ready-check-timeout-sec", 0, "--disable-tqdm", "--percentile-metrics", "ttft,tpot,itl",
                "--save-result", "--result-dir", folder, "--result-filename", "vllm.json"]
        if self.process is None:
            script = pathlib.Path(__file__).resolve().parent / "vllm_bench.py"
            self.process = subprocess.Popen([peers / "vllm/bin/python", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True, env=os.environ | {"HF_HUB_OFFLINE": "1"})
        task = {"args": [str(a) for a in args], "log": str(folder / "log"), "seconds": seconds}
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        while line := self.process.stdout.readline():
            if line.strip() == "null" or line.strip().lstrip("-").isdigit():  # imports may talk on standard output
                return json.loads(line)
        raise RuntimeError("vLLM's client did not start: is it installed?")

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()

    def read(self, folder):
        m = json.loads((folder / "vllm.json").read_text())
        if not m["completed"]:
            raise ValueError("no request completed")
        s = {k: m[k] / 1e3 for k in ("mean_ttft_ms", "median_ttft_ms", "mean_tpot_ms", "median_tpot_ms", "median_itl_ms")}
        return {"ttft_mean": s["mean_ttft_ms"], "ttft_median": s["median_ttft_ms"], "tpot_mean": s["mean_tpot_ms"],
                "tpot_median": s["median_tpot_ms"], "tok_s": m["output_throughput"], "good": m["completed"],
                "other": ("ITL", s["median_itl_ms"])}


TOOLS = {"treeline": Treeline(), "aiperf": AIPerf(), "guidellm": GuideLLM(), "vllm": VLLM()}
