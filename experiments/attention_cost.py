"""Time one attention head as the sequence grows, on one thread, and store the result.

Usage: attention_cost.py [DATE]    DATE as 2026-01-31; that of the last commit by default.
Writes results/attention_cost.json beside this file in a few seconds.  The chapter on task heads plots it.
"""

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "attention_cost.json"
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
WIDTH, REPEATS, SEED = 64, 12, 6206


def explicit(X, Q, K, V, W):
    """Scores, softmax and mixture, each stored whole."""
    return torch.softmax(Q @ K.T / WIDTH**0.5, dim=1) @ V


def fused(X, Q, K, V, W):
    """PyTorch's own attention, which may work tile by tile."""
    return F.scaled_dot_product_attention(Q[None, None], K[None, None], V[None, None])[0, 0]


def projections(X, Q, K, V, W):
    """The four maps around a head: queries, keys, values, output."""
    return [X @ W.T for _ in range(4)]


WAYS = {way.__name__: way for way in (explicit, fused, projections)}


def processor() -> str:
    """The processor's name, as far as the operating system tells it."""
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in info.read_text().splitlines()
             if line.startswith("model name")] if info.is_file() else []
    return (names or [platform.processor() or platform.machine()])[0]


def seconds_of(way, arrays) -> float:
    """Processor seconds of one call, averaged over a few where a call is short."""
    calls = max(1, 2048 // len(arrays[0]))
    start = time.thread_time()
    for _ in range(calls):
        way(*arrays)
    return (time.thread_time() - start) / calls


def measure(lengths=LENGTHS, repeats: int = REPEATS) -> dict:
    """Processor seconds of each way at each length: {way: [seconds, ...]}.

    The smallest of several measurements, because what disturbs one can only add to it.  A round goes through
    all lengths and ways, so a disturbance falls on different ones; the first round warms up and is not counted.
    """
    torch.manual_seed(SEED)
    arrays = {T: (*torch.randn(4, T, WIDTH), torch.randn(WIDTH, WIDTH)) for T in lengths}
    rounds = [{name: [seconds_of(way, arrays[T]) for T in lengths] for name, way in WAYS.items()}
              for _ in range(repeats + 1)][1:]
    return {name: [float(f"{min(times):.3g}") for times in zip(*(done[name] for done in rounds))] for name in WAYS}


def main(date: str):
    torch.set_num_threads(1)
    with torch.inference_mode():
        seconds = measure()
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else "unknown"
    provenance = {
        "date": date, "script": "experiments/attention_cost.py", "seed": SEED,
        "processor": processor(), "processors": os.cpu_count(), "load": load, "system": platform.system(),
        "python": platform.python_version(), "torch": torch.__version__, "threads": torch.get_num_threads(),
        "type": "float32", "batch": 1, "heads": 1,
        "repeats": REPEATS, "kept": "smallest repeat", "clock": "processor time of the thread"}
    RESULTS.parent.mkdir(exist_ok=True)
    text = json.dumps({"provenance": provenance, "width": WIDTH, "lengths": LENGTHS, "seconds": seconds}, indent=1)
    RESULTS.with_suffix(".part").write_text(text + "\n", encoding="utf-8")
    RESULTS.with_suffix(".part").replace(RESULTS)
    print(f"{RESULTS.name}: {len(LENGTHS)} lengths on {provenance['processor']}")


if __name__ == "__main__":
    last_commit = ["git", "log", "-1", "--format=%cs"]
    main(sys.argv[1] if len(sys.argv) > 1 else
         subprocess.run(last_commit, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip())
