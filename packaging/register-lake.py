#!/usr/bin/env python3
"""Registers a lake's files in a catalog, where they are: an Iceberg catalog, Delta tables, or DuckLake.

usage: register-lake.py iceberg LAKE CATALOG [NAMESPACE]
       register-lake.py delta LAKE
       register-lake.py ducklake LAKE CATALOG

Afterwards each table has the files of the recordings that are visible in the lake, and no others. What is registered already is
not registered again; files that are gone, of recordings that were replaced or removed, are taken out. Registered files are only
read. docs/lake.md says what each of the three needs, and what it does not do.
"""

import json
import os
import sys
import time
import urllib.parse

import pyarrow
import pyarrow.fs
import pyarrow.parquet


class Lake:
    """What is visible in a lake: for each table its files, by their names in the lake."""

    def __init__(self, location):
        self.location = (location if "://" in location else os.path.abspath(location)).rstrip("/")
        self.files, self.root = pyarrow.fs.FileSystem.from_uri(self.location)
        self.tables = {"recording": {}}
        self.keys = None
        for entry in self.files.get_file_info(pyarrow.fs.FileSelector(self.root + "/_manifest")):
            if entry.path.endswith(".json"):
                self.add(json.loads(self.files.open_input_stream(entry.path).readall()))

    def add(self, manifest):
        row = manifest["recording"]
        if self.files.get_file_info(self.path(row["name"])).type != pyarrow.fs.FileType.File:
            return  # it is being published
        keys = {key["name"]: key["value"] or None for key in manifest["keys"]}
        if self.keys not in (None, list(keys)):
            raise SystemExit(f"the lake has recordings with the partition keys {self.keys} and {list(keys)}: no catalog takes both")
        self.keys = list(keys)
        for file in [*manifest["files"], row]:
            self.tables.setdefault(file["name"].split("/")[0], {})[file["name"]] = {**file, "keys": keys}

    def path(self, name):
        return f"{self.root}/{name}"

    def schema(self, names):
        """All columns of files. What one of them lacks can be null."""
        schemas = [pyarrow.parquet.read_schema(self.path(name), filesystem=self.files).remove_metadata() for name in sorted(names)]
        union = pyarrow.unify_schemas(schemas)
        everywhere = set.intersection(*(set(schema.names) for schema in schemas))
        return pyarrow.schema([field if field.name in everywhere else field.with_nullable(True) for field in union])

    def changes(self, table, there, adds, removes):
        """The files to add to a table and to take out of it, of which it has those that are there. Files without rows are none of
        them: some catalogs do not keep those."""
        wanted = {name for name, file in self.tables[table].items() if file["rows"]}
        return sorted(wanted - set(there)) if adds else [], sorted(set(there) - wanted) if removes else []

    def steps(self):
        """The tables, and for each whether its new files are added and its former ones removed now.

        A recording is out of sight before its facts are changed, and is in sight when they are there.
        """
        facts = sorted(table for table in self.tables if table != "recording")
        return [("recording", False, True), *((table, True, True) for table in facts), ("recording", True, False)]


def iceberg(lake, catalog_name, namespace="caret"):
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog(catalog_name)
    catalog.create_namespace_if_not_exists(namespace)
    prefix = ("" if "://" in lake.location else "file://") + lake.location + "/"
    for name, adds, removes in lake.steps():
        identifier = (namespace, name)
        if not catalog.table_exists(identifier):
            if not adds or not lake.tables[name]:
                continue
            catalog.create_table(identifier, lake.schema(lake.tables[name]))
        table = catalog.load_table(identifier)
        if lake.keys and table.spec().is_unpartitioned():
            with table.update_spec() as spec:
                for key in lake.keys:
                    spec.add_identity(key)
        there = {task.file.file_path.removeprefix(prefix): task.file for task in table.scan().plan_files()}
        new, gone = lake.changes(name, there, adds, removes)
        with table.transaction() as transaction:
            if gone:
                with transaction.update_snapshot().overwrite() as snapshot:
                    for file in gone:
                        snapshot.delete_data_file(there[file])
            if new:
                with transaction.update_schema() as update:
                    update.union_by_name(lake.schema(new))
                transaction.add_files([prefix + file for file in new], check_duplicate_files=False)
        yield name, len(new), len(gone)


def delta(lake):
    import deltalake
    from deltalake.exceptions import TableNotFoundError
    from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

    def actions(files):
        for file in files:
            stored = lake.files.get_file_info(lake.path(file))
            metadata = pyarrow.parquet.read_metadata(lake.path(file), filesystem=lake.files)
            yield AddAction(file.partition("/")[2], stored.size, lake.tables[name][file]["keys"], stored.mtime_ns // 1_000_000, True,
                            json.dumps(statistics(metadata)))

    for name, adds, removes in lake.steps():
        location = f"{lake.location}/{name}"
        try:
            table = deltalake.DeltaTable(location)
        except TableNotFoundError:
            if adds and lake.tables[name]:
                new, _ = lake.changes(name, (), True, False)
                schema = deltalake.Schema.from_arrow(lake.schema(lake.tables[name]))
                create_table_with_add_actions(location, schema, list(actions(new)), partition_by=lake.keys, name=name)
                yield name, len(new), 0
            continue
        paths = pyarrow.table(table.get_add_actions(flatten=False)).column("path").to_pylist()
        new, gone = lake.changes(name, {f"{name}/{urllib.parse.unquote(path)}" for path in paths}, adds, removes)
        if new:
            known = {field.name for field in table.schema().fields}
            if more := [field for field in deltalake.Schema.from_arrow(lake.schema(new)).fields if field.name not in known]:
                table.alter.add_columns(more)
        if new or gone:
            removed = [RemoveAction(file.partition("/")[2], True, time.time_ns() // 1_000_000) for file in gone]
            table.create_write_transaction([*removed, *actions(new)], "append", table.schema(), partition_by=lake.keys)
        yield name, len(new), len(gone)


def ducklake(lake, catalog):
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"ATTACH {text('ducklake:' + catalog)} AS lake")
    connection.execute("BEGIN")  # one snapshot has the changes of all tables
    done = []
    for name in sorted(table for table in lake.tables if lake.tables[table]):
        there = set()
        if connection.execute(f"SELECT 1 FROM duckdb_tables() WHERE database_name = 'lake' AND table_name = {text(name)}").fetchall():
            listed = connection.execute(f"SELECT data_file FROM ducklake_list_files('lake', {text(name)})").fetchall()
            there = {path.removeprefix(lake.location + "/") for path, in listed}
        new, gone = lake.changes(name, there, True, True)
        if gone:  # Files are taken out with their table only: rows are deleted by reading them, and these cannot be read.
            connection.execute(f"DROP TABLE lake.{name}")
            again = lake.changes(name, (), True, False)[0]
        if gone or not there:
            connection.execute(f"CREATE TABLE IF NOT EXISTS lake.{name} AS {rows_of(lake, lake.tables[name])} LIMIT 0")
            connection.execute(f"ALTER TABLE lake.{name} SET PARTITIONED BY ({', '.join(map(quoted, lake.keys))})")
        known = {column for column, *_ in connection.execute(f"DESCRIBE lake.{name}").fetchall()}
        for column, kind, *_ in connection.execute(f"DESCRIBE {rows_of(lake, new)}").fetchall() if new else []:
            if column not in known:
                connection.execute(f"ALTER TABLE lake.{name} ADD COLUMN {quoted(column)} {kind}")
        for file in again if gone else new:
            connection.execute(f"CALL ducklake_add_data_files('lake', {text(name)}, {text(lake.location + '/' + file)}, allow_missing => true)")
        done.append((name, len(new), len(gone)))
    connection.execute("COMMIT")
    return done


def rows_of(lake, names):
    files = ", ".join(text(f"{lake.location}/{name}") for name in sorted(names))
    return f"FROM read_parquet([{files}], union_by_name = true, hive_partitioning = false)"


def text(value):
    return "'" + value.replace("'", "''") + "'"


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def statistics(metadata):
    """Delta's statistics of a file: bounds of its integers, by which engines pass over files."""
    smallest, largest, nulls, unknown = {}, {}, {}, set()
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            if chunk.physical_type not in ("INT32", "INT64"):
                continue
            name, bounds = chunk.path_in_schema, chunk.statistics
            if bounds is None or not bounds.has_null_count or not bounds.has_min_max and bounds.null_count < chunk.num_values:
                unknown.add(name)
                continue
            nulls[name] = nulls.get(name, 0) + bounds.null_count
            if bounds.has_min_max:
                smallest[name] = min(smallest.get(name, bounds.min), bounds.min)
                largest[name] = max(largest.get(name, bounds.max), bounds.max)
    for known in (smallest, largest, nulls):
        for name in unknown & known.keys():
            del known[name]
    return {"numRecords": metadata.num_rows, "minValues": smallest, "maxValues": largest, "nullCount": nulls}


KINDS = {"iceberg": iceberg, "delta": delta, "ducklake": ducklake}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    kind, location, *rest = sys.argv[1:]
    for name, new, gone in KINDS[kind](Lake(location), *rest):
        print(f"{name}: {new} added, {gone} removed")
