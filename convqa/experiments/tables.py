"""Tables of a comparison for a terminal, in Markdown and in LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from convqa.experiments.compare import Comparison, TurnDifference
from convqa.experiments.differences import Difference

MARK = "†"
CAPTION = (
    f"{MARK}: differs from {{against}} (paired randomisation test over conversations, p < .05 after Holm's correction "
    "over the runs). Bold: the best of a measure."
)
_FEW = 10
"""With fewer conversations, bootstrap intervals are too narrow: with 5, they cover .85 instead of .95."""
_GROUPS = 12
"""Maximum groups of a breakdown."""
_RUNS = 3
"""Breakdowns are shown for up to this many runs, without the baseline."""

Cell = tuple[str, bool, bool]
"""A value, whether it is the best, and whether its difference is significant."""


def shown_measures(comparison: Comparison, asked: Sequence[str] = ()) -> list[str]:
    """Return the measures in ``asked`` that all share, or else the main measures of the baseline."""
    names = list(dict.fromkeys(one.measure for one in comparison.differences))
    own = [measure.name for measure in comparison.evaluations[comparison.against].measures]
    return [name for name in asked if name in names] or [name for name in own if name in names] or names


def lead_of(comparison: Comparison, shown: Sequence[str], asked: Sequence[str] = ()) -> str:
    """Return the measure for breakdowns and turns: the first of ``asked``, or else the first official ranking one."""
    official = {one.name for one in comparison.evaluations[comparison.against].measures if one.official}
    ranking = [name for name in shown if name in official and name.upper().startswith(("MRR", "NDCG"))]
    return [*(name for name in asked if name in shown), *ranking, *shown][0]


def basis_of(comparison: Comparison, measure: str) -> str:
    """Describe how many turns and conversations a measure is based on, and whether they are too few for intervals."""
    basis = next(one for one in comparison.differences if one.measure == measure)
    few = " With so few conversations intervals are too narrow: rely on p." if basis.conversations < _FEW else ""
    counts = f"{basis.turns:,} turns of {basis.conversations:,} conversations"
    return f"{measure} rests on {counts}, scored in every run.{few}"


def _caption(comparison: Comparison, measure: str) -> str:
    return f"{CAPTION.format(against=comparison.against)} {basis_of(comparison, measure)}"


def rows(comparison: Comparison, measures: Sequence[str]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield each run's name and its cells, one for each measure."""
    means: dict[tuple[str, str], float] = {}
    for one in comparison.differences:
        means |= {(comparison.against, one.measure): one.base, (one.run, one.measure): one.mean}
    columns = [column for evaluation in comparison.evaluations.values() for column in evaluation.columns]
    counts = {column.measure.name for column in columns if column.measure.counts}  # more words are not better
    best = {
        key: None if key in counts else max((mean for (_, of), mean in means.items() if of == key), default=None)
        for key in measures
    }
    for name in comparison.evaluations:
        cells = []
        for key in measures:
            mean, difference = means.get((name, key)), comparison.of(name, key)
            text = "-" if mean is None else f"{mean:.3f}"
            cells.append((text, mean is not None and mean == best[key], difference is not None and difference.certain))
        yield name, cells


def markdown(comparison: Comparison, measures: Sequence[str]) -> str:
    """Return the means of all runs as a Markdown table.

    >>> _markdown_cell(("0.312", True, True)), _markdown_cell(("-", False, False))
    ('**0.312**†', '-')
    """
    lines = [["run", *measures], ["---", *["---:"] * len(measures)]]
    lines += [[_plain(name), *map(_markdown_cell, cells)] for name, cells in rows(comparison, measures)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{_plain(_caption(comparison, measures[0]))}\n"


def latex(comparison: Comparison, measures: Sequence[str]) -> str:
    """Return the means of all runs as a LaTeX table, for the package booktabs.

    >>> _latex_cell(("0.312", True, True))
    '\\\\textbf{0.312}$^{\\\\dagger}$'
    """
    caption = _tex(_caption(comparison, measures[0])).replace(MARK, r"$\dagger$").replace("p < .05", "$p<.05$")
    lines = [
        r"\begin{table}", r"\centering", rf"\caption{{{caption}}}", rf"\begin{{tabular}}{{l{'r' * len(measures)}}}",
        r"\toprule", " & ".join(["Run", *map(_tex, measures)]) + r" \\", r"\midrule",
        *(" & ".join([_tex(name), *map(_latex_cell, cells)]) + r" \\" for name, cells in rows(comparison, measures)),
        r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip
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
        shown = [one for key in measures if (one := comparison.of(run, key)) is not None]
        parts.append(
            _differences(f"{run} minus {comparison.against}", "measure", [(one.measure, one) for one in shown])
        )
    for breakdown, groups in comparison.breakdowns.items() if len(comparison.others) <= _RUNS else ():
        for run in comparison.others:
            by_group = [
                (group, one)
                for group, members in groups.items()
                for one in members
                if (one.run, one.measure) == (run, lead)
            ]
            if by_group:
                title = f"{lead} by {breakdown}: {run} minus {comparison.against}, p not corrected"
                parts.append(_differences(title, breakdown, by_group[:_GROUPS]))
    for title, some in turns:
        parts.append(Text(f"\n{title}", "bold"))
        parts += [_turn(one) for one in some]
    return Group(*parts)


def _means(comparison: Comparison, measures: Sequence[str]) -> Table:
    table = _table("", "run", *measures)
    for name, cells in rows(comparison, measures):
        values = [Text(text + MARK * certain, "bold" if best else "") for text, best, certain in cells]
        table.add_row(Text(name), *values)
    return table


def _differences(title: str, first: str, named: Sequence[tuple[str, Difference]]) -> Table:
    table = _table(title, first, "difference", "95 % interval", "p", "win/tie/loss")
    for name, one in named:
        p = one.p if one.adjusted is None else one.adjusted
        interval = "-" if one.low is None or one.high is None else f"{one.low:+.3f} to {one.high:+.3f}"
        counts = "-" if p is None else f"{one.better}/{one.same}/{one.worse}"
        chance = "-" if p is None else "< .001" if p < 0.001 else f"{p:.3f}"
        table.add_row(Text(name), f"{one.difference:+.3f}", interval, chance, counts)
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=Text(title) if title else None, title_justify="left")
    table.add_column(Text(first), overflow="fold")
    for head in others:
        table.add_column(Text(head), justify="right", overflow="fold")
    return table


def _turn(one: TurnDifference) -> Text:
    lines = [f"{one.id}: {one.base:.3f} -> {one.score:.3f}  {one.question or ''}".rstrip()]
    for what, (before, after) in (("rewrite", one.rewrites), ("answer", one.answers)):
        if before is None and after is None:
            continue
        same = before == after
        lines += [f"  {what}, both: {after}"] if same else [f"  {what} before: {before}", f"  {what} now: {after}"]
    return Text("\n".join(" ".join(line.split("\n")) for line in lines))


def _plain(name: str) -> str:
    return name.replace("|", "\\|")


def _markdown_cell(cell: Cell) -> str:
    text, best, certain = cell
    return (f"**{text}**" if best else text) + MARK * certain


def _latex_cell(cell: Cell) -> str:
    text, best, certain = cell
    return (rf"\textbf{{{text}}}" if best else text) + r"$^{\dagger}$" * certain


def _tex(text: str) -> str:
    r"""Return a text with TeX's special characters escaped.

    >>> _tex("a_b & 5%")
    'a\\_b \\& 5\\%'
    """
    return "".join({"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}.get(
        letter, "\\" + letter if letter in "_&%$#{}" else letter) for letter in text)  # fmt: skip
