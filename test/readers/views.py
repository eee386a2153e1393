"""Asks the views of SQL engines what Go was asked, and compares every row.

usage: views.py QUESTIONS ENGINE

QUESTIONS is JSON: a list of scripts, each with the SQL that makes its views and with the queries that are asked then. Each query has
the rows that are wanted, in any order. What differs is printed; the exit code is then 1. ENGINE is one of ENGINES.
CARET_BPF_TRINO is the address of the Trino server that is asked.
"""

import atexit
import collections
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request


def statements(sql):
    """The statements of a script, each of which ends a paragraph."""
    return [statement.removesuffix(";") for statement in sql.rstrip().replace(";\n\n", ";\0").split("\0") if statement]


def text(value):
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def clickhouse():
    from chdb.session import Session

    session = Session()

    def ask(query):
        lines = str(session.query(query, "JSONCompactEachRow")).splitlines()
        return [json.loads(line) for line in lines]

    # Numbers of 64 bits are quoted by some versions, as JavaScript cannot hold them.
    session.query("SET output_format_json_quote_64bit_integers = 0")
    return session.query, ask


def duckdb():
    import duckdb

    connection = duckdb.connect()
    return connection.execute, lambda query: connection.execute(query).fetchall()


def spark(master="local[2]"):
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(master)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        # Of so few rows most time goes into planning, and into compiling what is planned.
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.executor.memory", "512m")
        .getOrCreate()
    )
    atexit.register(session.stop)
    return session.sql, lambda query: [tuple(row) for row in session.sql(query).collect()]


def spark_cluster():
    """A master and two workers, each a process of its own, which end with this one."""
    import pyspark

    command = os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-class")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    master = f"spark://127.0.0.1:{port}"

    def start(role, *arguments):
        process = subprocess.Popen([command, f"org.apache.spark.deploy.{role}", "--host", "127.0.0.1", "--webui-port", "0", *arguments],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(process.wait)
        atexit.register(process.terminate)

    start("master.Master", "--port", port)
    directory = tempfile.TemporaryDirectory()
    atexit.register(directory.cleanup)
    for worker in "12":
        start("worker.Worker", "--cores", "1", "--memory", "600M", "--work-dir", os.path.join(directory.name, worker), master)
    run, ask = spark(master)
    deadline = time.monotonic() + 300
    while (executors := run("SELECT 1").sparkSession.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1) < 2:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{executors} executors after five minutes")
        time.sleep(1)
    print("two workers have an executor each", flush=True)
    return run, ask


def trino():
    server = os.environ["CARET_BPF_TRINO"]
    headers = {"X-Trino-User": "test", "X-Trino-Catalog": "hive", "X-Trino-Schema": "trace"}

    def ask(query):
        request = urllib.request.Request(server + "/v1/statement", query.encode(), headers)
        rows = []
        while True:
            with urllib.request.urlopen(request) as response:
                answer = json.load(response)
            if "error" in answer:
                raise RuntimeError(answer["error"]["message"])
            rows += answer.get("data", [])
            if "nextUri" not in answer:
                return rows
            request = urllib.request.Request(answer["nextUri"], headers=headers)

    ask("CREATE SCHEMA IF NOT EXISTS hive.trace")
    return ask, ask


ENGINES = {"clickhouse": clickhouse, "duckdb": duckdb, "spark": spark, "spark-cluster": spark_cluster, "trino": trino}


def difference(got, want):
    """What rows are too many and too few, or None."""
    got, want = collections.Counter(got), collections.Counter(want)
    more, less = got - want, want - got
    if not more and not less:
        return None
    return "\n".join([f"{more.total()} rows that Go has not, such as", *sorted(more)[:3],
                      f"{less.total()} rows that only Go has, such as", *sorted(less)[:3]])


def main():
    path, engine = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        scripts = json.load(file)
    run, ask = ENGINES[engine]()
    failed = False
    for script in scripts:
        for statement in statements(script["sql"]):
            try:
                run(statement)
            except Exception as error:  # of any engine
                print(f"{type(error).__name__}: {str(error)[:2000]}\nin\n{statement}", flush=True)
                return 1
        for answer in script["answers"]:
            began = time.monotonic()
            try:
                got = [" | ".join(map(text, row)) for row in ask(answer["query"])]
                found = difference(got, answer["want"] or [])
            except Exception as error:  # of any engine
                found = f"{type(error).__name__}: {str(error)[:2000]}"
            if found:
                failed = True
                print(f"{answer['view']}: {found}", flush=True)
            else:
                print(f"{answer['view']}: {len(got)} rows are equal, {time.monotonic() - began:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
