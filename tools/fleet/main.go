// Command fleet writes a lake of a made-up fleet: recordings of vehicles whose path_00 is longer in the last release.
//
// usage: fleet [flags] DIRECTORY
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/fleet/simulated"
)

func main() {
	f := simulated.Default()
	flag.IntVar(&f.Recordings, "recordings", 500, "number of recordings")
	flag.IntVar(&f.Vehicles, "vehicles", f.Vehicles, "number of vehicles")
	flag.IntVar(&f.Releases, "releases", f.Releases, "number of releases, the last one 1.9")
	flag.IntVar(&f.Callbacks, "callbacks", 1_000_000, "executions of callbacks in a recording")
	flag.IntVar(&f.Chains, "chains", f.Chains, "number of paths of four nodes")
	flag.Uint64Var(&f.Seed, "seed", 1, "another fleet of the same kind")
	flag.BoolVar(&f.Apart, "apart", false, "each vehicle has one release only")
	flag.Float64Var(&f.Regression, "regression", f.Regression, "share by which path_00 is longer in the last release")
	flag.Float64Var(&f.Drift, "drift", f.Drift, "share by which a callback of the last chain becomes longer each week")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: fleet [flags] DIRECTORY")
		flag.PrintDefaults()
		os.Exit(2)
	}
	if err := write(&f, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func write(f *simulated.Fleet, dir string) error {
	ctx := context.Background()
	l, err := lake.Open(ctx, dir, lake.Options{})
	if err != nil {
		return err
	}
	return errors.Join(f.Write(ctx, l), l.Close())
}
