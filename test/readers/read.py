"""Reads every segment of a dataset with each of the readers and compares every value with Go's.

usage: read.py DATASET EXPECTED [READER...]

EXPECTED holds, for each table, its segments in order and the values of each column, as JSON. What differs is printed; the exit code
is then 1.
"""

import json
import os
import sys


def from_arrow(table):
    return {name: table.column(name).to_pylist() for name in table.column_names}


def from_frame(frame):
    """Values of a pandas frame, with None for null. Integers must not have become floats, which round nanoseconds."""
    values = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind == "f":
            raise TypeError(f"column {name} has become {column.dtype}")
        values[name] = [None if missing else value for value, missing in zip(column.tolist(), column.isna().tolist())]
    return values


def pandas_reader():
    import pandas

    # Without dtype_backend, pandas turns integers with nulls into floats.
    return lambda path: from_frame(pandas.read_parquet(path, engine="pyarrow", dtype_backend="pyarrow"))


def pyarrow_reader():
    import pyarrow.parquet

    return lambda path: from_arrow(pyarrow.parquet.read_table(path, page_checksum_verification=True))


def polars_reader():
    import polars

    return lambda path: polars.read_parquet(path).to_dict(as_series=False)


def duckdb_reader():
    import duckdb

    def read(path):
        relation = duckdb.read_parquet(path)
        return dict(zip(relation.columns, map(list, zip(*relation.fetchall()))))

    return read


PAGE_ROWS = 16 << 10  # of a page that the recorder writes


def fastparquet_reader():
    """It reads 64-bit DELTA_BINARY_PACKED as 32 bits, or crashes, and fails at nulls if there are several pages. It gets the rest."""
    import fastparquet
    import pyarrow.parquet

    def read(path):
        metadata = pyarrow.parquet.read_metadata(path)
        if metadata.num_rows > PAGE_ROWS:
            return {}
        chunks = [metadata.row_group(group).column(column)
                  for group in range(metadata.num_row_groups) for column in range(metadata.num_columns)]
        names = {chunk.path_in_schema: True for chunk in chunks}
        for chunk in chunks:
            if "DELTA_BINARY_PACKED" in chunk.encodings:
                names[chunk.path_in_schema] = False
        return from_frame(fastparquet.ParquetFile(path).to_pandas([name for name in names if names[name]]))

    return read


def clickhouse_reader():
    import chdb

    def read(path):
        lines = str(chdb.query(f"SELECT * FROM file('{path}', 'Parquet') FORMAT JSONCompactColumns "
                               "SETTINGS max_threads = 1, output_format_json_quote_64bit_integers = 0"))
        names = [json.loads(line)["name"] for line in str(
            chdb.query(f"DESCRIBE file('{path}', 'Parquet') FORMAT JSONEachRow")).splitlines()]
        return dict(zip(names, json.loads(lines)))

    return read


def spark_reader():
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.parquet.enableVectorizedReader", "true")
        .getOrCreate()
    )
    return lambda path: from_arrow(spark.read.parquet(path).toArrow())


READERS = {
    "pandas": pandas_reader,
    "pyarrow": pyarrow_reader,
    "polars": polars_reader,
    "duckdb": duckdb_reader,
    "fastparquet": fastparquet_reader,
    "clickhouse": clickhouse_reader,
    "spark": spark_reader,
}


def differences(got, expected, all_columns):
    if all_columns and list(got) != list(expected):
        yield f"columns {list(got)}, want {list(expected)}"
        return
    for name, values in got.items():
        want = expected[name]
        if len(values) != len(want):
            yield f"column {name}: {len(values)} rows, want {len(want)}"
        wrong = [row for row, (a, b) in enumerate(zip(values, want)) if a != b or type(a) is not type(b)]
        if wrong:
            row = wrong[0]
            yield f"column {name}: {len(wrong)} of {len(want)} values differ, row {row} is {values[row]!r}, want {want[row]!r}"


def main():
    dataset, expected_path, *chosen = sys.argv[1:]
    with open(expected_path, encoding="utf-8") as file:
        expected = json.load(file)
    failed = False
    for reader in chosen or READERS:
        read = READERS[reader]()
        compared = 0
        for table in expected:
            for segment in table["segments"]:
                path = os.path.join(dataset, table["name"], segment["name"])
                columns = dict(zip(table["columns"], segment["values"]))
                try:
                    got = read(path)
                    found = list(differences(got, columns, all_columns=reader != "fastparquet"))
                    compared += sum(map(len, got.values()))
                except Exception as error:  # of any reader
                    found = [f"{type(error).__name__}: {error}"]
                for difference in found:
                    failed = True
                    print(f"{reader}: {table['name']}/{segment['name']}: {difference}", flush=True)
        print(f"{reader}: {compared} values compared", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
