"""Tables of a comparison for a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from convqa.errors import counted
from convqa.experiments.compare import Comparison, TurnDifference
from convqa.experiments.differences import Difference

MARK = "†"
CAPTION = (
    f"{MARK}: differs from {{against}} (paired randomization test over conversations, p < .05 after Holm's correction "
    "over the runs). Bold: the best of a measure."
)
FEW_CONVERSATIONS = 10
"""With fewer conversations, bootstrap intervals are too narrow: with 5, they cover .85 instead of .95."""
MAX_GROUPS = 12
"""Maximum groups of a breakdown."""
MAX_RUNS_WITH_BREAKDOWNS = 3
"""Breakdowns are shown for up to this many runs, without the baseline."""


def shown_measures(comparison: Comparison, asked: Sequence[str] = ()) -> list[str]:
    """Return the measures in ``asked`` that all share, or else the main measures of the baseline."""
    shared = list(dict.fromkeys(difference.measure for difference in comparison.differences))
    main = [measure.name for measure in comparison.evaluations[comparison.against].measures]
    for names in (asked, main):
        shown = [name for name in names if name in shared]
        if shown:
            return shown
    return shared


def lead_of(shown: Sequence[str], asked: Sequence[str] = ()) -> str:
    """Return the measure for breakdowns and turns: the first of ``asked``, or else the first one of rankings."""
    rankings = [name for name in shown if name.startswith(("MRR", "nDCG"))]
    return shown[0] if asked or not rankings else rankings[0]


def basis_of(comparison: Comparison, measure: str) -> str:
    """Describe how many turns and conversations a measure is based on, and whether they are too few for intervals."""
    basis = next(one for one in comparison.differences if one.measure == measure)
    turns, conversations = counted(basis.turns, "turns"), counted(basis.conversations, "conversations")
    text = f"{measure} rests on {turns} of {conversations}, scored in every run."
    if basis.conversations < FEW_CONVERSATIONS:
        text += " With so few conversations intervals are too narrow: rely on p."
    return text


def _caption(comparison: Comparison, measure: str) -> str:
    return f"{CAPTION.format(against=comparison.against)} {basis_of(comparison, measure)}"


def _rows(
    comparison: Comparison,
    measures: Sequence[str],
    best_form: str,
) -> Iterator[Sequence[str]]:
    """Return a row for each run: its name and its means, the best ones in a form such as ``**{}**``."""
    columns = [list(comparison.evaluations)]
    for measure in measures:
        means = {}
        marks = {}
        for difference in comparison.differences:
            if difference.measure == measure:
                means[comparison.against] = difference.base
                means[difference.run] = difference.mean
                marks[difference.run] = MARK if difference.certain else ""
        best = max(means.values())
        column = []
        for run in comparison.evaluations:
            text = f"{means[run]:.3f}" if run in means else "-"
            if run in means and means[run] == best:
                text = best_form.format(text)
            column.append(text + marks.get(run, ""))
        columns.append(column)
    return zip(*columns, strict=True)


def markdown(comparison: Comparison, measures: Sequence[str]) -> str:
    """Return the means of all runs as a Markdown table."""
    alignment = ["---"] + ["---:"] * len(measures)
    rows = [["run", *measures], alignment]
    for name, *means in _rows(comparison, measures, "**{}**"):
        rows.append([name.replace("|", "\\|"), *means])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\n{_caption(comparison, measures[0])}\n"


def render(
    comparison: Comparison,
    measures: Sequence[str],
    lead: str,
    turns: Mapping[str, Sequence[TurnDifference]],
) -> Group:
    """Return tables for a terminal: means, differences, breakdowns of the lead measure, and turns of each run."""
    table = _table("", "run", *measures)
    for name, *means in _rows(comparison, measures, "[bold]{}[/bold]"):
        table.add_row(Text(name), *means)
    parts: list[Table | Text] = [table, Text(_caption(comparison, lead), "dim")]
    for run in comparison.others:
        shown = [(one.measure, one) for one in comparison.differences if one.run == run and one.measure in measures]
        parts.append(_differences(f"{run} minus {comparison.against}", "measure", shown))
    if len(comparison.others) <= MAX_RUNS_WITH_BREAKDOWNS:
        for breakdown in comparison.breakdowns:
            parts += _breakdown(comparison, breakdown, lead)
    for run, differences in turns.items():
        if differences:
            parts.append(Text(f"\n{run}: turns by {lead}, gained most and lost most", "bold"))
            parts += map(_turn, differences)
    return Group(*parts)


def _breakdown(
    comparison: Comparison,
    breakdown: str,
    measure: str,
) -> Iterator[Table]:
    """Yield a table of each run's differences by group."""
    for run in comparison.others:
        named = []
        for group, differences in comparison.breakdowns[breakdown].items():
            named += [(group, one) for one in differences if (one.run, one.measure) == (run, measure)]
        if named:
            title = f"{measure} by {breakdown}: {run} minus {comparison.against}, p not corrected"
            yield _differences(title, breakdown, named[:MAX_GROUPS])


def _differences(
    title: str,
    first: str,
    named: Sequence[tuple[str, Difference]],
) -> Table:
    table = _table(
        title,
        first,
        "difference",
        "95 % interval",
        "p",
        "p (turns)",
        "win/tie/loss",
    )
    for name, one in named:
        interval = counts = "-"
        if one.low is not None and one.high is not None:
            interval = f"{one.low:+.3f} to {one.high:+.3f}"
        p = one.p if one.adjusted is None else one.adjusted
        if p is not None:
            counts = f"{one.better}/{one.same}/{one.worse}"
        table.add_row(
            Text(name),
            f"{one.difference:+.3f}",
            interval,
            _chance(p),
            _chance(one.turns_p),
            counts,
        )
    return table


def _chance(p: float | None) -> str:
    if p is None:
        return "-"
    return "< .001" if p < 0.001 else f"{p:.3f}"


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=Text(title) if title else None, title_justify="left")
    table.add_column(Text(first), overflow="fold")
    for head in others:
        table.add_column(Text(head), justify="right", overflow="fold")
    return table


def _turn(turn: TurnDifference) -> Text:
    lines = [f"{turn.id}: {turn.base:.3f} -> {turn.score:.3f}  {turn.question or ''}".rstrip()]
    for name, (before, after) in (("rewrite", turn.rewrites), ("answer", turn.answers)):
        if before != after:
            lines += [f"  {name} before: {before}", f"  {name} now: {after}"]
        elif before is not None:
            lines.append(f"  {name}, both: {after}")
    return Text("\n".join(" ".join(line.split("\n")) for line in lines))
