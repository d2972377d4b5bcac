"""How does convqa serve behave under load? Throughput and latency with and without gathering, saturation and memory.

    python benchmarks/load.py [--passages 100000] [--questions 100] [--seconds 20] [--rounds 2] [--minutes 10]
        [--data ../shared/data]

Prints tables. Needs wrk (apt-get install wrk). The collection is that of benchmarks/lucene_equality.py, repeated under
new ids with two sentences of another passage each, up to the requested number; it has no vectors. The questions are
those of inscit_dev without history, the same for every way. Two servers run at the same time: one answers single
questions (batch.turns 1), the other gathers (32, 2 ms). wrk asks them in turn, at 1, 16 and 64 connections, so that
other work on the machine affects both. Everything runs on the loopback interface.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from _common import arguments
from lucene_equality import union  # the script next to this one

CONNECTIONS = (1, 16, 64)
Server = tuple[subprocess.Popen[str], str]
LUA = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local at = math.random(#bodies)
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function setup(thread) thread:set("seed", os.time()) end
request = function()
  at = at %% #bodies + 1
  return wrk.format(nil, "/api/turn", nil, bodies[at])
end
function done(summary, latency, requests)
  io.write(string.format('{"requests": %%d, "seconds": %%f, "p50": %%f, "p95": %%f, "p99": %%f, ' ..
    '"failed": %%d, "lost": %%d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(95) / 1e3, latency:percentile(99) / 1e3, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
"""


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=10, help="minutes to record memory; 0: skip")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        prepare(options, scratch)
        servers = {}
        try:
            for name, turns in (("one at a time", 1), ("gathered", 32)):
                servers[name] = start(scratch, name.replace(" ", "-"), turns)
            for _, address in servers.values():
                warm(scratch, address)
            compare(options, scratch, servers)
            saturate(scratch, servers["gathered"][1])
            if options.minutes:
                watch(options, scratch, *servers["gathered"])
        finally:
            for process, _ in servers.values():
                process.terminate()


def prepare(options: argparse.Namespace, scratch: Path) -> None:
    from convqa.indexing import index_sources

    own = [passage.to_json() for passage in union(options.data)]
    with (scratch / "passages.jsonl").open("w", encoding="utf-8") as out:
        for number in range(options.passages):
            passage = dict(own[number % len(own)])
            if again := number // len(own):
                other = own[(number * 7 + again) % len(own)]["text"]
                passage |= {"id": f"{passage['id']} {again}", "text": passage["text"] + " " + other[:200]}
            out.write(json.dumps(passage) + "\n")
    start = time.perf_counter()
    index_sources([scratch / "passages.jsonl"], str(scratch / "collection"))
    seconds = time.perf_counter() - start
    print(f"{options.passages:,} passages ({len(own):,} of them different), indexed in {seconds:.0f} s")
    questions = json.loads(
        (options.data / "conversations" / "inscit_dev" / "questions.json").read_text(encoding="utf-8")
    )
    asked = list(dict.fromkeys(one["Question"] for one in questions))[: options.questions]
    lines = [json.dumps({"question": question, "history": []}) + "\n" for question in asked]
    (scratch / "bodies").write_text("".join(lines), encoding="utf-8")
    (scratch / "ask.lua").write_text(LUA % (scratch / "bodies"), encoding="utf-8")
    print(f"{len(asked)} questions")


def start(scratch: Path, name: str, turns: int) -> Server:
    config = scratch / f"{name}.yaml"
    config.write_text(
        f"pipelines: {{talk: {{examples: []}}}}\nport: 0\nbatch: {{turns: {turns}}}\nlimits: {{waiting: 96}}\n"
        f'conversations: "{scratch / name}.sqlite"\n'
    )
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "convqa", "serve", "--collection", str(scratch / "collection"), "--config", str(config)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().split()[2]
    print(f"{name}: answering after {time.perf_counter() - begun:.1f} s")
    return process, address


def warm(scratch: Path, address: str) -> None:
    """Ask every question once, so that the cache has the vectors of candidates for both ways."""
    with httpx.Client(base_url=address, timeout=60) as client:
        for line in (scratch / "bodies").read_text(encoding="utf-8").splitlines():
            client.post("api/turn", content=line, headers={"Content-Type": "application/json"}).raise_for_status()


def wrk(scratch: Path, address: str, connections: int, seconds: int) -> dict[str, float]:
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--timeout",
        "60s",
        "-s",
        str(scratch / "ask.lua"),
        address,
    ]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures: dict[str, float] = json.loads(out.splitlines()[-1])
    return figures


def compare(options: argparse.Namespace, scratch: Path, servers: dict[str, Server]) -> None:
    print("\n| connections | way | turns a second | p50 | p95 | p99 (ms) | failed | lost |")
    print("|---|---|---|---|---|---|---|---|")
    for connections in CONNECTIONS:
        for _ in range(options.rounds):
            for name, (_, address) in servers.items():
                found = wrk(scratch, address, connections, options.seconds)
                rate = found["requests"] / found["seconds"]
                times = " | ".join(f"{found[key]:.0f}" for key in ("p50", "p95", "p99"))
                print(
                    f"| {connections} | {name} | {rate:.1f} | {times} | {found['failed']} | {found['lost']} |",
                    flush=True,
                )


def saturate(scratch: Path, address: str) -> None:
    """Open twice as many connections as may wait: some are refused and told when to retry."""
    found = wrk(scratch, address, 192, 10)
    said = f"{found['requests']:.0f} replies, {found['failed']:.0f} of them 503, {found['lost']:.0f} lost"
    print(f"\n192 connections, 96 may wait, 10 s: {said}")
    time.sleep(2)
    import asyncio

    async def at_once() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=address, timeout=60, limits=httpx.Limits(max_connections=200)) as client:
            body = {"question": "Who was Marie Curie?", "history": []}
            return await asyncio.gather(*(client.post("api/turn", json=body) for _ in range(192)))

    replies = asyncio.run(at_once())
    refused = [reply for reply in replies if reply.status_code == 503]
    told = sorted({reply.headers.get("Retry-After") for reply in refused}, key=str)
    print(f"192 at once: {len(replies) - len(refused)} answered, {len(refused)} refused, Retry-After {told}")


def watch(options: argparse.Namespace, scratch: Path, process: subprocess.Popen[str], address: str) -> None:
    """Record resident memory while 16 connections ask without a pause."""
    print("\n| minute | resident (MiB) | turns |\n|---|---|---|")
    print(f"| 0 | {resident(process.pid):.0f} | 0 |", flush=True)
    turns = 0
    for minute in range(1, int(options.minutes) + 1):
        turns += int(wrk(scratch, address, 16, 60)["requests"])
        print(f"| {minute} | {resident(process.pid):.0f} | {turns} |", flush=True)


def resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


if __name__ == "__main__":
    main()
