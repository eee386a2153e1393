"""Registers a lake in catalogs while it changes, and compares what readers get from it, through catalogs and without, with its files.

usage: catalogs.py LAKE FOLDER READER...

LAKE has three recordings, of which two are made those of an older version: their files lack columns. FOLDER is for catalogs. What
differs is printed; the exit code is then 1.
"""

import collections
import glob
import importlib.util
import json
import os
import shutil
import sys

import pyarrow
import pyarrow.dataset
import pyarrow.parquet

# Columns of this version that the older one does not have.
NEWER = {"callback_fact": ["kind", "overhead"], "message_fact": ["polled", "uncertainty"], "recording": ["missing_rows", "clock_offset_bound"],
         "loss": ["events"]}


def recordings(lake):
    return sorted(glob.glob(f"{lake}/_manifest/*.json"))


def files_of(lake, manifest):
    with open(manifest, encoding="utf-8") as file:
        content = json.load(file)
    return [f"{lake}/{file['name']}" for file in [*content["files"], content["recording"]]]


def make_older(lake, manifest):
    for path in files_of(lake, manifest):
        table = pyarrow.parquet.read_table(path, partitioning=None)
        pyarrow.parquet.write_table(table.drop_columns(NEWER.get(path.removeprefix(lake).split("/")[1], [])), path)


def move(lake, manifest, other):
    """Takes a recording out of the lake; its row first."""
    for path in [*reversed(files_of(lake, manifest)), manifest]:
        target = other + path.removeprefix(lake)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.rename(path, target)


def expected(lake, schemas):
    """The rows of each table, read file by file."""
    rows = {name: [] for name in schemas}
    for manifest in recordings(lake):
        for path in files_of(lake, manifest):
            name = path.removeprefix(lake).split("/")[1]
            rows[name] += [{**dict.fromkeys(schemas[name].names), **row} for row in pyarrow.parquet.read_table(path, partitioning=None).to_pylist()]
    return rows


def unified_schema(lake, name):
    return pyarrow.unify_schemas([pyarrow.parquet.read_schema(path).remove_metadata()
                                  for path in glob.glob(f"{lake}/{name}/**/*.parquet", recursive=True)])


def chdb_rows(query):
    import chdb

    lines = str(chdb.query(query + " SETTINGS output_format_json_quote_64bit_integers = 0, schema_inference_mode = 'union', use_hive_partitioning = 0", "JSONEachRow")).splitlines()
    return [json.loads(line) for line in lines]


def pandas_reader(lake, folder):
    import pandas

    return lambda name, schema: pyarrow.Table.from_pandas(pandas.read_parquet(
        f"{lake}/{name}", schema=schema, partitioning=None, dtype_backend="pyarrow"), preserve_index=False).to_pylist()


def pyarrow_reader(lake, folder):
    return lambda name, schema: pyarrow.dataset.dataset(f"{lake}/{name}", schema=schema).to_table().to_pylist()


def polars_reader(lake, folder):
    import polars

    return lambda name, schema: polars.scan_parquet(f"{lake}/{name}/**/*.parquet", missing_columns="insert", hive_partitioning=False,
                                                    schema=polars.from_arrow(schema.empty_table()).schema).collect().to_dicts()


def duckdb_reader(lake, folder):
    import duckdb

    return lambda name, schema: duckdb.sql(
        f"FROM read_parquet('{lake}/{name}/**/*.parquet', union_by_name = true, hive_types_autocast = false)").to_arrow_table().to_pylist()


def clickhouse_reader(lake, folder):
    return lambda name, schema: chdb_rows(f"SELECT * FROM file('{lake}/{name}/**/*.parquet', 'Parquet')")


def spark_reader(lake, folder):
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .getOrCreate()
    )
    return lambda name, schema: spark.read.option("mergeSchema", "true").parquet(f"{lake}/{name}").toArrow().to_pylist()


def iceberg_table(name):
    from pyiceberg.catalog import load_catalog

    return load_catalog("lake").load_table(("caret", name))


def iceberg_reader(lake, folder):
    return lambda name, schema: iceberg_table(name).scan().to_arrow().to_pylist()


def iceberg_polars_reader(lake, folder):
    import polars

    return lambda name, schema: polars.scan_iceberg(iceberg_table(name)).collect().to_dicts()


def iceberg_clickhouse_reader(lake, folder):
    return lambda name, schema: chdb_rows(f"SELECT * FROM icebergLocal('{iceberg_table(name).location().removeprefix('file://')}')")


def delta_reader(lake, folder):
    import deltalake

    return lambda name, schema: deltalake.DeltaTable(f"{lake}/{name}").to_pyarrow_dataset().to_table().to_pylist()


def delta_polars_reader(lake, folder):
    import polars

    return lambda name, schema: polars.scan_delta(f"{lake}/{name}").collect().to_dicts()


def delta_clickhouse_reader(lake, folder):
    return lambda name, schema: chdb_rows(f"SELECT * FROM deltaLakeLocal('{lake}/{name}')")


def ducklake_reader(lake, folder):
    import duckdb

    def read(name, schema):
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH 'ducklake:{folder}/catalog.ducklake' AS lake (READ_ONLY)")
            return connection.execute(f"FROM lake.{name}").to_arrow_table().to_pylist()

    return read


READERS = {name.removesuffix("_reader").replace("_", " "): reader for name, reader in globals().items() if name.endswith("_reader")}


def rows_as_text(rows):
    return collections.Counter(json.dumps(row, sort_keys=True) for row in rows)


def compare(lake, readers):
    """Prints what readers get and files do not have, and the other way round. Returns whether there is anything."""
    names = sorted(os.path.basename(folder) for folder in glob.glob(f"{lake}/[a-z]*"))
    schemas = {name: unified_schema(lake, name) for name in names}
    wrong = False
    for reader, read in readers.items():
        compared = 0
        for name, rows in expected(lake, schemas).items():
            if not rows:
                continue
            try:
                got, want = rows_as_text(read(name, schemas[name])), rows_as_text(rows)
                found = "" if got == want else f"{got.total()} rows, want {want.total()}; too many {[*(got - want)][:1]}, too few {[*(want - got)][:1]}"
            except Exception as error:  # of any reader
                found = f"{type(error).__name__}: {str(error)[:1000]}"
            if found:
                wrong = True
                print(f"{reader}: {name}: {found}", flush=True)
            compared += len(rows) * len(schemas[name])
        print(f"{reader}: {compared} values compared", flush=True)
    return wrong


def main():
    lake, folder, *chosen = sys.argv[1:]
    os.environ.update(PYICEBERG_CATALOG__LAKE__TYPE="sql", PYICEBERG_CATALOG__LAKE__URI=f"sqlite:///{folder}/catalog.db",
                      PYICEBERG_CATALOG__LAKE__WAREHOUSE=f"file://{folder}/warehouse")
    os.makedirs(f"{folder}/warehouse")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../packaging/register-lake.py")
    os.chdir(os.path.commonpath([lake, folder]))  # chDB opens tables of catalogs below its working directory only
    spec = importlib.util.spec_from_file_location("register", script)
    register = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(register)
    arguments = {"iceberg": [register.iceberg, "lake"], "delta": [register.delta], "ducklake": [register.ducklake, f"{folder}/catalog.ducklake"]}
    catalogs = [catalog for catalog in arguments if any(reader.split()[0] == catalog for reader in chosen)]
    wrong = False

    def sync(added, removed):
        """Registers the lake twice, and expects that many files in each table with rows in all recordings."""
        nonlocal wrong
        for catalog in catalogs:
            function, *rest = arguments[catalog]
            for want in ((added, removed), (0, 0)):
                got = collections.Counter()
                for name, new, gone in function(register.Lake(lake), *rest):
                    if name == "callback_fact":
                        got.update(new=new, gone=gone)
                if (got["new"], got["gone"]) != want:
                    wrong = True
                    print(f"{catalog}: {got['new']} files of callback_fact added and {got['gone']} removed, want {want}", flush=True)

    if "ducklake" in catalogs:
        from duckdb_extensions import import_extension

        import_extension("ducklake")
    old, removed, new = recordings(lake)
    aside = folder + "/aside"
    shutil.copytree(lake, aside + "/whole")
    make_older(lake, old)
    make_older(lake, removed)
    move(lake, new, aside + "/new")
    sync(2, 0)
    shutil.copytree(aside + "/new", lake, dirs_exist_ok=True)
    sync(1, 0)
    readers = {name: READERS[name](lake, folder) for name in chosen}
    wrong = compare(lake, readers) or wrong
    # One recording is removed. The other old one is replaced by what the new version publishes.
    move(lake, removed, aside + "/removed")
    move(lake, old, aside + "/old")
    publish_anew(aside + "/whole", os.path.basename(old), lake)
    sync(1, 2)
    wrong = compare(lake, {name: read for name, read in readers.items() if name.split()[0] in catalogs}) or wrong
    return 1 if wrong else 0


def publish_anew(whole, manifest, lake):
    """Copies a recording, with another publication in the names of its files."""
    with open(f"{whole}/_manifest/{manifest}", encoding="utf-8") as file:
        text = file.read()
    publication = json.loads(text)["publication"]
    for path in files_of(whole, f"{whole}/_manifest/{manifest}"):
        shutil.copy(path, lake + path.removeprefix(whole).replace(f"-{publication}-", "-00000000-"))
    with open(f"{lake}/_manifest/{manifest}", "w", encoding="utf-8") as file:
        file.write(text.replace(publication, "00000000"))


if __name__ == "__main__":
    sys.exit(main())
