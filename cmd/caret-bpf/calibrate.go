package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/report"
)

// calibrate measures what hits cost on this machine, shows it and keeps it for later recordings.
func calibrate(ctx context.Context, c console, asJSON bool) error {
	machine, err := probes.ThisMachine()
	if err != nil {
		return err
	}
	costs, err := loader.Calibrate(ctx)
	if err != nil {
		return err
	}
	calibration := &probes.Calibration{Machine: machine, MeasuredAt: time.Now().UTC().Truncate(time.Second), Costs: *costs}
	if asJSON {
		err = report.WriteJSON(c.out, calibration)
	} else {
		printCalibration(c, calibration)
	}
	folder, folderError := cacheFolder(c.getenv, c.caller)
	if folderError != nil {
		return errors.Join(err, folderError)
	}
	path, storeError := calibration.Store(folder, c.caller)
	if storeError == nil {
		fmt.Fprintf(c.err, "kept in %s\n", report.Printable(path))
	}
	return errors.Join(err, storeError)
}

func printCalibration(c console, calibration *probes.Calibration) {
	fmt.Fprintf(c.out, "Linux %s on %s\n\n", report.Printable(calibration.Kernel), report.Text(report.Printable(calibration.CPU)))
	printTable(c.out, []string{"PROBED INSTRUCTION", "A HIT COSTS>"}, costRows(&calibration.Costs))
	fmt.Fprintf(c.out, "\na program that records adds %s\n", probes.FormatCost(calibration.Costs.Program))
}

// costRows lists kinds of instructions, the cheapest first.
func costRows(costs *probes.Costs) [][]string {
	var kinds []string
	for kind := range costs.Instructions {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(costs.Instructions[a], costs.Instructions[b]), cmp.Compare(a, b))
	})
	var rows [][]string
	for _, kind := range kinds {
		rows = append(rows, []string{kind, probes.FormatCost(costs.Instructions[kind])})
	}
	return rows
}

// errNoCacheFolder is returned where nothing tells where the user's caches are.
var errNoCacheFolder = errors.New("neither XDG_CACHE_HOME is set nor a home directory known: the calibration cannot be kept")

// cacheFolder is where the caller's calibrations are kept (XDG Base Directory Specification). The home of who called
// sudo is not where HOME says: that is root's.
func cacheFolder(getenv func(string) string, caller *identity.Identity) (string, error) {
	if folder := getenv("XDG_CACHE_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "caret-bpf"), nil
	}
	home := getenv("HOME")
	if caller != nil && caller.Origin != "" {
		home = ""
		if account := caller.Account(); account != nil {
			home = account.HomeDir
		}
	}
	if filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "caret-bpf"), nil
	}
	return "", errNoCacheFolder
}

// knownCosts returns what hits cost on this machine, as far as is known, and where that is from.
func knownCosts(c console) (costs *probes.Costs, origin string) {
	calibration, err := loadCalibration(c)
	if err == nil {
		return &calibration.Costs, "costs were measured on this machine on " + calibration.MeasuredAt.Format(time.DateOnly)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoCacheFolder) {
		c.complain(err)
	}
	return probes.DefaultCosts(), "costs are built-in defaults: `caret-bpf check --calibrate` measures those of this machine"
}

func loadCalibration(c console) (*probes.Calibration, error) {
	folder, err := cacheFolder(c.getenv, c.caller)
	if err != nil {
		return nil, err
	}
	machine, err := probes.ThisMachine()
	if err != nil {
		return nil, err
	}
	return probes.LoadCalibration(folder, machine, c.caller)
}
