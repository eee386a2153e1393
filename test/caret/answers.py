"""Writes what caret_analyze answers for a CTF trace, one CSV file a question. Times are nanoseconds of Unix time.

usage: answers.py TRACE ARCHITECTURE DIRECTORY
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Iterable

import bt2
from caret_analyze import Application, Architecture, Lttng
from caret_analyze.record import ResponseTime

import plots


def has_middleware(trace: str) -> bool:
    """caret_analyze refuses traces of which no message went through the middleware, unless told not to validate."""
    return any(
        type(message) is bt2._EventMessageConst and message.event.name == "ros2_caret:dds_bind_addr_to_stamp"
        for message in bt2.TraceCollectionMessageIterator(trace)
    )


def write(file: Path, header: list[str], rows: Iterable[Iterable[object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(header)
        writer.writerows(rows)


def values(records, *endings: str):
    """The values of each record in the columns with these endings; those that a record lacks are empty."""
    columns = [next((c for c in records.columns if c.endswith("/" + ending)), None) for ending in endings]
    for record in records.data:
        yield [record.get(c) if c is not None and c in record.columns else "" for c in columns]


def callbacks(app):
    for callback in app.callbacks:
        for row in values(callback.to_records(), "callback_start_timestamp", "callback_end_timestamp"):
            yield [callback.callback_name, *row]


def communications(app):
    for c in app.communications:
        records = c.to_records()
        for row in values(records, "rclcpp_publish_timestamp", "rcl_publish_timestamp", "dds_write_timestamp",
                          "callback_start_timestamp"):
            yield [c.publish_node_name, c.topic_name, c.subscribe_node_name, *row]


def nodes(app):
    for node in app.nodes:
        for pair in node.paths:
            if pair.message_context is None or pair.subscribe_topic_name is None or pair.publish_topic_name is None:
                continue
            records = pair.to_records()
            for record in records.data:
                first, last = records.columns[0], records.columns[-1]
                yield [pair.node_name, pair.subscribe_topic_name, pair.publish_topic_name,
                       record.get(first) if first in record.columns else "",
                       record.get(last) if last in record.columns else ""]


def known(app):
    """What the architecture file has, of which alone caret_analyze answers."""
    for callback in app.callbacks:
        yield ["callbacks", callback.callback_name]
    for c in app.communications:
        yield ["communications", " ".join((c.publish_node_name, c.topic_name, c.subscribe_node_name))]
    for node in app.nodes:
        for pair in node.paths:
            if pair.message_context is not None and pair.subscribe_topic_name and pair.publish_topic_name:
                yield ["nodes", " ".join((pair.subscribe_topic_name, pair.node_name, pair.publish_topic_name))]


def path_columns(records) -> list[str]:
    """The publishes and the starts of callbacks, which are the bounds of the hops, and the end of the last one."""
    bounds = ("rclcpp_publish_timestamp", "callback_start_timestamp", "callback_end_timestamp", "rmw_take_timestamp")
    return [c for c in records.columns if c.rsplit("/", 2)[-2] in bounds]


def paths(app):
    for path in app.paths:
        records = path.to_records()
        columns = path_columns(records)
        for record in records.data:
            yield [path.path_name, " ".join(str(record.get(c)) if c in record.columns else "-" for c in columns)]


def include_callbacks(app) -> None:
    """Has paths begin and end with their first and last callbacks."""
    for path in app.paths:
        path.include_first_callback = True
        path.include_last_callback = True
        path.clear_cache()


def delays(app):
    """From the begin of each message to its end or, if it was dropped, to that of the next one."""
    for path in app.paths:
        if len(path.to_records()) == 0:
            continue
        frame = path.to_dataframe(treat_drop_as_delay=True)
        bounds = frame[[frame.columns[0], frame.columns[-1]]].dropna()
        for begin, end in bounds.itertuples(index=False):
            yield [path.path_name, int(begin), int(end)]


def response_times(app):
    for path in app.paths:
        records = path.to_records()
        if len(records) == 0:
            continue
        response = ResponseTime(records, columns=path_columns(records))
        for case, answer in (
            ("best", response.to_best_case_records),
            ("worst", response.to_worst_case_records),
            ("worst_with_external_latency", response.to_worst_with_external_latency_case_records),
            ("all", response.to_all_records),
        ):
            answered = answer()
            for record in answered.data:
                start = record.get(answered.columns[0])
                yield [path.path_name, case, start, start + record.get("response_time")]


def main() -> None:
    trace, architecture, directory = sys.argv[1:]
    lttng = Lttng(trace, force_conversion=True, validate=has_middleware(trace))
    app = Application(Architecture("yaml", architecture), lttng)
    out = Path(directory)
    write(out / "known.csv", ["question", "of"], known(app))
    write(out / "callback.csv", ["callback_name", "start", "end"], callbacks(app))
    write(out / "communication.csv",
          ["publisher_node", "topic", "subscription_node", "publish", "rcl_publish", "rmw_publish", "start"],
          communications(app))
    write(out / "node.csv", ["node", "subscription_topic", "publisher_topic", "start", "publish"], nodes(app))
    write(out / "path.csv", ["path", "bounds"], paths(app))
    write(out / "response_time.csv", ["path", "case", "start", "end"], response_times(app))
    write(out / "delay.csv", ["path", "start", "end"], delays(app))
    write(out / "plots.csv", ["plot", "values", "marks"], plots.draw(app, out / "plots"))
    include_callbacks(app)
    write(out / "path_with_callbacks.csv", ["path", "bounds"], paths(app))


if __name__ == "__main__":
    main()
