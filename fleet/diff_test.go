package fleet_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/significance"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/fleet"
	"github.com/caret-bpf/caret-bpf/fleet/simulated"
)

// small is a fleet of two releases that is made fast.
func small() simulated.Fleet {
	f := simulated.Default()
	f.Recordings, f.Vehicles, f.Releases, f.Chains, f.Callbacks = 48, 12, 2, 3, 1200
	return f
}

// write makes a fleet in a folder, in memory where there is such a file system: there is much to sync.
func write(t *testing.T, f simulated.Fleet) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fleet")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := lake.Open(t.Context(), dir, lake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(t.Context(), l), l.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func groupsOf(t *testing.T, former, latter string) (groups [2]fleet.Group) {
	t.Helper()
	for i, text := range []string{"A=" + former, "B=" + latter} {
		var err error
		if groups[i], err = fleet.ParseGroup(text); err != nil {
			t.Fatal(err)
		}
	}
	return groups
}

func options() fleet.Options {
	return fleet.Options{Alpha: 0.01, MinChange: 0.03, Percentile: 50, Vehicle: "vehicle"}
}

func diff(t *testing.T, dir, former, latter string) *fleet.Difference {
	t.Helper()
	d, err := fleet.Diff(t.Context(), dir, groupsOf(t, former, latter), options())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// changed names the latencies that are said to have changed.
func changed(d *fleet.Difference) (names []string) {
	for _, l := range d.Latencies {
		if l.Verdict == significance.Changed {
			names = append(names, l.Kind+" "+strings.Fields(l.Name)[0])
		}
	}
	return names
}

func TestInjectedRegressionIsFoundAndNothingElse(t *testing.T) {
	trials := uint64(20)
	if testing.Short() {
		trials = 3
	}
	for seed := range trials {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := small()
			f.Seed = seed
			path, node := f.Regressed()
			d := diff(t, write(t, f), "release=1.8", "release=1.9")
			if got, want := changed(d), []string{"callback " + node, "path " + path}; !slices.Equal(got, want) || len(d.Entities) > 0 {
				t.Errorf("%v changed, want %v; %v came or went", got, want, d.Entities)
			}
			if len(d.Latencies) != f.Chains*(4+3+1) {
				t.Errorf("%d latencies", len(d.Latencies))
			}
		})
	}
}

// The same recordings in other groups show no change of the releases.
func TestOtherGroupsOfTheSameRecordings(t *testing.T) {
	dir := write(t, small())
	d := diff(t, dir, "route=city", "route=highway")
	if names := changed(d); len(names) > 0 || d.Differs() {
		t.Errorf("%v changed", names)
	}
	d = diff(t, dir, "release=1.9,route=city", "release=1.8,route=city")
	if d.Groups[0].Recordings != 12 || len(changed(d)) != 2 {
		t.Errorf("%+v, changed %v", d.Groups, changed(d))
	}
	for _, l := range d.Latencies {
		if l.Verdict == significance.Changed && l.Percent.Value > 0 {
			t.Errorf("%s: %v %%, but the former group is the slower one", l.Name, l.Percent)
		}
	}
}

func TestBasisOfFleets(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*simulated.Fleet)
		want    significance.Basis
		verdict significance.Verdict
	}{
		{"the same vehicles", func(*simulated.Fleet) {}, significance.VehiclesInBoth, significance.Changed},
		// They differ by a tenth, so 5 % are not to be seen.
		{"each vehicle has one release", func(f *simulated.Fleet) { f.Apart = true }, significance.Vehicles, significance.Noise},
		{"one vehicle", func(f *simulated.Fleet) { f.Vehicles, f.Recordings = 1, 20 }, significance.Recordings, significance.Changed},
		{"one recording a group", func(f *simulated.Fleet) { f.Vehicles, f.Recordings = 1, 2 }, significance.NoBasis, significance.Unknown},
		{"two vehicles, one recording each", func(f *simulated.Fleet) { f.Vehicles, f.Recordings, f.Apart = 2, 2, true }, significance.NoBasis, significance.Unknown},
	} {
		f := small()
		test.change(&f)
		d := diff(t, write(t, f), "release=1.8", "release=1.9")
		path, _ := f.Regressed()
		for _, l := range d.Latencies {
			if l.Basis != test.want {
				t.Errorf("%s: %s has basis %s, want %s", test.name, l.Name, l.Basis, test.want)
			}
			if l.Name == path && l.Verdict != test.verdict {
				t.Errorf("%s: %s is %s, want %s: %+v", test.name, path, l.Verdict, test.verdict, l)
			}
			if unknown := l.Verdict == significance.Unknown; unknown != !l.P.Valid || unknown != !l.Detectable.Valid {
				t.Errorf("%s: %s is %s: %+v", test.name, l.Name, l.Verdict, l)
			}
		}
	}
}

// Recordings without the attribute may all be of one vehicle, or of as many: nothing is said of their noise.
func TestVehiclesThatAreNotKnown(t *testing.T) {
	o := options()
	o.Vehicle = "car"
	d, err := fleet.Diff(t.Context(), write(t, small()), groupsOf(t, "release=1.8", "release=1.9"), o)
	if err != nil {
		t.Fatal(err)
	}
	if d.Groups[0].Vehicles != 0 || d.Differs() || d.Count(significance.Unknown) != len(d.Latencies) || d.Latencies[0].Basis != significance.NoBasis {
		t.Errorf("%+v, %+v", d.Groups, d.Latencies[0])
	}
	for _, want := range []string{"no attribute car", "--vehicle", "recordings have release, route, vehicle"} {
		if len(d.Warnings) != 2 || !strings.Contains(d.Warnings[0], want) {
			t.Errorf("%q is missing in %q", want, d.Warnings)
		}
	}
}

func TestGroupsThatCannotBeCompared(t *testing.T) {
	f := small()
	f.Recordings, f.Vehicles = 4, 2
	dir := write(t, f)
	for _, test := range []struct {
		former, latter, want string
		cause                error
	}{
		{"release=1.8", "release=2.0", "values of release are 1.8, 1.9", fleet.ErrNoRecordings},
		{"release=1.8", "color=red", "none of the 4 recordings has color", fleet.ErrNoRecordings},
		{"release=1.8", "vehicle=v001", "is of both groups", fleet.ErrGroup},
		{"release=1.8", "release=1.8", "is of both groups", fleet.ErrGroup},
	} {
		_, err := fleet.Diff(t.Context(), dir, groupsOf(t, test.former, test.latter), options())
		if !errors.Is(err, test.cause) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s and %s: %v", test.former, test.latter, err)
		}
	}
	for _, text := range []string{"", "A", "A=", "=release=1", "A=release", "A=release=", "A=release=1,", "A=,release=1", "A=1x=2"} {
		if _, err := fleet.ParseGroup(text); !errors.Is(err, fleet.ErrGroup) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// filesOf are those of a table.
func filesOf(t *testing.T, dir, table string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, table), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files of table %s: %v", len(names), table, err)
	}
	return names
}

func TestRecordingsWithoutRowAreNotThere(t *testing.T) {
	dir := write(t, small())
	rows := filesOf(t, dir, lake.TableRecording)
	for _, name := range rows[:5] {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	d := diff(t, dir, "release=1.8", "release=1.9")
	if sum := d.Groups[0].Recordings + d.Groups[1].Recordings; sum != len(rows)-5 {
		t.Errorf("%d recordings, want %d", sum, len(rows)-5)
	}
}

func TestDamagedLakes(t *testing.T) {
	f := small()
	f.Recordings, f.Vehicles = 4, 2
	for _, test := range []struct {
		name   string
		change func(dir string) error
		cause  error
		want   string
	}{
		{"a file that was cut short", func(dir string) error { return os.Truncate(filesOf(t, dir, lake.TableCallbackFact)[0], 1000) }, fleet.ErrDamaged, "publish"},
		{"a file that is none", func(dir string) error {
			return os.WriteFile(filesOf(t, dir, lake.TablePathFact)[0], []byte(strings.Repeat("PAR1", 100)), 0o600)
		}, fleet.ErrDamaged, "path_fact"},
		{"a missing file", func(dir string) error { return os.Remove(filesOf(t, dir, lake.TableMessageFact)[0]) }, fleet.ErrDamaged, "message_fact has 0 rows"},
		{"a missing file of paths", func(dir string) error { return os.Remove(filesOf(t, dir, lake.TablePathFact)[0]) }, fleet.ErrDamaged, "files of it are there"},
		{"callbacks without names", func(dir string) error { return os.Remove(filesOf(t, dir, lake.TableCallbackInfo)[0]) }, fleet.ErrDamaged, "does not name callback"},
		{"another table's file", func(dir string) error {
			return os.Rename(filesOf(t, dir, lake.TableRecordingAttribute)[0], filesOf(t, dir, lake.TableRecording)[0])
		}, fleet.ErrDamaged, "no column format"},
		{"a file with another name", func(dir string) error {
			name := filesOf(t, dir, lake.TableRecording)[0]
			return os.Rename(name, filepath.Join(filepath.Dir(name), "part-0.parquet"))
		}, fleet.ErrDamaged, "part-0.parquet"},
		{"a recording twice", func(dir string) error {
			name := filesOf(t, dir, lake.TableRecording)[0]
			other := filepath.Join(dir, lake.TableRecording, "date=x")
			if err := os.Mkdir(other, 0o700); err != nil {
				return err
			}
			return os.Link(name, filepath.Join(other, filepath.Base(name)))
		}, fleet.ErrDamaged, "twice"},
		{"no lake", func(dir string) error { return os.RemoveAll(filepath.Join(dir, lake.TableRecording)) }, lake.ErrNotLake, "publish"},
	} {
		dir := write(t, f)
		if err := test.change(dir); err != nil {
			t.Fatal(err)
		}
		_, err := fleet.Diff(t.Context(), dir, groupsOf(t, "release=1.8", "release=1.9"), options())
		if !errors.Is(err, test.cause) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestTheSameFleetIsMadeAgain(t *testing.T) {
	f := small()
	f.Recordings, f.Vehicles = 2, 1
	contents := func() map[string]string {
		dir, of := write(t, f), make(map[string]string)
		for _, table := range lake.Tables() {
			if table.Name == lake.TableLoss {
				continue // made-up recordings lose nothing
			}
			for _, name := range filesOf(t, dir, table.Name) {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				of[strings.TrimPrefix(name, dir)] = string(text)
			}
		}
		return of
	}
	first := contents()
	if !maps.Equal(first, contents()) {
		t.Error("the files differ")
	}
	f.Seed++
	if maps.Equal(first, contents()) {
		t.Error("another seed makes the same")
	}
}
