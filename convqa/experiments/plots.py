"""Plots as inline SVG, with text as text and the page's color variables, which follow its theme."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from convqa.errors import InputError
from convqa.experiments.record import CellRecord


class Point(NamedTuple):
    """A row: its number in the table, its value on the first axis, and its result."""

    number: int
    group: str
    cell: CellRecord


_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b")
"""After Okabe and Ito, distinguishable with any color vision; the page's variables ``--c0`` and so on."""
_MARKERS = "osD^vPX*"
_INK = "#010203"
_LINE = "#040506"
"""Placeholders for the page's colors of text and lines."""
_FOLDER = Path(__file__).with_name("templates")


def quality_over_time(points: Sequence[Point], measure: str) -> str:
    """Plot one numbered point per row, with its interval, in the color of its value on the first axis."""
    groups = list(dict.fromkeys(point.group for point in points))

    def draw(axes: Any) -> None:
        for index, group in enumerate(groups):
            color = _COLORS[index % len(_COLORS)]
            axes.plot([], [], "o", label=group, color=color)
            for point in points:
                if point.group != group:
                    continue
                time = point.cell.total
                measured = point.cell.measures[measure]
                place = (time, measured.mean)
                axes.plot([time, time], [measured.low, measured.high], alpha=0.35, color=color)
                axes.plot(*place, "o", color=color)
                axes.annotate(str(point.number), place, (4, 3), textcoords="offset points")
        times = [point.cell.total for point in points]
        if 0 < 5 * min(times) < max(times):
            axes.set_xscale("log", subs=[2, 5])
            axes.xaxis.set(major_formatter="{x:g}", minor_formatter="{x:g}")
        axes.set(xlabel="milliseconds a turn", ylabel=f"{measure} (mean, 95 % interval)")

    return _plot(draw, f"{measure} over time", f"{measure} of {len(points)} rows over milliseconds a turn.")


def by_depth(lines: Mapping[str, Mapping[str, float]], measure: str) -> str:
    """Plot one line per row, the first dashed: the mean by the turn's number in its conversation."""

    def draw(axes: Any) -> None:
        for number, (row, means) in enumerate(lines.items()):
            depths = [name.removeprefix("turns ").removeprefix("turn ") for name in means]
            axes.plot(
                depths,
                list(means.values()),
                label=row,
                color=_COLORS[number % len(_COLORS)],
                marker=_MARKERS[number % len(_MARKERS)],
                linestyle="-" if number else "--",
            )
        axes.set(xlabel="number of the turn in its conversation", ylabel=f"{measure} (mean)")

    return _plot(draw, f"{measure} by turn depth", f"{measure} by the turn's number, of {', '.join(lines)}.")


def differences(
    values: Sequence[float],
    row: str,
    base: str,
    measure: str,
) -> str:
    """Plot the differences of a row to the baseline by turn, best first."""

    def draw(axes: Any) -> None:
        ranks = range(1, len(values) + 1)
        gains = [max(value, 0) for value in values]
        losses = [min(value, 0) for value in values]
        look = {"step": "mid", "linewidth": 0}
        axes.fill_between(ranks, gains, color=_COLORS[0], **look)
        axes.fill_between(ranks, losses, color=_COLORS[1], **look)
        axes.axhline(0, color=_INK, linewidth=0.8)
        axes.set(xlabel="turns, sorted", ylabel=f"difference in {measure}")

    return _plot(draw, f"{row} minus {base}, by turn", f"Differences in {measure} of {row} to {base}, by turn.")


def _plot(draw: Callable[[Any], None], title: str, label: str) -> str:
    """Return the SVG element of a plot, labeled for screen readers, without styles and ids that affect the page."""
    if find_spec("matplotlib") is None:
        raise InputError("plots need the extra: pip install 'convqa[experiments]'.")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style = mpl.rc_context({"svg.hashsalt": label}, _FOLDER / "report.mplstyle")
    with style, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # characters missing in its font are drawn by the browser
        figure = Figure(figsize=(4.8, 3.3), layout="constrained")
        axes = figure.subplots()
        axes.set_title(title)
        draw(axes)
        _, labels = axes.get_legend_handles_labels()
        longest = max(map(len, labels), default=0)
        columns = 345 // (30 + 5 * longest)
        figure.legend(loc="outside lower left", ncols=max(1, columns))
        stream = io.StringIO()
        figure.savefig(stream, format="svg")
    svg = re.sub(r"<(style|metadata)\b.*?</\1>", "", stream.getvalue(), flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg).replace("xlink:href=", "href=")
    for number, color in enumerate(_COLORS):
        svg = svg.replace(color, f"var(--c{number})")
    svg = svg.replace(_INK, "var(--ink)").replace(_LINE, "var(--line)")
    start = f'role="img" aria-label="{escape(label)}"><title>{escape(label)}</title>'
    return re.sub(r'^.*?<svg\b.*?(viewBox=".*?").*?>', lambda match: f"<svg {match[1]} {start}", svg, flags=re.DOTALL)
