"""What becomes of a language model's replies? Checks recorded ones against the passages that the model was shown.

    python benchmarks/language_model.py [REPLIES.jsonl] [--list]
    python benchmarks/language_model.py [REPLIES.jsonl] --rate TOKENS

Prints how many of the sentences, all right, are shown without a mark, marked, and left out, with their markers and with
every marker removed; how many answers have a mark; and how many wrong variants (``benchmarks/falsified.py``) are
marked, by kind. ``--rate`` asks through ``convqa.load(..., llm=...)`` instead, and measures tokens and the time to the
first sentence with a server that writes so many tokens a second.

REPLIES.jsonl is by default ``benchmarks/recorded.jsonl.xz``: 432 turns over the twelve collections of ``held-out.txt``
in ``recipes/conversations.tar.xz``, answered by a strong model. A line: collection, turn, question, rewrite, passages
(n, id, title, text, units, meta), sentences (text, cites, item), kind of the reply.
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
from typing import Any, NamedTuple

from _common import arguments, table
from falsified import KINDS, falsified, nowhere

import convqa
from convqa.components.builders._grounding import Grounding
from convqa.components.builders._prompt import PassagePart
from convqa.components.builders._reply import ReplySentence
from convqa.domain import Exchange, Passage, Turn, TurnId, Unit
from convqa.pipeline.llm import Llm

CONVERSATION = re.compile(r"-[a-c]$")
"""What the name of a conversation adds to that of its collection."""

RECORDED = Path(__file__).with_name("recorded.jsonl.xz")


class Reply(NamedTuple):
    """A recorded reply with an answer. ``subject``: the name of the collection."""

    subject: str
    turn: Turn
    asked: str
    passages: tuple[Passage, ...]
    sentences: tuple[ReplySentence, ...]

    def fates(self, sentences: tuple[ReplySentence, ...]) -> Iterator[str]:
        """Yield whether each sentence is "shown", "marked" or "left out", in the order of the reply."""
        parts = [PassagePart(passage, 0, len(passage.text)) for passage in self.passages]
        grounding = Grounding(parts, self.asked, self.turn)
        for sentence in sentences:
            if grounding.fault(sentence.text):
                yield "left out"
            else:
                yield "marked" if grounding.checked(sentence).mark else "shown"

    def cited(self, sentence: ReplySentence) -> str:
        return "\n".join(self.passages[number - 1].text for number in sentence.numbers)


def replies(path: Path) -> Iterator[Reply]:
    history: dict[str, list[Exchange]] = {}
    data = path.read_bytes()
    for line in (lzma.decompress(data) if path.suffix == ".xz" else data).splitlines():
        record = json.loads(line)
        before = history.setdefault(record["collection"], [])
        sentences = tuple(
            ReplySentence(one["text"], tuple(one["cites"]), mark=one["item"]) for one in record["sentences"]
        )
        if record.get("kind", "answer") == "answer":
            turn = Turn(TurnId(record["collection"], record["turn"]), record["question"], tuple(before))
            asked = f"{record['question']}\n{record['rewrite'] or ''}"
            passages = tuple(passage_of(one) for one in record["passages"])
            subject = CONVERSATION.sub("", record["collection"])
            yield Reply(subject, turn, asked, passages, sentences)
        before.append(Exchange(record["question"], " ".join(sentence.text for sentence in sentences)))


def passage_of(record: dict[str, Any]) -> Passage:
    units = tuple(Unit(*unit) for unit in record.get("units", ()))
    return Passage(record["id"], record["text"], record["title"], meta=record.get("meta", {}), units=units)


def print_fates(recorded: list[Reply], is_listed: bool) -> None:
    fates = {"with markers": Counter[str](), "without markers": Counter[str]()}
    marked_answers = 0
    for reply in recorded:
        became = list(reply.fates(reply.sentences))
        fates["with markers"].update(became)
        fates["without markers"].update(reply.fates(tuple(one._replace(numbers=()) for one in reply.sentences)))
        marked_answers += "marked" in became
        for sentence, fate in zip(reply.sentences, became, strict=True):
            if is_listed and fate != "shown":
                print(f"{fate}: {reply.turn.question} | {sentence.text}")
    names = ("shown", "marked", "left out")
    rows = [[name, *(share(found[one], found.total()) for one in names)] for name, found in fates.items()]
    table(["right sentences", *names], rows)
    print(f"\n{marked_answers} of {len(recorded)} answers have a mark.\n")


def print_variants(recorded: list[Reply]) -> None:
    caught, wrong = Counter[str](), Counter[str]()
    for place, reply in enumerate(recorded):
        strangers = [one.text for other in recorded if other.subject != reply.subject for one in other.sentences]
        shown = "\n".join(passage.text for passage in reply.passages)
        for number, sentence in enumerate(reply.sentences):
            seed = 100 * place + number
            for kind, variant in [
                *falsified(sentence.text, reply.cited(sentence), shown, seed),
                *nowhere(strangers, reply.subject, seed),
            ]:
                wrong[kind] += 1
                [fate] = reply.fates((sentence._replace(text=variant),))
                caught[kind] += fate != "shown"
    table(["wrong variants", "caught"], [[kind, share(caught[kind], wrong[kind])] for kind in KINDS])


def share(count: int, total: int) -> str:
    return f"{count} of {total} ({100 * count / total:.1f} %)" if total else "-"


class Server:
    """A server that replies with a text, at a number of tokens a second."""

    def __init__(self, rate: float) -> None:
        self.reply = ""
        self.tokens: Counter[str] = Counter()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = "\n".join(message["content"] for message in body["messages"])
                text = outer.reply if "end of passages" in prompt else json.dumps({"query": "the same"})
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


def completion(kind: str, choices: list[Any], **more: Any) -> dict[str, Any]:
    return {"id": "x", "object": kind, "created": 0, "model": "recorded", "choices": choices, **more}


def print_times(recorded: list[Reply], rate: float) -> None:
    server = Server(rate)
    first = whole = 0.0
    for reply in recorded:
        server.reply = "\n".join(f"{one.text} {one.numbers}" for one in reply.sentences)
        talk = convqa.load("talk", reply.passages, llm=server.llm).conversation()
        talk.history = reply.turn.history
        times = [time.perf_counter()]

        def note(label: str, _: object, times: list[float] = times) -> None:
            if label == "partial":
                times.append(time.perf_counter())

        talk.ask(reply.turn.question, on_output=note)
        times.append(time.perf_counter())
        first += (times[1] - times[0]) / len(recorded)
        whole += (times[-1] - times[0]) / len(recorded)
    used = server.tokens
    print(f"The first sentence comes after {first:.2f} s, the last after {whole:.2f} s.")
    print(f"{used['calls'] / len(recorded):.1f} calls a turn, {used['prompt'] / len(recorded):.0f} tokens of prompts.")


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("replies", type=Path, nargs="?", default=RECORDED)
    parser.add_argument("--list", action="store_true", help="list the right sentences that are marked or left out")
    parser.add_argument("--rate", type=float, default=0.0, help="tokens a second of the server")
    options = parser.parse_args()
    recorded = list(replies(options.replies))
    if options.rate:
        print_times(recorded, options.rate)
        return
    print_fates(recorded, options.list)
    print_variants(recorded)


if __name__ == "__main__":
    main()
