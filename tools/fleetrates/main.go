// Command fleetrates measures how often `diff --group` calls something changed by mistake, and how often it finds a
// true change, with made-up fleets. It writes the table of a page of the documentation.
//
// usage: fleetrates [-trials N] PAGE
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/caret-bpf/caret-bpf/analyze/significance"
	"github.com/caret-bpf/caret-bpf/docs"
	"github.com/caret-bpf/caret-bpf/fleet/simulated"
)

// block is the part of the page that this program writes.
const block = "fleet-rates"

func main() {
	trials := flag.Int("trials", 500, "fleets of each kind")
	flag.Parse()
	if flag.NArg() != 1 || *trials < 1 {
		fmt.Fprintln(os.Stderr, "usage: fleetrates [-trials N] PAGE")
		os.Exit(2)
	}
	if err := docs.Write(flag.Arg(0), block, table(*trials)); err != nil {
		fmt.Fprintln(os.Stderr, "fleetrates:", err)
		os.Exit(1)
	}
}

// kind is a kind of fleets.
type kind struct {
	vehicles, recordings int // recordings of a vehicle and release
	apart                bool
	noise                float64 // as many times the noise within vehicles as usual
}

func (k *kind) fleet() simulated.Fleet {
	f := simulated.Default()
	f.Releases, f.Vehicles, f.Apart = 2, k.vehicles, k.apart
	f.Recordings = 2 * k.vehicles * k.recordings
	f.ReleaseNoise *= k.noise
	f.RecordingNoise *= k.noise
	f.Swing *= k.noise
	return f
}

func table(trials int) []byte {
	options := significance.Options{Alpha: 0.01, MinChange: 0.03}
	f := simulated.Default()
	var t bytes.Buffer
	t.WriteString(docs.Wrap(fmt.Sprintf("**How often it is wrong.** `make check-fleet` measured this with %d made-up fleets a row, of %d latencies. "+
		"Vehicles differ by %.3g %%. Recordings of a vehicle differ by %.3g %%, by the time of day (%.3g %% up and down), and releases of a vehicle by %.3g %%, "+
		"each times *noise*. *Alarms* are fleets in which anything was called changed that was not: `--alpha` is %.3g %%. "+
		"*5 %%* and *10 %%* are fleets in which a path that is so much longer was found.",
		trials, 8*f.Chains, 100*f.VehicleNoise, 100*f.RecordingNoise, 100*f.Swing, 100*f.ReleaseNoise, 100*options.Alpha), ""))
	t.WriteString("\n\n")
	t.WriteString("| vehicles | recordings of each in a release | noise | alarms | 5 % | 10 % | unknown |\n|---|---|---|---|---|---|---|\n")
	for _, k := range kinds() {
		f := k.fleet()
		fifth := f.Measure(trials, options)
		f.Regression = 0.1
		tenth := f.Measure(trials, options)
		vehicles := fmt.Sprintf("%d, in both", k.vehicles)
		recordings := k.recordings
		if k.apart {
			vehicles, recordings = fmt.Sprintf("%d in each", k.vehicles/2), 2*recordings
		}
		fmt.Fprintf(&t, "| %s | %d | × %.3g | %s | %s | %s | %s |\n", vehicles, recordings, k.noise, percent(fifth.Alarms), percent(fifth.Found), percent(tenth.Found), percent(fifth.Unknown))
	}
	return t.Bytes()
}

func kinds() (all []kind) {
	for _, noise := range []float64{1, 4} {
		for _, vehicles := range []int{1, 2, 3, 5, 10, 20, 50} {
			for _, recordings := range []int{1, 5} {
				all = append(all, kind{vehicles, recordings, false, noise})
			}
		}
	}
	for _, vehicles := range []int{4, 20, 100} {
		all = append(all, kind{vehicles, 2, true, 1})
	}
	return all
}

func percent(c simulated.Count) string {
	return fmt.Sprintf("%.3g %%", 100*float64(c.Times)/float64(c.Of))
}
