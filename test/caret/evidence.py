"""Writes what explains differences between the two tools' answers about a caret-bpf dataset, as CSV.

usage: evidence.py DATASET SUBSCRIPTIONS PUBLISHES
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any, Iterable, Iterator

import pyarrow.parquet


def rows(dataset: str, table: str) -> Iterator[dict[str, Any]]:
    for file in sorted((Path(dataset) / table).glob("*.parquet")):
        yield from pyarrow.parquet.read_table(file).to_pylist()


def newest(dataset: str, table: str) -> list[dict[str, Any]]:
    """One row of each entity: the last that was written."""
    of: dict[Any, dict[str, Any]] = {}
    for row in rows(dataset, table):
        key = row["boot_id"], row["pid"], row["process_start"], row["entity"]
        if key not in of or row["revision"] >= of[key]["revision"]:
            of[key] = row
    return list(of.values())


def write(file: str, header: list[str], lines: Iterable[Iterable[object]]) -> None:
    with open(file, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(header)
        writer.writerows(lines)


def lives(dataset: str) -> Iterator[list[object]]:
    """From when until when each subscription existed; empty if that was before or after the recording."""
    for row in newest(dataset, "subscription"):
        yield [row["node_name"], row["topic_name"], row["init_timestamp"], row["end_timestamp"]]


def publishes(dataset: str) -> Iterator[list[object]]:
    """When the execution started in which each message was published; empty outside of callbacks."""
    for row in rows(dataset, "publish"):
        published = row["rclcpp_intra_publish_timestamp"] or row["rclcpp_publish_timestamp"]
        if published is not None:
            yield [published, row["callback_start_timestamp"]]


def main() -> None:
    dataset, subscriptions, published = sys.argv[1:]
    write(subscriptions, ["node", "topic", "init", "end"], lives(dataset))
    write(published, ["publish", "start"], publishes(dataset))


if __name__ == "__main__":
    main()
