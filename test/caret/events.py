"""The tracepoint hits that a caret-bpf dataset holds, as the events that caret_analyze reads."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

import pyarrow.parquet

ADDRESS_MASK = 2**64 - 1
ENTITY_TABLES = (
    "context node publisher subscription timer service_server client callback_info callback_group executor".split()
)


@dataclasses.dataclass(frozen=True)
class Event:
    """One tracepoint hit: its time is in nanoseconds of Unix time."""

    timestamp: int
    name: str
    pid: int
    tid: int
    payload: dict[str, int | str]


class Dataset:
    """Reads the tables of a dataset, and counts what has no place in a trace of CARET."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory)
        self.left_out: Counter[str] = Counter()
        self.processes = {self._key(row): row for row in self._newest("process", lambda row: self._key(row))}
        self.start = min(
            (row["recording_start_timestamp"] for row in self.processes.values() if row["recording_start_timestamp"]),
            default=None,
        )

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        for file in sorted((self.directory / table).glob("*.parquet")):
            yield from pyarrow.parquet.read_table(file).to_pylist()

    def entities(self, table: str) -> list[dict[str, Any]]:
        """One row of each entity: the last that was written. Older recorders did not number entities."""
        rows = list(self.rows(table))
        if any(row["entity"] is None for row in rows):
            return rows
        return self._newest(table, lambda row: (self._key(row), row["entity"]))

    def _newest(self, table: str, identity) -> list[dict[str, Any]]:
        newest: dict[Any, dict[str, Any]] = {}
        for row in self.rows(table):
            key = identity(row)
            if key not in newest or (row["revision"] or 0) >= (newest[key]["revision"] or 0):
                newest[key] = row
        return list(newest.values())

    @staticmethod
    def _key(row: dict[str, Any]) -> tuple[str, int, int]:
        return row["boot_id"], row["pid"], row["process_start"]

    def procname(self, pid: int) -> str:
        return next((row["command"] or "" for key, row in self.processes.items() if key[1] == pid), "")

    def events(self) -> list[Event]:
        """All events in the order of their times. Those of one time are in the order in which a thread makes them."""
        run = list(self._run())
        # Entities that were made before the recording have no time. CARET reads all init events first.
        first = min([event.timestamp for event in run] + ([self.start] if self.start else []))
        events = list(self._init(first)) + run
        return sorted(events, key=lambda event: event.timestamp)

    def _init(self, first: int) -> Iterator[Event]:
        # caret-bpf sees Humble's intra-process buffers as Iron's tracepoints show them. CARET's rclcpp for Humble shows
        # other things, which nobody sees in the stock one. So the events of Humble are those of Iron.
        distros = {key[1]: max(row["distro"] or "NOTFOUND", "iron") for key, row in self.processes.items()}
        by_collector = {pid: distro >= "iron" for pid, distro in distros.items()}
        for key, row in self.processes.items():
            yield Event(first, "ros2_caret:caret_init", key[1], key[1],
                        {"clock_offset": first, "distribution": distros[key[1]]})
        tables = {table: self.entities(table) for table in ENTITY_TABLES}
        collectors = {(row["pid"], row["executor"]): row["entities_collector"] or row["executor"]
                      for row in tables["executor"]}
        groups = {(row["pid"], row["callback_group"]) for row in tables["callback_group"]}
        seen: set[Event] = set()
        for table, rows in tables.items():
            for row in rows:
                at = row["init_timestamp"] or first
                row["by_collector"] = by_collector.get(row["pid"], True)
                row["collector"] = collectors.get((row["pid"], row.get("executor")))
                for name, payload in getattr(self, f"_{table}")(row):
                    missing = [field for field, value in payload.items() if value is None]
                    if missing:
                        self.left_out[f"{name} without {missing[0]}"] += 1
                        continue
                    group = payload.get("callback_group_addr")
                    if group is not None and (row["pid"], group) not in groups:
                        self.left_out[f"{name} with an unknown callback group"] += 1
                    when = at
                    # Of a subscription's two callbacks, CARET takes the earlier one for that of intra-process messages.
                    # Those that were made before the recording have one time.
                    if name == "ros2:rclcpp_subscription_callback_added" and row["buffer"] is not None:
                        when -= 1
                    event = (when, name, row["pid"], tuple(payload.items()))
                    if event not in seen:
                        seen.add(event)
                        yield Event(when, name, row["pid"], row["pid"], payload)

    @staticmethod
    def _context(row):
        yield "ros2:rcl_init", {"context_handle": row["context_handle"], "version": ""}

    @staticmethod
    def _node(row):
        yield "ros2:rcl_node_init", {
            "node_handle": row["node_handle"], "rmw_handle": row["rmw_handle"] or 0,
            "node_name": row["node_name"], "namespace": row["namespace"]}

    @staticmethod
    def _publisher(row):
        yield "ros2:rcl_publisher_init", {
            "publisher_handle": row["publisher_handle"], "node_handle": row["node_handle"],
            "rmw_publisher_handle": row["rmw_publisher_handle"] or 0, "topic_name": row["topic_name"],
            "queue_depth": row["queue_depth"] or 0}

    @staticmethod
    def _subscription(row):
        handle, owner = row["subscription_handle"], row["subscription"]
        yield "ros2:rcl_subscription_init", {
            "subscription_handle": handle, "node_handle": row["node_handle"],
            "rmw_subscription_handle": row["rmw_subscription_handle"] or 0, "topic_name": row["topic_name"],
            "queue_depth": row["queue_depth"] or 0}
        yield "ros2:rclcpp_subscription_init", {"subscription_handle": handle, "subscription": owner}
        yield "ros2:rclcpp_subscription_callback_added", {"subscription": owner, "callback": row["callback"]}
        if row["callback_group"] is not None:
            yield "ros2_caret:callback_group_add_subscription", {
                "callback_group_addr": row["callback_group"], "subscription_handle": handle}
        if row["buffer"] is not None:
            buffer, ipb = row["buffer"], row["ipb"]
            yield "ros2:rclcpp_construct_ring_buffer", {"buffer": buffer, "capacity": row["capacity"] or 0}
            yield "ros2:rclcpp_buffer_to_ipb", {"buffer": buffer, "ipb": ipb}
            yield "ros2:rclcpp_ipb_to_subscription", {"ipb": ipb, "subscription": owner}

    @staticmethod
    def _timer(row):
        handle = row["timer_handle"]
        yield "ros2:rcl_timer_init", {"timer_handle": handle, "period": row["period"]}
        yield "ros2:rclcpp_timer_callback_added", {"timer_handle": handle, "callback": row["callback"]}
        yield "ros2:rclcpp_timer_link_node", {"timer_handle": handle, "node_handle": row["node_handle"]}
        yield "ros2_caret:callback_group_add_timer", {
            "callback_group_addr": row["callback_group"], "timer_handle": handle}

    @staticmethod
    def _service_server(row):
        handle = row["service_handle"]
        yield "ros2:rcl_service_init", {
            "service_handle": handle, "node_handle": row["node_handle"],
            "rmw_service_handle": row["rmw_service_handle"] or 0, "service_name": row["service_name"]}
        yield "ros2:rclcpp_service_callback_added", {"service_handle": handle, "callback": row["callback"]}
        yield "ros2_caret:callback_group_add_service", {
            "callback_group_addr": row["callback_group"], "service_handle": handle}

    @staticmethod
    def _client(row):
        yield "ros2:rcl_client_init", {
            "client_handle": row["client_handle"], "node_handle": row["node_handle"],
            "rmw_client_handle": row["rmw_client_handle"] or 0, "service_name": row["service_name"]}

    @staticmethod
    def _callback_info(row):
        yield "ros2:rclcpp_callback_register", {"callback": row["callback"], "symbol": row["symbol"] or "unknown"}

    @staticmethod
    def _callback_group(row):
        group = {"callback_group_addr": row["callback_group"], "group_type_name": row["group_type_name"]}
        if row["by_collector"]:
            yield "ros2_caret:callback_group_to_executor_entity_collector", {
                "entities_collector_addr": row["collector"], **group}
        else:
            yield "ros2_caret:add_callback_group", {"executor_addr": row["executor"], **group}

    @staticmethod
    def _executor(row):
        executor = row["executor"]
        if row["by_collector"]:
            yield "ros2_caret:executor_entity_collector_to_executor", {
                "executor_addr": executor, "entities_collector_addr": row["collector"]}
        yield "ros2_caret:construct_executor", {
            "executor_addr": executor, "executor_type_name": row["executor_type"] or "unknown"}

    def _run(self) -> Iterator[Event]:
        for row in self.rows("publish"):
            yield from self._publish(row)
        for row in self.rows("enqueue"):
            if row["index"] is None:
                self.left_out["ros2:rclcpp_ring_buffer_enqueue without index"] += 1
                continue
            yield self._event(row, row["enqueue_timestamp"], "ros2:rclcpp_ring_buffer_enqueue", {
                "buffer": row["buffer"], "index": row["index"], "size": row["size"],
                "overwritten": int(row["overwritten"] or 0)})
        for row in self.rows("take"):
            yield from self._receive(row)
        for row in self.rows("callback"):
            start = row["callback_start_timestamp"]
            yield from self._receive(row)
            if start is not None:
                yield self._event(row, start, "ros2:callback_start", {
                    "callback": row["callback"], "is_intra_process": int(row["is_intra_process"] or 0)})
            if row["callback_end_timestamp"] is not None and row["status"] in ("complete", "start_missing"):
                yield self._event(row, row["callback_end_timestamp"], "ros2:callback_end", {
                    "callback": row["callback"]})

    def _publish(self, row: dict[str, Any]) -> Iterator[Event]:
        handle, message = row["publisher_handle"], row["message"] or 0
        rclcpp = row["rclcpp_publish_timestamp"]
        rcl = self._time(row, "rcl_publish", rclcpp)
        rmw = self._time(row, "rmw_publish", rclcpp)
        if handle is not None:
            if row["rclcpp_intra_publish_timestamp"] is not None:
                yield self._event(row, row["rclcpp_intra_publish_timestamp"], "ros2:rclcpp_intra_publish", {
                    "publisher_handle": handle, "message": row["intra_message"] or 0})
            if rclcpp is not None:
                yield self._event(row, rclcpp, "ros2:rclcpp_publish", {"publisher_handle": handle, "message": message})
            if rcl is not None:
                yield self._event(row, rcl, "ros2:rcl_publish", {"publisher_handle": handle, "message": message})
        if rmw is not None:
            yield self._event(row, rmw, "ros2_caret:dds_write", {"message": message})
        if row["source_timestamp"] is not None:
            # CARET joins this event by thread and order: with the time of the last layer it is joined just so.
            bound = self._time(row, "dds_bind_addr_to_stamp", rclcpp) or rmw or rcl or rclcpp
            yield self._event(row, bound, "ros2_caret:dds_bind_addr_to_stamp", {
                "addr": message, "source_stamp": row["source_timestamp"]})

    def _receive(self, row: dict[str, Any]) -> Iterator[Event]:
        start = row["callback_start_timestamp"] if "rmw_take_offset" in row else None
        taken = self._time(row, "rmw_take", start)
        if taken is not None:
            yield self._event(row, taken, "ros2:rmw_take", {
                "rmw_subscription_handle": row["rmw_subscription_handle"] or 0, "message": row["message"] or 0,
                "source_timestamp": row["source_timestamp"], "taken": 1})
        dequeued = self._time(row, "dequeue", start)
        if dequeued is None:
            return
        if row["dequeue_index"] is None:
            self.left_out["ros2:rclcpp_ring_buffer_dequeue without index"] += 1
            return
        yield self._event(row, dequeued, "ros2:rclcpp_ring_buffer_dequeue", {
            "buffer": row["buffer"], "index": row["dequeue_index"], "size": row["dequeue_size"] or 0})

    @staticmethod
    def _time(row: dict[str, Any], layer: str, base: int | None) -> int | None:
        """The time of a layer, which a row has as such or as an offset from another time."""
        offset = row.get(f"{layer}_offset")
        if offset is not None and base is not None:
            return base + offset
        return row[f"{layer}_timestamp"]

    @staticmethod
    def _event(row: dict[str, Any], at: int, name: str, payload: dict[str, int]) -> Event:
        return Event(at, name, row["pid"], row["tid"], payload)
