"""Runs `vllm bench serve` again and again from one import, which alone takes some 20 seconds.

Run by vLLM's own Python. Each line on standard input is a JSON object {"args": [...], "log": FILE, "seconds": N}; a fresh
fork runs vLLM's unchanged command with these arguments, and its exit code, or null after N seconds, is the answer line.
"""
import json
import os
import signal
import sys
import time

from vllm.benchmarks import serve
from vllm.utils.argparse_utils import FlexibleArgumentParser


def child(task):
    log = os.open(task["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    parser = FlexibleArgumentParser()
    serve.add_cli_args(parser)
    serve.main(parser.parse_args(task["args"]))
    sys.stdout.flush()


for line in sys.stdin:
    task = json.loads(line)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child(task)
            code = 0
        except BaseException:  # the parent wants an exit code, whatever happened
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    deadline = time.monotonic() + task["seconds"]
    done, status = 0, 0
    while not done and time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.05)
    if not done:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    print(json.dumps(os.waitstatus_to_exitcode(status) if done else None), flush=True)
