"""Makes the architecture file that both tools read: what `caret-bpf graph --yaml` says, with paths that have names.

usage: architecture.py GRAPH PATHS CONTEXT >ARCHITECTURE

GRAPH is the output of `caret-bpf graph --yaml`, PATHS that of `caret-bpf paths --csv`. CONTEXT is `recorded`, which leaves
the contexts as they are, or `use_latest_message`, which makes all of them that.
"""

from __future__ import annotations

import csv
import sys

import yaml


def node_chain(path: str) -> list[dict[str, str]]:
    """Takes `[node]-[topic]-[node]` apart."""
    names = path.removeprefix("[").removesuffix("]").split("]-[")
    nodes, topics = names[::2], names[1::2]
    chain = []
    for index, node in enumerate(nodes):
        link = {"node_name": node}
        if index < len(topics):
            link["publish_topic_name"] = topics[index]
        if index > 0:
            link["subscribe_topic_name"] = topics[index - 1]
        chain.append(link)
    return chain


def main() -> None:
    graph, paths, context = sys.argv[1:]
    with open(graph, encoding="utf-8") as file:
        architecture = yaml.safe_load(file)
    with open(paths, encoding="utf-8", newline="") as file:
        texts = list(dict.fromkeys(row["path"] for row in csv.DictReader(file)))
    architecture["named_paths"] = [
        {"path_name": f"path_{number}", "node_chain": node_chain(text)} for number, text in enumerate(texts)
    ]
    if context != "recorded":
        for node in architecture["nodes"]:
            for pair in node.get("message_contexts") or []:
                pair["context_type"] = context
                pair.pop("callbacks", None)
    yaml.safe_dump(architecture, sys.stdout, sort_keys=False, width=1000)


if __name__ == "__main__":
    main()
