"""Makes the architecture file that both tools read: what `caret-bpf graph --yaml` says, with paths that have names.

usage: architecture.py GRAPH PATHS CONTEXT >ARCHITECTURE

GRAPH is the output of `caret-bpf graph --yaml`, PATHS that of `caret-bpf paths --csv`. CONTEXT is `recorded`, which leaves
the contexts as they are, `use_latest_message`, which makes all of them that, or `variable_passing`, which has one
subscription of each node pass a variable to a callback that publishes, whatever the program does.
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


def is_complete(chain: list[dict[str, str]], nodes) -> bool:
    """Whether the file has all parts of a path. It lacks subscriptions without a callback that is known."""
    topics = {
        (node["node_name"], kind, entry["topic_name"])
        for node in nodes
        for kind in ("publishes", "subscribes")
        for entry in node.get(kind) or []
    }
    return all(
        (link["node_name"], kind, link[key]) in topics
        for link in chain
        for kind, key in (("publishes", "publish_topic_name"), ("subscribes", "subscribe_topic_name"))
        if key in link
    )


def only_callbacks(node, kind: str) -> dict[str, str]:
    """The callbacks of subscriptions or publishers, by topic, of which there is one."""
    callbacks: dict[str, str] = {}
    several = set()
    for entry in node.get(kind) or []:
        topic = entry["topic_name"]
        names = entry["callback_names"] if kind == "publishes" else [entry["callback_name"]]
        if topic in callbacks or len(names) != 1 or names[0] == "UNDEFINED":
            several.add(topic)
        else:
            callbacks[topic] = names[0]
    return {topic: name for topic, name in callbacks.items() if topic not in several}


def pass_variable(node) -> None:
    """Has the first subscription pass a variable to the first other callback that publishes."""
    chains = [
        (received, writer, published, reader)
        for received, writer in only_callbacks(node, "subscribes").items()
        for published, reader in only_callbacks(node, "publishes").items()
        if writer != reader
    ]
    if not chains:
        return
    received, writer, published, reader = chains[0]
    node["variable_passings"] = [{"callback_name_write": writer, "callback_name_read": reader}]
    for pair in node["message_contexts"]:
        if (pair["subscription_topic_name"], pair["publisher_topic_name"]) == (received, published):
            pair["context_type"] = "callback_chain"
            pair["callbacks"] = [writer, reader]


def main() -> None:
    graph, paths, context = sys.argv[1:]
    with open(graph, encoding="utf-8") as file:
        architecture = yaml.safe_load(file)
    with open(paths, encoding="utf-8", newline="") as file:
        texts = list(dict.fromkeys(row["path"] for row in csv.DictReader(file)))
    chains = [chain for chain in map(node_chain, texts) if len(chain) > 1 and is_complete(chain, architecture["nodes"])]
    architecture["named_paths"] = [
        {"path_name": f"path_{number}", "node_chain": chain} for number, chain in enumerate(chains)
    ]
    if context == "variable_passing":
        for node in architecture["nodes"]:
            pass_variable(node)
    elif context != "recorded":
        for node in architecture["nodes"]:
            for pair in node.get("message_contexts") or []:
                pair["context_type"] = context
                pair.pop("callbacks", None)
    yaml.safe_dump(architecture, sys.stdout, sort_keys=False, width=1000)


if __name__ == "__main__":
    main()
