"""Pictures of what was measured: bars for comparisons, lines for what changes over time. Nothing without
matplotlib.

A picture has a ground of its own, and is dark where the reader's system is.
"""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.harness.figures import Figures
from benchmarks.harness.page import compared, ranked
from benchmarks.harness.work import SOCIALAPI, Work

GROUND, INK, FAINT, BLUE, ORANGE, GREEN = "#ffffff", "#30363d", "#7f8b96", "#1f6f9f", "#c2410c", "#2f7d4f"
DARK: Final = {
    GROUND: "#16181d",
    INK: "#e6e9ee",
    FAINT: "#8995a1",
    BLUE: "#5aa9d6",
    ORANGE: "#fb923c",
    GREEN: "#6cc493",
}
"""The colours where the reader's system is dark."""
COLORS: Final = (BLUE, ORANGE, GREEN, INK)
WIDTH: Final = 7.5
Line = tuple[str, Sequence[float], Sequence[float]]


def _pyplot() -> Any | None:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        return None
    mpl.use("svg")
    # The same figures make the same file; texts stay texts, which keeps files small.
    settings = {"svg.hashsalt": "benchmarks", "svg.fonttype": "none", "font.size": 9, "axes.titleweight": "bold"}
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    mpl.rcParams.update({**settings, **dict.fromkeys(inked, INK)})
    import matplotlib.pyplot as plt

    return plt


def bars(work: Work, figures: Figures, path: Path) -> bool:
    """Draws a bar for each contestant, the best first, with its quartiles. Returns whether it could."""
    plt = _pyplot()
    names = ranked(work, figures)
    if plt is None or not names:
        return False
    spreads = [compared(work, figures, name) for name in names]
    medians = [each.median for each in spreads]
    errors = [[each.median - each.lower for each in spreads], [each.upper - each.median for each in spreads]]
    figure, axes = plt.subplots(figsize=(WIDTH, 0.8 + 0.32 * len(names)))
    colors = [BLUE if name.startswith(SOCIALAPI) else FAINT for name in names]
    axes.barh(names, medians, xerr=errors, color=colors, height=0.62, error_kw={"ecolor": INK, "lw": 0.8})
    for number, (name, spread) in enumerate(zip(names, spreads, strict=True)):
        text = f"{spread.median:.2f} ×" if work.base else f"{spread.median:,.{work.digits}f}"
        if work.beside is not None:
            text += f", {figures.metrics[name][work.beside].median:.0f} {work.also[work.beside]}"
        axes.annotate(text, (spread.upper, number), xytext=(4, 0), textcoords="offset points", va="center")
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.xaxis.set_major_formatter("{x:,g}")
    better = "longer is better" if work.is_higher_better else "shorter is better"
    axes.set_xlabel(f"{work.unit}, as a multiple of {work.base} ({better})" if work.base else f"{work.unit} ({better})")
    _save(plt, figure, axes, path, work.title)
    return True


def lines(series: Sequence[Line], path: Path, title: str, *, x: str, y: str, logarithmic: str = "") -> bool:
    """Draws lines over time, or over a size; axes named in `logarithmic` are logarithmic. Returns whether it
    could.
    """
    plt = _pyplot()
    if plt is None or not series:
        return False
    figure, axes = plt.subplots(figsize=(WIDTH, 2.8))
    for (name, across, up), color in zip(series, COLORS, strict=False):
        axes.plot(across, up, label=name, color=color, lw=1.4, marker="o" if len(across) < 20 else None, ms=3)
    if "x" in logarithmic:
        axes.set_xscale("log")
    is_logarithmic = "y" in logarithmic
    if is_logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, (1.15 if len(series) == 1 else 1.5) * max(max(up) for _, _, up in series))
        axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if len(series) > 1:
        axes.legend(frameon=False, ncols=2, loc="upper left" if is_logarithmic else "upper right")
    _save(plt, figure, axes, path, title)
    return True


def panels(stacked: Sequence[tuple[str, Sequence[Line]]], path: Path, title: str, *, x: str) -> bool:
    """Draws lines of several measures below one another, each with its name and a scale of its own. Returns
    whether it could.
    """
    plt = _pyplot()
    if plt is None:
        return False
    figure, rows = plt.subplots(len(stacked), sharex=True, figsize=(WIDTH, 1.5 * len(stacked)), squeeze=False)
    for (axes,), (name, series) in zip(rows, stacked, strict=True):
        for (label, across, up), color in zip(series, COLORS, strict=False):
            axes.plot(across, up, label=label, color=color, lw=1.1)
        has_legend = len(series) > 1
        axes.set_ylim(0, (1.5 if has_legend else 1.2) * max(max(up) for _, _, up in series))
        axes.set_ylabel(name)
        axes.spines[["top", "right"]].set_visible(False)
        if has_legend:
            axes.legend(frameon=False, ncols=len(series), loc="upper left")
    rows[-1][0].set_xlabel(x)
    figure.align_ylabels()
    _save(plt, figure, rows[0][0], path, title)
    return True


def _save(plt: Any, figure: Any, axes: Any, path: Path, title: str) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, loc="left", pad=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight", facecolor=GROUND, metadata={"Date": None})
    plt.close(figure)
    path.write_text(_with_dark_colours(drawn.getvalue()), "utf-8")


def _with_dark_colours(svg: str) -> str:
    """Makes each colour a variable, which has another value where the reader's system is dark."""
    variables = {light: f"--c{number}" for number, light in enumerate(DARK)}
    svg = re.sub("|".join(DARK), lambda found: f"var({variables[found[0]]}, {found[0]})", svg)
    rules = "; ".join(f"{variables[light]}: {dark}" for light, dark in DARK.items())
    style = f"<style>@media (prefers-color-scheme: dark) {{ :root {{ {rules} }} }}</style>"
    return svg.replace(" <defs>", f" {style}\n <defs>", 1)


def draw(work: Work, figures: Figures, folder: Path) -> bool:
    """Draws a work into the folder, as `<name>.svg`. Returns whether it could."""
    path = folder / f"{work.name}.svg"
    if figures.series:
        drawn = [(name, [at for at, _ in each], [size for _, size in each]) for name, each in figures.series.items()]
        return lines(drawn, path, work.title, x="seconds", y="MB resident")
    return bars(work, figures, path)
