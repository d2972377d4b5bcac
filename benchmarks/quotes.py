"""How well are quotable sentences recognized? Trains the classifier ``convqa.text.english.prose`` and evaluates it.

    python benchmarks/quotes.py [--data ../shared/data] [--base sentence-transformers/all-MiniLM-L6-v2]

Prints figures on held-out passages and writes ``convqa/text/english/prose.npz``. Training data are the sentences of
quotes.tsv, labeled by the rule in docs/reference/reading.md (ids and offsets in passages of the even conversations of
mtrag_un and inscit_dev; ``folded``: all white space is one blank, as in crawled text; ``cut``: where a sentence begins
after a heading), and generated ones (quotes_made.py). Word vectors start from those of the base model, reduced to 32
dimensions. A first training holds out a fifth of the passages for the figures; a second one uses all of them. Needs the
extra ``models``; four minutes on one core.
"""

from __future__ import annotations

import csv
import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from _common import arguments
from conversation_sets import TUNED
from quotes_made import Example, Maker, Records, folded
from torch import nn
from transformers import AutoModel, AutoTokenizer

from convqa.text.english import prose
from convqa.text.quotes import _LEAD, judged, share_of_prose, shown

READ, WORDS, SIZE, WIDE, EPOCHS, BATCH, RATE = 6, 9000, 32, 48, 12, 128, 0.004
"""Times that a read sentence counts; words, sizes of the layers; passes, sentences a step, greatest rate."""
KINDS = ("", "#1", "#2", "#3", "#4", "#5", "#.", "-", "?", "<", ">")
FORMS = 28
SHIPPED = prose.WEIGHTS


class Read(NamedTuple):
    """A labeled sentence: characters ``[start, end)``, its label, and where it begins after a heading."""

    passage: str
    group: str
    start: int
    end: int
    label: str
    cut: int

    def examples(self) -> Iterator[Example]:
        text = self.passage[self.start : self.end]
        cut = None if self.label == "junk" else self.cut
        yield Example(text, cut, self.label == "clean", self.group)
        if shown(text) != text:
            yield Example(shown(text), None, self.label == "clean", self.group)
        if self.cut:
            yield Example(shown(text[self.cut :]), 0, True, self.group)


def passages(data: Path, name: str) -> Records:
    """Return the passages that are gold for even conversations only."""
    folder = data / "conversations" / name
    gold: tuple[set[str], set[str]] = (set(), set())
    for turn in json.loads((folder / "ground-truth.json").read_bytes()):
        gold[int(turn["Conversation_no"]) % 2].update(turn["Truth_passages"])
    with (folder / "passages.jsonl").open(encoding="utf-8") as lines:
        records = {record["id"]: record for record in map(json.loads, lines)}
    return {id: records[id] for id in sorted(records.keys() & (gold[0] - gold[1]))}


def read(known: dict[str, Records]) -> Iterator[Read]:
    with Path(__file__).with_suffix(".tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            text = known[row["set"]][row["passage"]]["text"]
            text = folded(text) if row["form"] == "folded" else text
            start, end, cut = int(row["start"]), int(row["end"]), int(row["cut"] or 0)
            if lead := _LEAD.match(text, start, end):
                start, cut = lead.end(), max(0, cut + start - lead.end())
            label = "clean" if row["label"] == "heading" and not cut else row["label"]
            yield Read(text, row["passage"], start, end, label, cut)


class Net(nn.Module):  # type: ignore[misc]
    def __init__(self, vectors: torch.Tensor) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors, freeze=False)
        self.forms = nn.Embedding(FORMS + 1, SIZE)
        nn.init.normal_(self.forms.weight, std=0.5)
        self.first = nn.Conv1d(SIZE, WIDE, prose.WIDTH)
        self.second = nn.Conv1d(WIDE, WIDE, prose.WIDTH, dilation=prose.STEP)
        self.begins, self.hidden, self.fit = nn.Linear(WIDE, 1), nn.Linear(2 * WIDE, 32), nn.Linear(32, 1)
        self.drop = nn.Dropout(0.15)

    def forward(
        self, rows: torch.Tensor, forms: torch.Tensor, counts: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits: for each word, that the sentence begins there; for each sentence, that it is fit."""
        seen = self.drop(self.words(rows) + self.forms(forms)).transpose(1, 2)
        seen = torch.relu(self.second(torch.relu(self.first(seen)))).transpose(1, 2)
        inside = (torch.arange(seen.shape[1])[None] < counts[:, None])[..., None].float()
        pooled = torch.cat([(seen * inside).amax(1), (seen * inside).sum(1) / counts[:, None]], 1)
        return self.begins(seen).squeeze(-1), self.fit(self.drop(torch.relu(self.hidden(pooled)))).squeeze(-1)


def vocabulary(texts: Sequence[str]) -> list[str]:
    """Return the most frequent words and the endings of rare ones, after the placeholders for kinds of words."""
    counts = Counter(
        found.group().lower().replace("\u2019", "'") for text in texts for found in prose.WORD.finditer(text)
    )
    words = [word for word, count in counts.most_common(WORDS) if count >= 6 and not word[0].isdigit()]
    rare = [word for word, count in counts.items() if word[0].isalpha() and word.isascii() and count < 40]
    endings = Counter(f"-{word[-size:]}" for word in rare for size in (3, 2) if len(word) > size + 1)
    return [*KINDS, *words, *(ending for ending, count in endings.most_common(700) if count >= 25)]


def vectors(names: Sequence[str], base: str) -> torch.Tensor:
    """Return a vector for each: the first components of the base model's; random ones for kinds."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    table = AutoModel.from_pretrained(base).get_input_embeddings().weight.detach()
    ids = tokenizer([name.lstrip("-") for name in names], add_special_tokens=False)["input_ids"]
    large = torch.stack([table[each].mean(0) if each else torch.zeros(table.shape[1]) for each in ids])
    large -= large.mean(0)
    small = large @ torch.linalg.svd(large, full_matrices=False).Vh[:SIZE].T
    return small / small.std()


def batches(
    some: Sequence[tuple[prose.EncodedSentence, Example]], places: dict[str, int], chance: random.Random
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Group sentences of similar length: rows, forms, lengths, beginnings, their weights, fitness."""
    ordered = sorted(some, key=lambda one: len(one[0].starts) + 3 * chance.random())
    groups = [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]
    for group in chance.sample(groups, len(groups)):
        longest = max(len(words.starts) for words, _ in group)
        rows = torch.full((len(group), longest + 2 * prose.EDGE), places[">"])
        forms = torch.full_like(rows, FORMS)
        begins, counted = torch.zeros(len(group), longest), torch.zeros(len(group), longest)
        for line, (words, one) in enumerate(group):
            count = len(words.starts)
            rows[line, : prose.EDGE] = places["<"]
            rows[line, prose.EDGE : prose.EDGE + count] = torch.tensor(words.rows)
            forms[line, prose.EDGE : prose.EDGE + count] = torch.tensor(words.forms)
            if one.begin is not None:
                counted[line, :count] = 1.0
                if one.begin in words.starts[1:]:
                    begins[line, place := words.starts.index(one.begin)] = 1.0
                    counted[line, :place] = 0.3
        lengths = torch.tensor([float(len(words.starts)) for words, _ in group])
        yield rows, forms, lengths, begins, counted, torch.tensor([float(one.fit) for _, one in group])


def train(some: Sequence[Example], names: list[str], start: torch.Tensor) -> Net:
    torch.manual_seed(1)
    chance = random.Random(1)
    net = Net(start.clone())
    places = {name: place for place, name in enumerate(names)}
    described = [(words, one) for one in some if (words := prose.encoded(one.text, places)).starts]
    steps = EPOCHS * math.ceil(len(some) / BATCH)
    steering = torch.optim.Adam(net.parameters(), lr=RATE)
    falling = torch.optim.lr_scheduler.LambdaLR(steering, lambda step: max(0.01, 1 - step / steps))
    loss = nn.functional.binary_cross_entropy_with_logits
    for epoch in range(EPOCHS):
        total = 0.0
        for rows, forms, lengths, begins, counted, fit in batches(described, places, chance):
            made, fitness = net(rows, forms, lengths)
            cost = (loss(made, begins, reduction="none") * counted).sum() / len(fit) + loss(fitness, fit)
            cost.backward()
            steering.step()
            falling.step()
            steering.zero_grad()
            total += float(cost.detach()) * len(fit)
        print(f"pass {epoch + 1} of {EPOCHS}: loss {total / len(some):.3f}", flush=True)
    net.eval()
    return net


def write(net: Net, names: list[str], target: Path) -> None:
    def half(values: torch.Tensor) -> Any:
        return values.detach().numpy().astype(np.float16)

    words = net.words.weight.detach().numpy()
    scale = (np.abs(words).max(axis=1, keepdims=True) / 127 + 1e-6).astype(np.float16)
    arrays = {
        "vocabulary": np.frombuffer("\n".join(names).encode(), np.uint8),
        "words": np.clip(np.round(words / scale), -127, 127).astype(np.int8), "scale": scale,
        "forms": half(net.forms.weight),
    }  # fmt: skip
    for name, layer in (("first", net.first), ("second", net.second)):
        arrays |= {name: half(layer.weight.permute(2, 1, 0)), f"{name} offset": half(layer.bias)}
    for name, layer in (("begins", net.begins), ("hidden", net.hidden), ("fit", net.fit)):
        arrays |= {name: half(layer.weight.T.squeeze(-1)), f"{name} offset": half(layer.bias)}
    np.savez_compressed(target, **arrays)


def report(held: Sequence[Read]) -> None:
    """Evaluate boundaries and fitness of held-out sentences, and the prediction by passage."""
    found = [(one, *judged(one.passage, one.start, one.end)) for one in held]
    for label in ("clean", "heading", "junk"):
        cuts = [(start - one.start, one.cut) for one, start, _ in found if one.label == label]
        right = sum(0 < cut == wanted for cut, wanted in cuts)
        print(f"{label}: {len(cuts)}; cut {sum(cut > 0 for cut, _ in cuts)}, rightly {right}")
    clean = sum(one.label == "clean" for one in held)
    for least in (0.5, 0.7, prose.FIT, 0.86, 0.9):
        quoted = [(one, start - one.start) for one, start, fitness in found if fitness >= least]
        wrong = sum(one.label == "junk" or cut != one.cut for one, cut in quoted)
        lost = clean - sum(one.label == "clean" for one, _ in quoted)
        print(f"fit from {least}: {len(quoted)} of {len(held)} quoted, {wrong} wrong; {lost} of {clean} clean refused")
    rows = [
        [prose.judged(shown(one.passage[start : one.end]))[1], share_of_prose(one.passage)] for one, start, _ in found
    ]
    good = [float(one.label != "junk" and start - one.start == one.cut) for one, start, _ in found]
    line = torch.nn.Linear(2, 1)
    optimizer = torch.optim.LBFGS(line.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = line(torch.tensor(rows, dtype=torch.float32)).squeeze(-1)
        value = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor(good))
        value.backward()
        return value

    optimizer.step(loss)
    (odds, share), offset = line.weight[0].tolist(), line.bias.item()
    print(f"in a passage: {odds:.2f} x log odds + {share:.2f} x share of prose + {offset:.2f}")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--base", default="sentence-transformers/all-MiniLM-L6-v2", help="whose vectors of words")
    parser.add_argument("--fold", type=int, default=0, help="held-out fifth of the passages")
    parser.add_argument("--only", choices=("held", "all"), help="one of the two trainings")
    options = parser.parse_args()
    torch.set_num_threads(1)
    known = {name: passages(options.data, name) for name in TUNED}
    labeled = list(read(known))
    made = list(Maker(options.data, known, random.Random(19)).examples())
    print(f"{len(labeled)} read, {len(made)} made, {sum(one.fit for one in made)} of them fit")
    groups = sorted({one.group for one in labeled})
    out = set(groups[options.fold :: 5])
    names = vocabulary([one.text for one in made])
    start = vectors(names, options.base)
    if options.only != "all":
        some = [example for one in labeled if one.group not in out for example in one.examples()] * READ
        with TemporaryDirectory() as folder:
            prose.WEIGHTS = Path(folder) / "held.npz"
            write(train([*some, *(one for one in made if one.group not in out)], names, start), names, prose.WEIGHTS)
            report([one for one in labeled if one.group in out])
    if options.only != "held":
        some = [example for one in labeled for example in one.examples()] * READ
        write(train([*some, *made], names, start), names, SHIPPED)


if __name__ == "__main__":
    main()
