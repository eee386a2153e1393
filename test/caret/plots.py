"""Has caret_analyze make each of its plots of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

from caret_analyze.plot import Plot

# Plots of so many paths are made: drawing takes caret_analyze longer than all its answers.
PATHS = 3


def ended(records) -> int:
    """How many records have the last column: that of a lost message has not."""
    return sum(records.columns[-1] in record.columns for record in records.data)


def made(app) -> Iterator[tuple[str, object, int | None]]:
    """All kinds of plots of what has records, with how many values each has at least: a latency for each record that
    has its end. It is None where caret_analyze does not tell the values."""
    paths = [p for p in app.paths if len(p.to_records()) > 1][:PATHS]
    for kind, of in (("callback", app.callbacks), ("communication", app.communications)):
        targets = [one for one in of if len(one.to_records()) > 1]
        if not targets:
            continue
        least = {"period": 1, "frequency": 1, "latency": max(ended(one.to_records()) for one in targets)}
        for measure, values in least.items():
            yield f"{kind}_{measure}_timeseries", getattr(Plot, f"create_{measure}_timeseries_plot")(*targets), values
            yield f"{kind}_{measure}_histogram", getattr(Plot, f"create_{measure}_histogram_plot")(*targets), None
    # caret_analyze cannot draw the scheduling of callbacks that have never run, and does not end with timers of period 0.
    groups = [g for g in app.callback_groups if g.callbacks
              and all(len(c.to_records()) and getattr(c, "period_ns", None) != 0 for c in g.callbacks)]
    if groups:
        yield "callback_scheduling", Plot.create_callback_scheduling_plot(groups), None
    for path in paths:
        yield f"message_flow_{path.path_name}", Plot.create_message_flow_plot(path), None
        yield f"response_time_stacked_bar_{path.path_name}", Plot.create_response_time_stacked_bar_plot(path), 1
        yield f"response_time_timeseries_{path.path_name}", Plot.create_response_time_timeseries_plot(path), 1
        yield f"response_time_histogram_{path.path_name}", Plot.create_response_time_histogram_plot(path), None


def draw(app, directory: Path) -> Iterator[list[object]]:
    """Saves the plots as HTML. Something is drawn in each, of the values that it has. Rows are which, values, marks."""
    directory.mkdir(exist_ok=True)
    for number, (name, plot, least) in enumerate(made(app)):
        rows = ""
        if least is not None:
            rows = len(plot.to_dataframe("system_time"))
            if rows < least:
                raise ValueError(f"plot {name} has {rows} values of {least}")
        marks = len(plot.figure().renderers)
        if marks == 0:
            raise ValueError(f"plot {name} is empty")
        plot.save(str(directory / f"{number}.html"), name)
        yield [name, rows, marks]
