"""Tables of a comparison for a terminal, in Markdown and in LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Group
from rich.table import Table
from rich.text import Text

from convqa.experiments.compare import Comparison, TurnDifference, counted_measures
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


class TableCell(NamedTuple):
    """A value, whether it is the best of its measure, and whether its difference is significant."""

    text: str
    is_best: bool
    is_certain: bool


def shown_measures(comparison: Comparison, asked: Sequence[str] = ()) -> list[str]:
    """Return the measures in ``asked`` that all share, or else the main measures of the baseline."""
    shared = list(dict.fromkeys(difference.measure for difference in comparison.differences))
    main = [measure.name for measure in comparison.evaluations[comparison.against].measures]
    for names in (asked, main):
        shown = [name for name in names if name in shared]
        if shown:
            return shown
    return shared


def lead_of(comparison: Comparison, shown: Sequence[str], asked: Sequence[str] = ()) -> str:
    """Return the measure for breakdowns and turns: the first of ``asked``, or else the first official ranking one."""
    for name in asked:
        if name in shown:
            return name
    for measure in comparison.evaluations[comparison.against].measures:
        if measure.official and measure.name in shown and measure.name.upper().startswith(("MRR", "NDCG")):
            return measure.name
    return shown[0]


def basis_of(comparison: Comparison, measure: str) -> str:
    """Describe how many turns and conversations a measure is based on, and whether they are too few for intervals."""
    basis = next(one for one in comparison.differences if one.measure == measure)
    few = ""
    if basis.conversations < FEW_CONVERSATIONS:
        few = " With so few conversations intervals are too narrow: rely on p."
    counts = f"{basis.turns:,} turns of {basis.conversations:,} conversations"
    return f"{measure} rests on {counts}, scored in every run.{few}"


def _caption(comparison: Comparison, measure: str) -> str:
    return f"{CAPTION.format(against=comparison.against)} {basis_of(comparison, measure)}"


def rows(comparison: Comparison, measures: Sequence[str]) -> Iterator[tuple[str, list[TableCell]]]:
    """Yield each run's name and its cells, one for each measure."""
    means: dict[str, dict[str, float]] = {}
    for one in comparison.differences:
        of_measure = means.setdefault(one.measure, {})
        of_measure[comparison.against] = one.base
        of_measure[one.run] = one.mean
    counts = counted_measures(comparison.evaluations.values())
    for name in comparison.evaluations:
        cells = []
        for measure in measures:
            of_measure = means.get(measure, {})
            mean = of_measure.get(name)
            if mean is None:
                cells.append(TableCell("-", False, False))
                continue
            difference = comparison.of(name, measure)
            is_best = measure not in counts and mean == max(of_measure.values())
            cells.append(TableCell(f"{mean:.3f}", is_best, difference is not None and difference.certain))
        yield name, cells


def markdown(comparison: Comparison, measures: Sequence[str]) -> str:
    """Return the means of all runs as a Markdown table.

    >>> _markdown_cell(TableCell("0.312", True, True)), _markdown_cell(TableCell("-", False, False))
    ('**0.312**†', '-')
    """
    lines = [["run", *measures], ["---", *["---:"] * len(measures)]]
    for name, cells in rows(comparison, measures):
        lines.append([_plain(name), *map(_markdown_cell, cells)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{_plain(_caption(comparison, measures[0]))}\n"


def latex(comparison: Comparison, measures: Sequence[str]) -> str:
    """Return the means of all runs as a LaTeX table, for the package booktabs.

    >>> _latex_cell(TableCell("0.312", True, True))
    '\\\\textbf{0.312}$^{\\\\dagger}$'
    """
    caption = _tex(_caption(comparison, measures[0])).replace(MARK, r"$\dagger$").replace("p < .05", "$p<.05$")
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{l{'r' * len(measures)}}}",
        r"\toprule",
        _latex_row("Run", map(_tex, measures)),
        r"\midrule",
    ]
    for name, cells in rows(comparison, measures):
        lines.append(_latex_row(_tex(name), map(_latex_cell, cells)))
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def render(
    comparison: Comparison,
    measures: Sequence[str],
    lead: str,
    turns: Sequence[tuple[str, Sequence[TurnDifference]]] = (),
) -> Group:
    """Return tables for a terminal: means, differences, breakdowns of the lead measure, and turns of each run."""
    parts: list[Table | Text] = [_means(comparison, measures), Text(_caption(comparison, lead), "dim")]
    for run in comparison.others:
        shown = [(measure, comparison.of(run, measure)) for measure in measures]
        parts.append(_differences(f"{run} minus {comparison.against}", "measure", shown))
    if len(comparison.others) <= MAX_RUNS_WITH_BREAKDOWNS:
        for breakdown in comparison.breakdowns:
            parts += _breakdown(comparison, breakdown, lead)
    for title, differences in turns:
        parts.append(Text(f"\n{title}", "bold"))
        parts += map(_turn, differences)
    return Group(*parts)


def _means(comparison: Comparison, measures: Sequence[str]) -> Table:
    table = _table("", "run", *measures)
    for name, cells in rows(comparison, measures):
        values = [Text(cell.text + MARK * cell.is_certain, "bold" if cell.is_best else "") for cell in cells]
        table.add_row(Text(name), *values)
    return table


def _breakdown(comparison: Comparison, breakdown: str, measure: str) -> Iterator[Table]:
    """Yield a table of each run's differences by group."""
    for run in comparison.others:
        by_group = [
            (group, difference)
            for group, differences in comparison.breakdowns[breakdown].items()
            for difference in differences
            if difference.run == run and difference.measure == measure
        ]
        if by_group:
            title = f"{measure} by {breakdown}: {run} minus {comparison.against}, p not corrected"
            yield _differences(title, breakdown, by_group[:MAX_GROUPS])


def _differences(
    title: str,
    first: str,
    named: Iterable[tuple[str, Difference | None]],
) -> Table:
    table = _table(title, first, "difference", "95 % interval", "p", "win/tie/loss")
    for name, one in named:
        if one is None:
            continue
        interval = counts = chance = "-"
        if one.low is not None and one.high is not None:
            interval = f"{one.low:+.3f} to {one.high:+.3f}"
        p = one.p if one.adjusted is None else one.adjusted
        if p is not None:
            counts = f"{one.better}/{one.same}/{one.worse}"
            chance = "< .001" if p < 0.001 else f"{p:.3f}"
        table.add_row(Text(name), f"{one.difference:+.3f}", interval, chance, counts)
    return table


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


def _plain(name: str) -> str:
    return name.replace("|", "\\|")


def _markdown_cell(cell: TableCell) -> str:
    text = f"**{cell.text}**" if cell.is_best else cell.text
    return text + MARK * cell.is_certain


def _latex_row(first: str, others: Iterable[str]) -> str:
    return " & ".join([first, *others]) + r" \\"


def _latex_cell(cell: TableCell) -> str:
    text = rf"\textbf{{{cell.text}}}" if cell.is_best else cell.text
    return text + r"$^{\dagger}$" * cell.is_certain


_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{character: f"\\{character}" for character in "_&%$#{}"},
    }
)


def _tex(text: str) -> str:
    r"""Return a text with TeX's special characters escaped.

    >>> _tex("a_b & 5%")
    'a\\_b \\& 5\\%'
    """
    return text.translate(_TEX)
