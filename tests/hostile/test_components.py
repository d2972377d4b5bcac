"""Components, stores and tasks of other packages that break every rule: the message names them, and what was wanted."""

from __future__ import annotations

from hostile import Case, Content, case

HEAD = """\
from dataclasses import dataclass
from haystack import component
from convqa.components.base import *
from convqa.components.members import member
from convqa.domain import *
from convqa.stores.base import Info
from convqa.tasks import Task
"""
ENVIRONMENT = {"PYTHONPATH": "."}
RUN = "run qrecc out --quiet"
METHODS = {
    "rewriter": ("Rewriter", "rewrite"),
    "retriever": ("Retriever", "search"),
    "reader": ("Reader", "read"),
    "builder": ("Builder", "build"),
    "decider": ("Decider", "decide"),
}
"""Station -> its base class and method."""


def indented(body: str, blanks: int) -> str:
    return "".join(f"{' ' * blanks}{line}\n" for line in body.splitlines())


def module(source: str, **points: str) -> dict[str, Content]:
    """An installed module ``mine`` with entry points."""
    facts = "mine-1.0.dist-info"
    groups = "".join(f"[convqa.{group}]\n{point}\n" for group, point in points.items())
    return {
        "mine.py": HEAD + source,
        f"{facts}/METADATA": "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n",
        f"{facts}/entry_points.txt": groups,
    }


def whole(name: str, source: str, *says: str, exits: int = 2, station: str = "rewriter") -> Case:
    """A module that a pipeline takes the class ``Mine`` from."""
    files = {**module(source), "mine.yaml": f"extends: copy-bm25\nstations: {{{station}: mine.Mine}}\n"}
    command = f"{RUN} --collection collection --pipeline mine.yaml"
    return case(f"{station}: {name}", command, files, exits=exits, says=says, environment=ENVIRONMENT)


def broken(name: str, station: str, body: str, *says: str, of: str = "") -> Case:
    """A component whose method does this: its turns fail, and the run ends."""
    base, own = METHODS[station]
    head = f"@member\nclass Mine({base}):\n    top_k = 3\n    def {of or own}(self, *given):\n"
    return whole(name, head + indented(body, 8), f"failed in {station}", *says, exits=1, station=station)


def rewriter(name: str, body: str, *says: str, exits: int = 2) -> Case:
    """A rewriter that works, but for this in its class."""
    works = "    def rewrite(self, turn): return Rewrite.unchanged(turn.question)\n"
    return whole(name, "@member\nclass Mine(Rewriter):\n" + indented(body, 4) + works, *says, exits=exits)


RETURNS = [
    broken(f"returns {shown}", station, f"return {value}", "mine.Mine returned", shown, "expected")
    for station in METHODS
    for value, shown in (("None", "None"), ("'text'", "'text'"), ("{}", "type dict"), ("object()", "type object"))
    if station == "rewriter" or value == "None"
]
COMPONENTS = [
    broken("is a generator", "rewriter", "yield 1", "mine.Mine", "generator", "expected"),
    broken("raises", "rewriter", "raise KeyError('x')", "KeyError: 'x'", "add -v to see where"),
    broken("raises a megabyte", "rewriter", "raise ValueError('a' * 1_000_000)", "ValueError"),
    broken("empties its input", "rewriter", "given[0].clear()\nreturn []", "0 values; expected", of="rewrite_batch"),
    broken("unsorted", "retriever", "return [Ranking((Hit('a', 1.0), Hit('b', 2.0)))]", "unsorted or repeated hits"),
    broken("the same twice", "retriever", "return [Ranking((Hit('a', 1.0),) * 2)]", "unsorted or repeated hits"),
    broken("a span outside", "reader", "return Reading((Span('faust', 5, 5000, 'x', 1.0),), 0.0)", "[5, 5000)"),
    broken("cites a stranger", "builder", "return Answer.of([Sentence('x', (Citation('s'),))], 'en')", "ranking"),
    broken("a score of 7", "decider", "return Answer('none', '', reason='x', score=7.0)", "got 7.0"),
    whole("NaN", "@member\nclass Mine(Retriever):\n    def search(self, *given): Hit('a', float('nan'))\n",
          "Mine: the score of passage 'a' is nan", exits=1, station="retriever"),
    whole("a name that is not there", "this_is_no_name\n", "mine.Mine cannot be imported (NameError"),
    whole("no Python", "class\n", "mine.Mine cannot be imported (SyntaxError"),
    whole("no component", "class Mine(Rewriter): pass\n", "mine.Mine is not a component: put @member"),
    whole("no method", "@member\nclass Mine(Rewriter): pass\n", "Mine implements no method", exits=1),
    rewriter("an unwritable parameter", "def __init__(self, x=1): self.x = object()", "mine.Mine cannot be written"),
    rewriter("to_dict raises", "def to_dict(self): 1 / 0", "mine.Mine cannot be written as YAML"),
    rewriter("warm_up raises", "def warm_up(self): 1 / 0", "ZeroDivisionError", exits=1),
]  # fmt: skip

STORE = """
import sys
class Mine:
    closed, name = False, "mine"
    def info(self): return Info("mine", 1, "en", "convqa-en-2", ("text",), "0" * 32)
    def check(self, params): pass
    def search(self, queries, k, params, texts=20): return [Ranking((Hit("a", 1.0),))] * len(queries)
    def fetch(self, ids): return [Passage(id, "A text.") for id in ids]
    def close(self): pass
def key(address): return address.url
def identity(address): return 1
def open_collection(address): return Mine()
def create(*given): pass
delete = change = find = create
"""


def store(name: str, source: str, *says: str, exits: int = 1) -> Case:
    """A store that works, but for this behind it."""
    files = module(STORE + source, stores="mine = mine")
    command = f"{RUN} --collection mine:x --pipeline copy-bm25"
    return case(f"store: {name}", command, files, exits=exits, says=says, environment=ENVIRONMENT)


STORES = [
    store("works", "", exits=0),
    store("search returns None", "Mine.search = lambda *given: None", "failed in retriever"),
    store("search raises", "Mine.search = lambda *given: 1 / 0", "failed in retriever: ZeroDivisionError"),
    store("open raises", "open_collection = lambda address: 1 / 0", "ZeroDivisionError"),
    store("no Python", "class", "cannot be loaded", "SyntaxError", exits=2),
]

TASK = """
class Mine(Task):
    name, input_file, truth_file, run_file, default_pipeline = "mine", "in.txt", "key.txt", "out.txt", "copy-bm25"
    def read(self, path): yield Conversation(1, (Turn(TurnId(1, 1), "Who wrote Faust?"),))
    def gold(self, path): pass
    def read_run(self, path): pass
    def score(self, gold, run, options): pass
    def problems(self, file, input_path): pass
    def write(self, responses, directory, *given):
        list(responses)
        return directory / "out.txt"
"""


def task(name: str, source: str, *says: str, exits: int = 1) -> Case:
    """A task that works, but for this behind it."""
    files = module(TASK + source, tasks="mine = mine:Mine")
    command = f"{RUN} --collection collection --task mine"
    return case(f"task: {name}", command, files, exits=exits, says=says, environment=ENVIRONMENT)


TASKS = [
    task("works", "", exits=0),
    task("raises when made", "Mine.__init__ = lambda self: 1 / 0", "ZeroDivisionError"),
    task("read raises", "Mine.read = lambda *given: 1 / 0", "ZeroDivisionError"),
    task("has another name", "Mine.name = 'yours'", "task mine: mine:Mine", exits=2),
    task("is no class", "Mine = 7", "task mine: mine:Mine", exits=2),
]

CASES = [*RETURNS, *COMPONENTS, *STORES, *TASKS]


def test_it_is_told(check, hostile):
    check(hostile)
