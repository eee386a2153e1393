"""Asks the views of SQL engines what Go was asked, and compares every row.

usage: views.py QUESTIONS ENGINE

QUESTIONS is JSON: a list of scripts, each with the SQL that makes its views and with the queries that are asked then. Each query has
the rows that are wanted, in any order. What differs is printed; the exit code is then 1. ENGINE is clickhouse, duckdb or spark.
CARET_BPF_SPARK_MASTER is the Spark master to use, else Spark runs in this process.
"""

import collections
import json
import os
import sys


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


def spark():
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(os.environ.get("CARET_BPF_SPARK_MASTER", "local[2]"))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.executor.memory", "512m")
        .getOrCreate()
    )
    return session.sql, lambda query: [tuple(row) for row in session.sql(query).collect()]


ENGINES = {"clickhouse": clickhouse, "duckdb": duckdb, "spark": spark}


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
            try:
                got = [" | ".join(map(text, row)) for row in ask(answer["query"])]
                found = difference(got, answer["want"] or [])
            except Exception as error:  # of any engine
                found = f"{type(error).__name__}: {str(error)[:2000]}"
            if found:
                failed = True
                print(f"{answer['view']}: {found}", flush=True)
            else:
                print(f"{answer['view']}: {len(got)} rows are equal", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
