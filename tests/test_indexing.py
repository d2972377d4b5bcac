"""Build collections from files, and find the collection of a run."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import time
from contextlib import suppress
from pathlib import Path

import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError, WorkError
from convqa.indexing import add_vectors, collection_for, collection_of, index_sources, read_passages
from convqa.models import load_encoder
from convqa.stores import delete_store, open_store
from convqa.stores.base import SearchParams

LINES = ['{"id": "p1", "text": "Rome was not built in a day."}', '{"id": "p2", "contents": "London has bridges."}']


class NoPassages:
    """A task that brings none."""

    passages_file = ""

    def passages(self, path):
        return None


class TwoPassages:
    def passages(self, path):
        return iter([Passage("t1", "Vienna and its wheel"), Passage("t2", "Prague and its bridges")])


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def file(tmp_path):
    def write(data, name="p.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else "\n".join(data).encode())
        return path

    return write


def ids(url, text):
    return [hit.id for hit in open_store(url).search([Query(text)], 10, SearchParams())[0].hits]


def test_passages_are_read_with_all_their_fields(file):
    record = {"id": 7, "text": "T", "title": "t", "url": "u", "meta": {"a": 1, "b": 1.5, "c": "x", "d": True}}
    path = file([json.dumps(record), "", "  ", LINES[1]])
    first, second = read_passages([path])
    assert first == Passage("7", "T", "t", "u", {"a": 1, "b": 1.5, "c": "x", "d": True})
    assert [type(value) for value in first.meta.values()] == [int, float, str, bool]
    assert second == Passage("p2", "London has bridges.")


def test_null_means_absent(file):
    path = file(['{"id": "a", "text": "T", "contents": null, "title": null, "url": null, "meta": null}'])
    assert list(read_passages([path])) == [Passage("a", "T")]
    assert list(read_passages([file(['{"id": "a", "text": "T", "contents": "T"}'])])) == [Passage("a", "T")]


def test_gzip_is_known_by_its_bytes_and_folders_are_read_in_order(file, tmp_path):
    file(gzip.compress(LINES[1].encode()), "in/b.jsonl.gz")
    file(gzip.compress(LINES[0].encode()), "in/a.jsonl")
    file(["not read"], "in/readme.txt")
    assert [passage.id for passage in read_passages([tmp_path / "in"])] == ["p1", "p2"]


def test_weird_ids_are_kept(file):
    names = ["http://a.b/c?d=%20,é:/", "x" * 1400, "  with blanks  ", "東京"]
    path = file([json.dumps({"id": name, "text": "t"}) for name in names])
    assert [passage.id for passage in read_passages([path])] == names


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "t"}', "id: is missing"),
        ('{"id": null, "text": "t"}', r"id.*got None"),
        ('{"id": 1.5, "text": "t"}', r"id.*got 1\.5"),
        ('{"id": "", "text": "t"}', "id: expected a non-empty name .*got ''"),
        ('{"id": " ", "text": "t"}', "id: expected a non-empty name .*got ' '"),
        ('{"id": "a\\u0000b", "text": "t"}', "id: expected .* without control characters"),
        ('{"id": "a\\nb", "text": "t"}', "id: expected .* without control characters"),
        ('{"id": "a"}', "text: expected a non-empty text .* got None"),
        ('{"id": "a", "text": ""}', "text: expected a non-empty text .* got ''"),
        ('{"id": "a", "text": " \\n"}', "text: expected a non-empty text .* got ' .*'"),
        ('{"id": "a", "text": 5}', "text: expected a string, got 5"),
        ('{"id": "a", "text": "one", "text": "two"}', r".*duplicate key 'text'"),
        ('{"id": "a", "text": "t", "title": ["x"]}', r"title: expected a string, got \['x'\]"),
        ('{"id": "a", "text": "t", "meta": [1]}', r"meta: expected an object, got \[1\]"),
        ('{"id": "a", "text": "t", "meta": {"k": [[1]]}}', r"meta\.k.*got"),
        ('{"id": "a", "text": "t", "meta": {"k": NaN}}', r"meta\.k: .*a finite number, got nan"),
        ('["a"]', r"the record: expected an object, got \['a'\].*Expected one JSON object a line"),
        ("null", "the record: .*got None"),
    ],
)
def test_what_is_no_passage_is_refused_with_file_and_line(file, line, message):
    path = file([LINES[0], "", line])
    with pytest.raises(InputError, match=rf"p\.jsonl:3: {message}"):
        list(read_passages([path]))


def test_a_line_that_no_passage_can_be_is_refused_before_it_is_read_whole(tmp_path):
    """Some kB of gzip are hundreds of MB of one line."""
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(20):
            stream.write(b"a" * 2**20)
    with pytest.raises(InputError, match=r"bomb\.jsonl\.gz: line 1: is longer than 16,777,216 bytes"):
        list(read_passages([path]))


def test_a_passage_of_more_than_a_megabyte_is_refused_by_name(file, tmp_path):
    long = {"id": "long", "text": "word " * 210_000}
    with pytest.raises(InputError, match="passage 'long': expected at most 1,048,576"):
        index_sources([file([LINES[0], json.dumps(long)])], str(tmp_path / "c"))
    escaped = file(['{"id": "a", "text": "' + "\\u00e4" * 200_000 + '"}'])
    assert len(list(read_passages([escaped]))) == 1


def test_damaged_files_are_refused(file, tmp_path):
    good = gzip.compress("\n".join(LINES * 50).encode())
    (tmp_path / "empty").mkdir()
    for path, message in [
        (file(b"", "empty.jsonl"), "empty.jsonl is empty"),
        (file(b"\n \n", "blank.jsonl"), "blank.jsonl is empty"),
        (file(good[:60], "cut.jsonl.gz"), r"cut.jsonl.gz: after line \d+: the gzip is damaged"),
        (file(good[:30] + b"xxxx" + good[34:], "bad.jsonl.gz"), r"bad.jsonl.gz:"),
        (file(bytes(range(256)) * 10, "junk.jsonl"), "junk.jsonl:1, column 1: invalid JSON"),
        (file(b'{"id": "a", "text": "t"', "half.jsonl"), "half.jsonl:1, column 24: .*Expected one JSON object a line"),
        (tmp_path / "nothing.jsonl", "nothing.jsonl do not exist"),
        (tmp_path / "empty", r"empty has no passages.*\*\.jsonl"),
    ]:
        with pytest.raises(InputError, match=message):
            list(read_passages([path]))


def test_unknown_fields_and_surrogates_are_warned_of_once(file, caplog):
    line = '{"id": "%s", "text": "a \\ud800 b", "meta": {"k": "\\udc00"}, "source": "x"}'
    path = file([line % name for name in "abc"])
    passages = list(read_passages([path, file([LINES[0]], "q.jsonl")]))
    assert passages[0] == Passage("a", "a \ufffd b", meta={"k": "\ufffd"})
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}:1: the unknown field 'source' is ignored, here and below",
        f"{path}:1: lone surrogates are replaced by U+FFFD, here and below",
    ]


def test_index_builds_adds_and_replaces(file, tmp_path):
    url = str(tmp_path / "deep" / "collection")
    seen = []
    info = index_sources([file(LINES)], url, progress=lambda done, total=0: seen.append(done)).info
    assert (info.count, info.language, seen) == (2, "en", [2])
    more = file(['{"id": "p3", "text": "Paris has bridges too."}'], "more.jsonl")
    with pytest.raises(InputError, match=r"exists.*--add.*--replace"):
        index_sources([more], url)
    assert index_sources([more], url, add=True).info.count == 3
    assert ids(url, "bridge") == ["p2", "p3"]
    assert index_sources([more], url, replace=True).info.count == 1
    with pytest.raises(InputError, match="--add and --replace exclude each other"):
        index_sources([more], url, add=True, replace=True)
    with pytest.raises(InputError, match="in language 'en', not 'de'"):
        index_sources([file(LINES)], url, add=True, language="de")
    assert index_sources([file(LINES)], str(tmp_path / "other"), add=True, language="de").info.language == "de"


def test_an_index_that_fails_leaves_the_old_collection(file, tmp_path):
    url = str(tmp_path / "collection")
    before = index_sources([file(LINES)], url).info
    bad = file([*LINES, '{"id": "p9", "text": "fine"}', "{"], "bad.jsonl")
    for how in ({"add": True}, {"replace": True}):
        with pytest.raises(InputError, match=r"bad\.jsonl:4"):
            index_sources([bad], url, **how)
        assert open_store(url).info() == before
    with pytest.raises(InputError, match="unknown language 'xx'"):
        index_sources([bad], str(tmp_path / "french"), language="xx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "collection", "p.jsonl"]


def test_the_same_passages_give_the_same_checksum_however_they_come(file, tmp_path):
    one = index_sources([file(LINES)], str(tmp_path / "one")).info
    two = index_sources([file(LINES[1:], "b.jsonl"), file(LINES[:1], "a.jsonl")], str(tmp_path / "two")).info
    assert one.checksum == two.checksum


def test_a_given_collection_comes_first(file, tmp_path):
    index_sources([file(LINES[:1])], str(tmp_path / "given"))
    folder = file(LINES, "input/passages.jsonl").parent
    assert collection_for(NoPassages(), folder, str(tmp_path / "given")) == str(tmp_path / "given")
    with pytest.raises(InputError, match="does not exist"):
        collection_for(NoPassages(), folder, str(tmp_path / "nothing"))


@pytest.mark.parametrize("name", ["passages.jsonl", "passages.jsonl.gz"])
def test_passages_of_the_input_are_indexed_once_into_the_cache(file, cache, name):
    data = "\n".join(LINES).encode()
    path = file(gzip.compress(data) if name.endswith("gz") else data, f"input/{name}")
    done = []
    url = collection_for(NoPassages(), path.parent, None, progress=lambda *counts: done.append(counts))
    assert Path(url).parent == cache / "convqa" / "collections"
    assert open_store(url).info().source == str(path)
    assert ids(url, "London") == ["p2"]
    again = collection_for(NoPassages(), path.parent, None, progress=lambda *counts: done.append(counts))
    assert (again, done) == (url, [(2,)])
    assert [entry.name for entry in path.parent.iterdir()] == [name]
    path.write_bytes(path.read_bytes() + gzip.compress(b"\n") if name.endswith("gz") else data + b"\n")
    assert collection_for(NoPassages(), path.parent, None) != url
    delete_store(url)
    assert len([path for path in Path(url).parent.iterdir() if path.is_dir()]) == 1


def test_a_file_beside_a_question_file_counts(file):
    questions = file(b"[]", "input/questions.json")
    file(LINES, "input/passages.jsonl")
    assert ids(collection_for(NoPassages(), questions, None), "London") == ["p2"]


def test_a_file_may_be_given_as_collection(file, tmp_path):
    url = collection_of(str(file(LINES, "mine.jsonl")))
    assert ids(url, "Rome") == ["p1"]
    with pytest.raises(InputError, match=r"gone\.jsonl do not exist"):
        collection_of(str(tmp_path / "gone.jsonl"))
    with pytest.raises(InputError, match="unknown engine 'nosuch'"):
        collection_of("nosuch:gone.jsonl")


def test_what_is_indexed_unasked_is_not_encoded_and_vectors_that_were_asked_for_stay(file):
    path = str(file(LINES, "mine.jsonl"))
    url = collection_of(path)
    assert open_store(url).info().vectors == 0
    add_vectors(url, load_encoder("encoder"))
    assert collection_of(path) == url and open_store(url).info().vectors == 2


def test_a_cached_collection_that_is_damaged_is_built_again(file):
    path = file(LINES, "mine.jsonl")
    url = collection_of(str(path))
    next(Path(url).glob("data-*/passages.sqlite")).unlink()
    assert collection_of(str(path)) == url
    assert ids(url, "Rome") == ["p1"]
    (Path(url) / "manifest.json").unlink()
    assert ids(collection_of(str(path)), "Rome") == ["p1"]


def test_a_collection_in_the_input_comes_before_its_passages(file):
    folder = file(LINES, "input/passages.jsonl").parent
    index_sources([file(['{"id": "own", "text": "Rome"}'], "own.jsonl")], str(folder / "convqa-index"))
    url = collection_for(NoPassages(), folder, None)
    assert (url, ids(url, "Rome")) == (str(folder / "convqa-index"), ["own"])
    index_sources([file(['{"id": "own", "text": "Rome"}'], "own.jsonl")], str(folder / "second"))
    with pytest.raises(InputError, match=r"several collections.*convqa-index.*second.*--collection"):
        collection_for(NoPassages(), folder, None)


def test_an_anserini_index_in_the_input_comes_first(file, anserini_index):
    folder = file(LINES, "input/passages.jsonl").parent
    index_sources([file(['{"id": "own", "text": "Rome"}'], "own.jsonl")], str(folder / "convqa-index"))
    anserini_index([{"id": "a", "contents": "Rome"}], folder=folder / "passages-index-anserini")
    before = {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}
    url = collection_for(NoPassages(), folder, None)
    assert (url, ids(url, "Rome")) == (f"anserini:{folder / 'passages-index-anserini'}", ["a"])
    assert ids(collection_for(NoPassages(), folder, str(folder / "convqa-index")), "Rome") == ["own"]
    assert {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]} == before


def test_an_anserini_folder_without_an_index_is_no_reason_to_search_elsewhere(file):
    folder = file(LINES, "input/passages.jsonl").parent
    (folder / "passages-index-anserini").mkdir()
    with pytest.raises(InputError, match=r"passages-index-anserini: expected anserini:FOLDER with a Lucene index"):
        collection_for(NoPassages(), folder, None)


def test_the_passages_of_a_task_are_indexed(tmp_path):
    assert ids(collection_for(TwoPassages(), tmp_path, None), "bridges") == ["t2"]


def test_nothing_found_says_what_was_looked_for(tmp_path):
    with pytest.raises(InputError, match=r"no collection for .*--collection .*passages\.jsonl and passages\.jsonl\.gz"):
        collection_for(NoPassages(), tmp_path, None)
    with pytest.raises(InputError, match="does not exist"):
        collection_for(NoPassages(), tmp_path / "no" / "such", None)


def test_a_cache_that_cannot_be_written_says_what_to_do(file, cache):
    cache.write_text("a file where the folder should be")
    with pytest.raises(WorkError, match="Set CONVQA_HOME"):
        collection_of(str(file(LINES)))


def _processes():
    """Processes of their own, forked from one that has imported what takes time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["convqa.indexing"])
    return context


def test_two_processes_may_index_the_same_file_at_once(file):
    lines = [json.dumps({"id": f"p{n}", "text": f"passage number w{n}"}) for n in range(3000)]
    path = str(file(lines, "mine.jsonl"))
    with _processes().Pool(2) as pool:
        urls = pool.map(collection_of, [path, path])
    assert urls[0] == urls[1]
    assert open_store(urls[0]).info().count == 3000
    assert [str(path) for path in Path(urls[0]).parent.iterdir() if path.is_dir()] == urls[:1]


def _index_again(path, url, times):
    """How many of so many builds were not refused."""
    done = 0
    for _ in range(times):
        with suppress(WorkError):  # the other one is at work
            index_sources([Path(path)], url, replace=True)
            done += 1
    return done


def _search_until(url, stop):
    """What a process sees that searches all the while: the numbers of hits, none of them an error."""
    seen = set()
    while not (stop.is_set() and seen):
        store = open_store(url)
        ranking = store.search([Query("passage")], 1000, SearchParams(), texts=1000)[0]
        seen.add((len(ranking.hits), all(hit.passage is not None for hit in ranking.hits)))
        time.sleep(0.005)
    return sorted(seen)


@pytest.mark.parametrize("times", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_two_processes_may_replace_a_collection_while_a_third_searches_it(file, tmp_path, times):
    url = str(tmp_path / "collection")
    paths = [
        str(file([json.dumps({"id": f"p{n}", "text": f"passage number w{n}"}) for n in range(count)], f"{count}.jsonl"))
        for count in (30, 50)
    ]
    index_sources([Path(paths[0])], url)
    context = _processes()
    with context.Manager() as manager, context.Pool(3) as pool:
        stop = manager.Event()
        searcher = pool.apply_async(_search_until, (url, stop))
        builders = [pool.apply_async(_index_again, (path, url, times)) for path in paths]
        done = [builder.get(60) for builder in builders]
        stop.set()
        seen = searcher.get(60)
    assert seen in ([(30, True)], [(50, True)], [(30, True), (50, True)])
    assert sum(done) >= times
    assert open_store(url).info().count in {30, 50}
    assert len(list(Path(url).glob("data-*"))) == 1
