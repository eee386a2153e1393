package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

// block is the generated block of the page that gets the table.
const block = "agreement"

// Exit codes.
const (
	exitUnexplained = 1
	exitError       = 2
)

func main() {
	page := flag.String("write", "", "put the table into the block of this `PAGE`")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: comparecaret [-write PAGE] DIRECTORY…")
		os.Exit(exitError)
	}
	unexplained, err := run(*page, flag.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "comparecaret:", err)
		os.Exit(exitError)
	case unexplained:
		fmt.Fprintln(os.Stderr, "comparecaret: some differences have no known reason")
		os.Exit(exitUnexplained)
	}
}

func run(page string, directories []string) (unexplained bool, err error) {
	var all []comparison
	for _, directory := range directories {
		compared, err := compareSystem(directory)
		if err != nil {
			return false, err
		}
		all = append(all, compared...)
	}
	for _, c := range all {
		unexplained = unexplained || len(c.unexplained) > 0
		c.printUnexplained(os.Stdout)
	}
	table := markdown(all)
	_, err = os.Stdout.Write(table)
	if page != "" {
		err = errors.Join(err, writeBlock(page, table))
	}
	return unexplained, err
}
