// Command diffrates measures how often `diff` calls something changed by mistake, and how often it finds a true change,
// with recordings of made-up systems. It writes the table of a page of the documentation.
//
// usage: diffrates [-trials N] PAGE
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"sync"

	"github.com/caret-bpf/caret-bpf/analyze/significance/simulated"
	"github.com/caret-bpf/caret-bpf/docs"
)

// block is the part of the page that this program writes.
const block = "diff-rates"

func main() {
	trials := flag.Int("trials", 200, "pairs of sides with 5 recordings each; there are 5 times as many pairs of single recordings")
	flag.Parse()
	if flag.NArg() != 1 || *trials < 1 {
		fmt.Fprintln(os.Stderr, "usage: diffrates [-trials N] PAGE")
		os.Exit(2)
	}
	if err := docs.Write(flag.Arg(0), block, table(measure(*trials), *trials)); err != nil {
		fmt.Fprintln(os.Stderr, "diffrates:", err)
		os.Exit(1)
	}
}

// measured are the rates of a system.
type measured struct {
	system simulated.System
	rates  simulated.Rates
}

// measure simulates all systems at once.
func measure(trials int) []measured {
	var results []measured
	for _, s := range simulated.Systems() {
		results = append(results, measured{system: s})
	}
	var simulations sync.WaitGroup
	for i := range results {
		simulations.Go(func() {
			results[i].rates = simulated.Measure(results[i].system, uint64(i), trials, simulated.Options())
		})
	}
	simulations.Wait()
	return results
}

func table(results []measured, trials int) []byte {
	var t bytes.Buffer
	options := simulated.Options()
	fmt.Fprintf(&t, "False alarms: of %d pairs of single recordings, %d pairs of 3 recordings a side and %d of 5, of\n", 5*trials, trials, trials)
	fmt.Fprintf(&t, "systems with %d latencies. `--alpha` is %v, `--min-change` %v %%, `--run-noise` %v %%.\n\n",
		simulated.Latencies, options.Alpha, 100*options.MinChange, 100*options.RunNoise)
	t.WriteString("| system | recording | 1 a side | 3 | 5 | within | too short |\n|---|---|---|---|---|---|---|\n")
	for _, m := range results {
		r := m.rates
		fmt.Fprintf(&t, "| %s | %v | %s | %s | %s | %s | %s |\n", m.system.Name, m.system.Length,
			percent(r.Alarms[0][0]), percent(r.Alarms[1][0]), percent(r.Alarms[2][0]), percent(r.Within), percent(r.TooShort))
	}
	t.WriteString("\nPower: latencies that were called changed, by the true change and the number of recordings a side.\n\n| system | recording |")
	for _, change := range simulated.Changes[1:] {
		for _, recordings := range simulated.Recordings {
			fmt.Fprintf(&t, " %.0f %%, %d |", 100*change, recordings)
		}
	}
	t.WriteString("\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range results {
		fmt.Fprintf(&t, "| %s | %v |", m.system.Name, m.system.Length)
		for j := range simulated.Changes[1:] {
			for i := range simulated.Recordings {
				fmt.Fprintf(&t, " %s |", percent(m.rates.Alarms[i][j+1]))
			}
		}
		t.WriteByte('\n')
	}
	return t.Bytes()
}

func percent(c simulated.Count) string {
	return fmt.Sprintf("%.3g %%", 100*float64(c.Times)/float64(c.Of))
}
