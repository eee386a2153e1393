"""Writes a caret-bpf dataset as a CTF trace that caret_analyze loads, and what explains differences as CSV.

usage: ctf.py DATASET TRACE SUBSCRIPTIONS PUBLISHES
"""

from __future__ import annotations

import csv
import sys

import bt2

from events import ADDRESS_MASK, Dataset, Event


class _Events(bt2._UserMessageIterator):
    def __init__(self, config, port):
        self._source = port.user_data
        self._messages = self._make()

    def _make(self):
        stream, classes, dataset, events = self._source
        yield self._create_stream_beginning_message(stream)
        for event in events:
            message = self._create_event_message(classes[event.name], stream, default_clock_snapshot=event.timestamp)
            context = message.event.common_context_field
            context["vpid"], context["vtid"], context["procname"] = event.pid, event.tid, dataset.procname(event.pid)
            for field, value in event.payload.items():
                message.event.payload_field[field] = value if isinstance(value, str) else value & ADDRESS_MASK
            yield message
        yield self._create_stream_end_message(stream)

    def __next__(self):
        return next(self._messages)


class _Source(bt2._UserSourceComponent, message_iterator_class=_Events):
    def __init__(self, config, params, made_of):
        dataset, events = made_of
        trace_class = self._create_trace_class()
        clock = self._create_clock_class(name="unix", frequency=1_000_000_000, origin_is_unix_epoch=True)

        def structure(fields):
            made = trace_class.create_structure_field_class()
            for field, value in fields.items():
                made.append_member(
                    field,
                    trace_class.create_string_field_class() if isinstance(value, str)
                    else trace_class.create_unsigned_integer_field_class(64))
            return made

        stream_class = trace_class.create_stream_class(
            default_clock_class=clock, event_common_context_field_class=structure({"vpid": 0, "vtid": 0, "procname": ""}))
        classes = {}
        for event in events:
            if event.name not in classes:
                classes[event.name] = stream_class.create_event_class(
                    name=event.name, payload_field_class=structure(event.payload))
        trace = trace_class()
        self._add_output_port("out", (trace.create_stream(stream_class), classes, dataset, events))


def write(dataset: Dataset, events: list[Event], directory: str) -> None:
    """Writes the events as one trace with one stream below the directory."""
    graph = bt2.Graph()
    source = graph.add_component(_Source, "dataset", obj=(dataset, events))
    sink_class = bt2.find_plugin("ctf").sink_component_classes["fs"]
    sink = graph.add_component(sink_class, "trace", {"path": directory + "/ctf", "assume-single-trace": True, "quiet": True})
    graph.connect_ports(source.output_ports["out"], sink.input_ports["in"])
    graph.run()


def write_lives(dataset: Dataset, file: str) -> None:
    """Writes from when until when each subscription existed; empty if that was before or after the recording."""
    with open(file, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["node", "topic", "init", "end"])
        for row in dataset.entities("subscription"):
            writer.writerow([row["node_name"], row["topic_name"], row["init_timestamp"], row["end_timestamp"]])


def write_publishes(dataset: Dataset, file: str) -> None:
    """Writes when the execution started in which each message was published; empty outside of callbacks."""
    with open(file, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["publish", "start"])
        for row in dataset.rows("publish"):
            published = row["rclcpp_intra_publish_timestamp"] or row["rclcpp_publish_timestamp"]
            if published is not None:
                writer.writerow([published, row["callback_start_timestamp"]])


def main() -> None:
    dataset = Dataset(sys.argv[1])
    events = dataset.events()
    write(dataset, events, sys.argv[2])
    write_lives(dataset, sys.argv[3])
    write_publishes(dataset, sys.argv[4])
    print(f"{len(events)} events")
    for what, count in sorted(dataset.left_out.items()):
        print(f"left out: {count} {what}")


if __name__ == "__main__":
    main()
