// Command sqlrun runs SQL with DuckDB on two threads and prints the number of rows that its last statement returns:
// what tools/querybench compares caret-bpf with.
//
// usage: sqlrun VIEWS QUERY
package main

import (
	"database/sql"
	"fmt"
	"os"

	_ "github.com/duckdb/duckdb-go/v2"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sqlrun VIEWS QUERY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sqlrun:", err)
		os.Exit(1)
	}
}

func run(views, query string) error {
	text, err := os.ReadFile(views)
	if err != nil {
		return err
	}
	db, err := sql.Open("duckdb", "?threads=2")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(string(text)); err != nil {
		return err
	}
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	n := 0
	for rows.Next() {
		n++
	}
	fmt.Println(n)
	return rows.Err()
}
