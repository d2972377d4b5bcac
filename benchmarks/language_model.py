"""What becomes of a language model's replies? Replays recorded ones through the door that people use.

    python benchmarks/language_model.py [REPLIES.jsonl] [--list] [--rate TOKENS]

A server of this process answers the requests of ``convqa.load(..., llm=...)`` with the recorded reply, its numbers
mapped to the passages of the prompt. Prints how many of the sentences, all right, are shown without a mark, marked, and
left out, with their markers and with every marker removed; how many answers have a mark; how many wrong variants
(``benchmarks/falsified.py``) are marked, by kind; and tokens and calls. ``--rate``: measures the time to the first
sentence with a server that writes so many tokens a second.

REPLIES.jsonl is by default ``benchmarks/recorded.jsonl.xz``: 432 turns over the twelve collections of ``held-out.txt``
in ``recipes/conversations.tar.xz``, answered by a strong model. A line: collection, turn, question, passages (n, id,
title, text, units, meta), sentences (text, cites, item).
"""

from __future__ import annotations

import json
import lzma
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from _common import arguments, table
from falsified import KINDS, falsified, nowhere

import convqa
from convqa.domain import Exchange, Passage, Response, Unit
from convqa.pipeline.llm import Llm

SHOWN = re.compile(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |^end of passages)", re.M | re.S)
RECORDED = Path(__file__).with_name("recorded.jsonl.xz")

Sentences = list[tuple[str, list[str]]]
"""(text with its item's mark, ids of the passages that it cites)."""


class Model:
    """A server that replies with ``sentences``."""

    def __init__(self, rate: float) -> None:
        self.sentences: Sentences = []
        self.passages: dict[str, str] = {}
        self.tokens: Counter[str] = Counter()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = "\n".join(message["content"] for message in body["messages"])
                is_answer = "end of passages" in prompt
                said = [json.loads(one) for one in re.findall(r'^(?:user|Last \w+): (".*")$', prompt, re.M)]
                # Where this loses a reference, the question before has it.
                text = outer.reply(prompt) if is_answer else json.dumps({"query": " ".join(said[-2:])})
                usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4, "total_tokens": 0}
                outer.tokens.update(calls=1, prompt=usage["prompt_tokens"], completion=usage["completion_tokens"])
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
                self.end_headers()
                if not body.get("stream"):
                    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                    self.wfile.write(json.dumps(completion("chat.completion", [choice], usage=usage)).encode())
                    return
                for part in re.findall(r"\s*\S+|\s+\Z", text):
                    self.send({"content": part}, None)
                    if rate:
                        time.sleep(len(part) / 4 / rate)
                self.send({}, "stop")
                self.write(completion("chat.completion.chunk", [], usage=usage))
                self.wfile.write(b"data: [DONE]\n\n")

            def send(self, delta: dict[str, str], finish: str | None) -> None:
                choice = {"index": 0, "delta": delta, "finish_reason": finish}
                self.write(completion("chat.completion.chunk", [choice]))

            def write(self, data: Any) -> None:
                self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
                self.wfile.flush()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.llm = Llm(url=f"http://127.0.0.1:{self._server.server_address[1]}/v1", model="recorded")

    def reply(self, prompt: str) -> str:
        numbers = {}
        for number, shown in SHOWN.findall(prompt):
            for id, text in self.passages.items():
                if same(text)[:60] in same(shown):
                    numbers[id] = number
        return "\n".join(
            text + "".join(f" [{numbers[id]}]" for id in ids if id in numbers) for text, ids in self.sentences
        )


def completion(kind: str, choices: list[Any], **more: Any) -> dict[str, Any]:
    return {"id": "x", "object": kind, "created": 0, "model": "recorded", "choices": choices, **more}


def same(text: str) -> str:
    return re.sub(r"\W+", "", text)


def turns(path: Path) -> Iterator[tuple[dict[str, Any], list[Exchange]]]:
    """Yield each turn with the exchanges before it."""
    history: dict[str, list[Exchange]] = {}
    data = path.read_bytes()
    for line in (lzma.decompress(data) if path.suffix == ".xz" else data).splitlines():
        turn = json.loads(line)
        before = history.setdefault(turn["collection"], [])
        yield turn, [*before]
        before.append(Exchange(turn["question"], " ".join(sentence["text"] for sentence in turn["sentences"])))


def fate(response: Response, text: str) -> str:
    """Return whether a sentence is "shown", "marked", or "left out"."""
    shown = response.answer.sentences if response.answer else ()
    for sentence in shown:
        if same(text) in same(sentence.text) or (len(same(sentence.text)) > 8 and same(sentence.text) in same(text)):
            return "marked" if sentence.mark else "shown"
    return "left out"


def passage_of(record: dict[str, Any]) -> Passage:
    units = tuple(Unit(*unit) for unit in record.get("units", ()))
    return Passage(record["id"], record["text"], record["title"], meta=record.get("meta", {}), units=units)


class Replay:
    """One recorded turn, asked again."""

    def __init__(self, model: Model, turn: dict[str, Any], history: list[Exchange]) -> None:
        self._model = model
        self._history = tuple(history)
        self._count = 0
        self._question = turn["question"]
        passages = [passage_of(one) for one in turn["passages"]]
        # The model sees all passages, so that nothing has to be read before.
        self._qa = convqa.load("talk", passages, {"reader": None, "reranker": None}, llm=model.llm)
        model.passages = {passage.id: passage.text for passage in passages}

    def ask(self, sentences: Sentences, on_output: Any = None) -> Response:
        self._model.sentences = sentences
        self._count += 1
        talk = self._qa.conversation()
        # Equal prompts are asked once, so that each needs something of its own.
        talk.history = (*self._history, Exchange(f"ok {self._count}", status="idle"))
        return talk.ask(self._question, on_output=on_output)

    def timed(self, sentences: Sentences) -> tuple[Response, float, float]:
        """Return the response, and the seconds to the first sentence and to the last."""
        times = [time.perf_counter()]

        def note(label: str, _: object) -> None:
            if label == "partial":
                times.append(time.perf_counter())

        response = self.ask(sentences, note)
        times.append(time.perf_counter())
        return response, times[1] - times[0], times[-1] - times[0]


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("replies", type=Path, nargs="?", default=RECORDED)
    parser.add_argument("--list", action="store_true", help="list the right sentences that are marked or left out")
    parser.add_argument("--rate", type=float, default=0.0, help="tokens a second of the server")
    options = parser.parse_args()
    model = Model(options.rate)
    fates = {"with markers": Counter[str](), "without markers": Counter[str]()}
    caught, wrong = Counter[str](), Counter[str]()
    first = whole = 0.0
    marked_answers = 0
    recorded = [(turn, history) for turn, history in turns(options.replies) if turn.get("kind", "answer") == "answer"]
    for place, (turn, history) in enumerate(recorded):
        replay = Replay(model, turn, history)
        ids = {one["n"]: one["id"] for one in turn["passages"]}
        said = [(f"{one['item']} {one['text']}".strip(), [ids[n] for n in one["cites"]]) for one in turn["sentences"]]
        response, to_first, to_last = replay.timed(said)
        first += to_first / len(recorded)
        whole += to_last / len(recorded)
        became = [fate(response, one["text"]) for one in turn["sentences"]]
        fates["with markers"].update(became)
        marked_answers += "marked" in became
        if options.list:
            for one, how in zip(turn["sentences"], became, strict=True):
                if how != "shown":
                    print(f"{how}: {turn['question']} | {one['text']}")
        if options.rate:
            continue
        bare = replay.ask([(text, []) for text, _ in said])
        fates["without markers"].update(fate(bare, one["text"]) for one in turn["sentences"])
        strangers = strangers_of(turn, recorded)
        shown = "\n".join(model.passages.values())
        for number, (one, (_, cited)) in enumerate(zip(turn["sentences"], said, strict=True)):
            seed = 100 * place + number
            own = "\n".join(model.passages[id] for id in cited)
            for kind, variant in [
                *falsified(one["text"], own, shown, seed),
                *nowhere(strangers, turn["collection"], seed),
            ]:
                wrong[kind] += 1
                caught[kind] += fate(replay.ask([(variant, cited)]), variant) != "shown"
    names = ("shown", "marked", "left out")
    rows = [[name, *(share(found[one], found.total()) for one in names)] for name, found in fates.items()]
    table(["right sentences", *names], rows)
    print()
    table(["wrong variants", "caught"], [[kind, share(caught[kind], wrong[kind])] for kind in KINDS])
    used = model.tokens
    print(f"\n{marked_answers} of {len(recorded)} answers have a mark.")
    print(f"The first sentence comes after {first:.2f} s, the last after {whole:.2f} s.")
    print(f"{used['prompt'] / used['calls']:.0f} tokens a prompt, {used['completion'] / used['calls']:.0f} a reply.")


def strangers_of(turn: dict[str, Any], recorded: list[tuple[dict[str, Any], list[Exchange]]]) -> list[str]:
    """Return the sentences on other collections."""
    subject = turn["collection"].partition("-")[0]
    others = [other for other, _ in recorded if other["collection"].partition("-")[0] != subject]
    return [one["text"] for other in others for one in other["sentences"]]


def share(count: int, total: int) -> str:
    return f"{count} of {total} ({100 * count / total:.1f} %)" if total else "-"


if __name__ == "__main__":
    main()
