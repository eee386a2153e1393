"""Has caret_analyze make each of its plots of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

from caret_analyze.plot import Plot


def of_objects(kind: str, create, *targets) -> Iterator[tuple[str, object, int]]:
    """A plot that tells its values: which, the plot, and how many it must have at least."""
    if targets:
        yield kind, create(*targets), max(len(target.to_records()) for target in targets)


def made(app) -> Iterator[tuple[str, object, int | None]]:
    """All kinds of plots of all that has records. Those without a number of values are only drawn."""
    callbacks = [c for c in app.callbacks if len(c.to_records()) > 1]
    communications = [c for c in app.communications if len(c.to_records()) > 1]
    paths = [p for p in app.paths if len(p.to_records()) > 1]
    for kind, targets in (("callback", callbacks), ("communication", communications)):
        for measure in ("period", "frequency", "latency"):
            for form in ("timeseries", "histogram"):
                create = getattr(Plot, f"create_{measure}_{form}_plot")
                # A histogram has one row a bin, and the values of a second are one frequency.
                counted = form == "timeseries" and measure == "latency"
                for name, plot, rows in of_objects(f"{kind}_{measure}_{form}", create, *targets):
                    yield name, plot, rows if counted else 1
    if app.callbacks:
        yield "callback_scheduling", Plot.create_callback_scheduling_plot(app), None
    for path in paths:
        yield f"message_flow_{path.path_name}", Plot.create_message_flow_plot(path), None
        yield f"response_time_stacked_bar_{path.path_name}", Plot.create_response_time_stacked_bar_plot(path), 1
        yield f"response_time_timeseries_{path.path_name}", Plot.create_response_time_timeseries_plot(path), 1
        yield f"response_time_histogram_{path.path_name}", Plot.create_response_time_histogram_plot(path), 1


def draw(app, directory: Path) -> Iterator[list[object]]:
    """Saves the plots as HTML. Each has values, and something is drawn of them. Rows are which, values, marks."""
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
