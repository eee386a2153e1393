package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// Exit codes.
const (
	exitDifferent = 1
	exitError     = 2
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: comparelttng LTTNG_TRACE RECORDING")
		os.Exit(exitError)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	same, err := run(ctx, os.Args[1], os.Args[2])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "comparelttng:", err)
		os.Exit(exitError)
	case !same:
		fmt.Println("the recordings differ")
		os.Exit(exitDifferent)
	}
	fmt.Println("the recordings are the same")
}

func run(ctx context.Context, lttngTrace, directory string) (same bool, err error) {
	lttng, err := readLTTng(ctx, lttngTrace)
	if err != nil {
		return false, err
	}
	recorded, err := readRecording(ctx, directory)
	if err != nil {
		return false, err
	}
	c := compare(lttng, recorded)
	c.print(os.Stdout)
	return c.matches(), nil
}
