"""Pictures of what was measured: bars for ratios, lines for what changes over time. Nothing without
matplotlib.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.harness.page import present
from benchmarks.harness.rounds import Measured
from benchmarks.harness.work import Spread, Work

OURS: Final = "#2a6f97"
OTHERS: Final = "#b8c4cc"
INK: Final = "#30363d"
COLORS: Final = (OURS, "#e07a5f", "#81b29a", INK)
WIDTH: Final = 7.5
Line = tuple[str, Sequence[float], Sequence[float]]


def _pyplot() -> Any | None:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        return None
    mpl.use("svg")
    # The same figures make the same file; texts stay texts, which keeps files small.
    mpl.rcParams.update({"svg.hashsalt": "benchmarks", "svg.fonttype": "none", "font.size": 9, "text.color": INK})
    import matplotlib.pyplot as plt

    return plt


def bars(work: Work, measured: Measured, path: Path) -> bool:
    """One bar for each contestant, with its quartiles; False where nothing could be drawn."""
    plt = _pyplot()
    names = list(present(work, measured))
    if plt is None or not names:
        return False
    if work.base:
        spreads = [Spread.of(measured.ratios(name, work.base, work.metric)) for name in names]
    else:
        spreads = [Spread.of(measured.values(name, work.metric)) for name in names]
    medians = [each.median for each in spreads]
    errors = [[each.median - each.lower for each in spreads], [each.upper - each.median for each in spreads]]
    figure, axes = plt.subplots(figsize=(WIDTH, 0.5 + 0.32 * len(names)))
    colors = [OURS if name.startswith("ours") else OTHERS for name in names]
    axes.barh(names, medians, xerr=errors, color=colors, height=0.62, error_kw={"ecolor": INK, "lw": 0.8})
    for place, spread in enumerate(spreads):
        text = f"{spread.median:.2f} ×" if work.base else f"{spread.median:,.{work.digits}f}"
        axes.annotate(text, (spread.upper, place), xytext=(4, 0), textcoords="offset points", va="center")
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel(f"× {work.base} ({work.unit})" if work.base else work.unit)
    _save(plt, figure, axes, path)
    return True


def lines(series: Sequence[Line], path: Path, *, x: str, y: str, logarithmic: str = "") -> bool:
    """Lines over time, or over a size; axes named in `logarithmic` are so. False where nothing
    could be drawn.
    """
    plt = _pyplot()
    if plt is None or not series:
        return False
    figure, axes = plt.subplots(figsize=(WIDTH, 2.8))
    for (name, across, up), color in zip(series, COLORS, strict=False):
        axes.plot(across, up, label=name, color=color, lw=1.4, marker="o" if len(across) < 20 else None, ms=3)
    if "x" in logarithmic:
        axes.set_xscale("log")
    if "y" in logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.15 * max(max(up) for _, _, up in series))
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend(frameon=False)
    _save(plt, figure, axes, path)
    return True


def panels(stacked: Sequence[tuple[str, Sequence[Line]]], path: Path, *, x: str) -> bool:
    """Lines of several measures below one another, each with its name and a scale of its own; False
    where nothing could be drawn.
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
    _save(plt, figure, rows[0][0], path)
    return True


def _save(plt: Any, figure: Any, axes: Any, path: Path) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", facecolor="white", metadata={"Date": None})
    plt.close(figure)


def draw(work: Work, measured: Measured, folder: Path) -> bool:
    """Draws a work into the folder, as `<name>.svg`; False where nothing could be drawn."""
    path = folder / f"{work.name}.svg"
    series = _series(measured)
    if series:
        return lines(series, path, x="seconds", y="MB resident")
    return bars(work, measured, path)


def _series(measured: Measured) -> list[Line]:
    found: Mapping[str, Mapping[str, Any]] = measured.rounds[-1] if measured.rounds else {}
    return [
        (name, [at for at, _ in metrics["series"]], [size for _, size in metrics["series"]])
        for name, metrics in found.items()
        if "series" in metrics
    ]
