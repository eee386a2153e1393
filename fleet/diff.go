package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/caret-bpf/caret-bpf/analyze/significance"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Options say what counts as a difference between groups.
type Options struct {
	// Alpha is the probability, at most, with which any latency of groups of the same system is called changed.
	Alpha float64
	// MinChange is the least change, as a share, that is called one.
	MinChange float64
	// Percentile is the statistic of a recording that is compared, in percent: 50 is the median.
	Percentile float64
	// Vehicle is the attribute that tells of which vehicle a recording is.
	Vehicle string
	// Progress, if not nil, is called with the rows that were read. It may be called by several goroutines.
	Progress func(read, total int64)
}

// Difference is what differs between two groups of recordings.
type Difference struct {
	Groups [2]GroupSize `json:"groups"`
	// VehiclesInBoth is the number of vehicles with recordings in both groups.
	VehiclesInBoth int     `json:"vehicles_in_both"`
	Percentile     float64 `json:"percentile"`
	// Entities are the latencies that only one group has.
	Entities []Presence `json:"entities"`
	// Latencies has a row for every latency that both groups have, those that changed first.
	Latencies []LatencyChange `json:"latencies"`
	// Warnings say what the comparison lacks.
	Warnings []string `json:"warnings"`
}

// GroupSize tells how much is in a group.
type GroupSize struct {
	Name       string `json:"name"`
	Conditions string `json:"conditions"`
	Recordings int    `json:"recordings"`
	// Vehicles is the number of those that are known.
	Vehicles int `json:"vehicles"`
}

// LatencyChange compares a latency of both groups, in nanoseconds.
type LatencyChange struct {
	Kind string `json:"kind" report:"kind,drop=7"`
	Name string `json:"name" report:"name,prose"`
	// RecordingsA and RecordingsB are the numbers of recordings that have the latency and are of the vehicles that were
	// compared, CountA and CountB those of their durations.
	RecordingsA int    `json:"recordings_a" report:"recordings_a,drop=4"`
	RecordingsB int    `json:"recordings_b" report:"recordings_b,drop=4"`
	CountA      uint64 `json:"count_a" report:"count_a,detail"`
	CountB      uint64 `json:"count_b" report:"count_b,detail"`
	// Basis says between what the noise was found, UnitsA and UnitsB between how many of these.
	Basis  significance.Basis `json:"basis" report:"basis,drop=1"`
	UnitsA int                `json:"units_a" report:"units_a,drop=3"`
	UnitsB int                `json:"units_b" report:"units_b,drop=3"`
	// A and B are the geometric means over vehicles of the geometric means over recordings of the percentile.
	// They are null where no vehicle of a group's recordings is known.
	A trace.Optional[int64] `json:"a" report:"a,duration"`
	B trace.Optional[int64] `json:"b" report:"b,duration"`
	// Exact is false where a recording has more durations than are kept: its percentile is that of a random part.
	Exact bool `json:"exact" report:"exact,detail"`
	// Percent is the change from A to B.
	Percent trace.Optional[float64] `json:"percent" report:"change_percent,percent"`
	// VehicleNoise is the standard deviation, in percent, by which vehicles differ: in their change with basis
	// vehicles_in_both, else in the latency. RecordingNoise is that of recordings of a vehicle and group.
	VehicleNoise   trace.Optional[float64] `json:"vehicle_noise_percent" report:"vehicle_noise_percent,percent,drop=5"`
	RecordingNoise trace.Optional[float64] `json:"recording_noise_percent" report:"recording_noise_percent,percent,drop=5"`
	// Detectable is the least change, in percent, that these recordings could have shown; null without basis.
	Detectable trace.Optional[float64] `json:"detectable_percent" report:"detectable_percent,percent,drop=2"`
	// P is the probability of such a difference between groups of the same system, corrected for the number of
	// comparisons, in percent; null without basis.
	P trace.Optional[float64] `json:"p" report:"p,percent,drop=6"`
	// Verdict says what can be said of the change.
	Verdict significance.Verdict `json:"verdict" report:"verdict"`
}

// Presence is a latency that only one group has.
type Presence struct {
	Change string `json:"change" report:"change"`
	Kind   string `json:"kind" report:"kind"`
	Name   string `json:"name" report:"name,prose"`
	// Recordings is the number of the group's recordings that have it, of so many.
	Recordings int `json:"recordings" report:"recordings"`
	Of         int `json:"of" report:"of"`
}

// always tells whether all recordings of the group have it. What only some have may be missing in others by chance.
// Paths are not counted: a recording that was published without any does not tell whether it has one.
func (p *Presence) always() bool { return p.Recordings == p.Of && p.Kind != KindPath }

// Differs tells whether a latency came or went of which all recordings of one group have it and none of the other, or
// one changed by more than noise.
func (d *Difference) Differs() bool {
	return slices.ContainsFunc(d.Entities, func(p Presence) bool { return p.always() }) || d.Count(significance.Changed) > 0
}

// Count returns the number of latencies with a verdict.
func (d *Difference) Count(verdict significance.Verdict) (count int) {
	for i := range d.Latencies {
		if d.Latencies[i].Verdict == verdict {
			count++
		}
	}
	return count
}

// Diff compares two groups of the recordings of the lake in a directory: a former one, and a latter. Errors wrap
// lake.ErrNotLake, ErrDamaged, ErrGroup, ErrNoRecordings, or trace.ErrNewerFormat.
func Diff(ctx context.Context, dir string, groups [2]Group, options Options) (*Difference, error) {
	all, err := recordings(ctx, dir)
	if err != nil {
		return nil, err
	}
	of, err := choose(all, groups)
	if err != nil {
		return nil, err
	}
	d := &Difference{Percentile: options.Percentile, Entities: []Presence{}, Latencies: []LatencyChange{}, Warnings: []string{}}
	vehicles := d.takeStock(of, groups, options.Vehicle)
	sides, err := measureAll(ctx, of, vehicles, options)
	if err != nil {
		return nil, err
	}
	d.compare(sides, options)
	return d, nil
}

// unknownVehicle is the index of recordings that are not compared because their vehicle is not known.
const unknownVehicle = -1

// takeStock tells what is in the groups. It returns the vehicles' indexes.
func (d *Difference) takeStock(of [2][]*recording, groups [2]Group, key string) func(*recording) int32 {
	indexes := make(map[string]int32)
	var in [2]map[string]bool
	for i, recordings := range of {
		in[i] = make(map[string]bool)
		without, lost, damaged := 0, 0, 0
		for _, r := range recordings {
			if name, known := r.value(key); known {
				in[i][name] = true
				if _, met := indexes[name]; !met {
					indexes[name] = int32(len(indexes))
				}
			} else {
				without++
			}
			lost += min(int(r.lost), 1)
			damaged += min(int(r.damaged), 1)
		}
		d.Groups[i] = GroupSize{groups[i].Name, groups[i].String(), len(recordings), len(in[i])}
		for what, count := range map[string]int{
			"have no attribute " + key + ", so they are not compared: name the one that tells the vehicle with --vehicle; recordings have " + attributesOf(recordings): without,
			"lost records while recording":                  lost,
			"have damaged segments, whose rows are missing": damaged,
		} {
			if count > 0 {
				d.Warnings = append(d.Warnings, fmt.Sprintf("group %s: %d of %d recordings %s", groups[i].Name, count, len(recordings), what))
			}
		}
	}
	slices.Sort(d.Warnings)
	for name := range in[0] {
		if in[1][name] {
			d.VehiclesInBoth++
		}
	}
	return func(r *recording) int32 {
		name, known := r.value(key)
		if !known {
			return unknownVehicle
		}
		return indexes[name]
	}
}

// attributesOf names the attributes that any of the recordings has.
func attributesOf(recordings []*recording) string {
	names := make(map[string]bool)
	for _, r := range recordings {
		for name := range r.attributes {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return "no attributes"
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// side is what the recordings of a group have of a latency.
type side struct {
	observations []significance.Observation
	// of has the statistic of each observation.
	of         []statistic
	recordings int
}

// compared is what a side has of the vehicles that a comparison rests on.
type compared struct {
	recordings int
	count      uint64
	inexact    bool
}

// compared leaves out recordings of other vehicles where only those of both sides count.
func (p *pair) compared(basis significance.Basis) (of [2]compared) {
	var has [2]map[int32]bool
	for i := range p {
		has[i] = make(map[int32]bool)
		for _, o := range p[i].observations {
			has[i][o.Vehicle] = true
		}
	}
	onlyBoth := basis == significance.VehiclesInBoth || basis == significance.Recordings
	for i := range p {
		for j, o := range p[i].observations {
			if onlyBoth && !has[1-i][o.Vehicle] {
				continue
			}
			of[i].recordings++
			of[i].count += p[i].of[j].count
			of[i].inexact = of[i].inexact || !p[i].of[j].exact
		}
	}
	return of
}

type pair [2]side

// measureAll measures the recordings, some at once.
func measureAll(ctx context.Context, of [2][]*recording, vehicle func(*recording) int32, options Options) (map[Subject]*pair, error) {
	var total, read atomic.Int64
	var results [2][][]measured
	var known subjects
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	progress := func(rows int) {
		if now := read.Add(int64(rows)); options.Progress != nil {
			options.Progress(min(now, total.Load()), total.Load())
		}
	}
	for i := range of {
		results[i] = make([][]measured, len(of[i]))
		for _, r := range of[i] {
			total.Add(max(r.callbacks, 0) + max(r.messages, 0))
		}
	}
	for i := range of {
		for j, r := range of[i] {
			workers.Go(func() error {
				of, err := measure(ctx, r, options.Percentile, progress)
				results[i][j] = known.number(of)
				return err
			})
		}
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	pairs := make(map[Subject]*pair)
	for i := range of {
		for j, r := range of[i] {
			for _, m := range results[i][j] {
				subject := known.listed[m.subject]
				if pairs[subject] == nil {
					pairs[subject] = new(pair)
				}
				pairs[subject][i].add(vehicle(r), m.statistic)
			}
		}
	}
	return pairs, nil
}

// subjects are all that any recording has. A recording names them by their numbers, so that many take little memory.
type subjects struct {
	mu     sync.Mutex
	of     map[Subject]int32
	listed []Subject
}

// measured is a statistic of a recording.
type measured struct {
	subject int32
	statistic
}

func (s *subjects) number(of map[Subject]statistic) []measured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[Subject]int32)
	}
	numbered := make([]measured, 0, len(of))
	for subject, statistic := range of {
		number, known := s.of[subject]
		if !known {
			number = int32(len(s.listed))
			s.of[subject], s.listed = number, append(s.listed, subject)
		}
		numbered = append(numbered, measured{number, statistic})
	}
	return numbered
}

func (s *side) add(vehicle int32, of statistic) {
	s.recordings++
	if vehicle == unknownVehicle {
		return
	}
	s.observations = append(s.observations, significance.Observation{Vehicle: vehicle, Value: of.value})
	s.of = append(s.of, of)
}

// compare fills in what came, went and changed.
func (d *Difference) compare(pairs map[Subject]*pair, options Options) {
	var subjects []Subject
	var nested []significance.NestedPair
	for subject, p := range pairs {
		switch {
		case p[0].recordings == 0:
			d.Entities = append(d.Entities, Presence{"came", subject.Kind, subject.Name, p[1].recordings, d.Groups[1].Recordings})
		case p[1].recordings == 0:
			d.Entities = append(d.Entities, Presence{"went", subject.Kind, subject.Name, p[0].recordings, d.Groups[0].Recordings})
		default:
			subjects = append(subjects, subject)
		}
	}
	slices.SortFunc(d.Entities, func(a, b Presence) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(subjects, func(a, b Subject) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	for _, subject := range subjects {
		p := pairs[subject]
		nested = append(nested, significance.NestedPair{Before: p[0].observations, After: p[1].observations})
	}
	findings := significance.JudgeNested(nested, significance.Options{Alpha: options.Alpha, MinChange: options.MinChange})
	for i := range findings {
		d.Latencies = append(d.Latencies, describe(subjects[i], pairs[subjects[i]], &findings[i]))
	}
	slices.SortStableFunc(d.Latencies, func(a, b LatencyChange) int {
		return cmp.Compare(laterIf(a.Verdict != significance.Changed), laterIf(b.Verdict != significance.Changed))
	})
}

func laterIf(later bool) int {
	if later {
		return 1
	}
	return 0
}

func describe(subject Subject, p *pair, f *significance.NestedFinding) LatencyChange {
	of := p.compared(f.Basis)
	l := LatencyChange{
		Kind: subject.Kind, Name: subject.Name, RecordingsA: of[0].recordings, RecordingsB: of[1].recordings, CountA: of[0].count, CountB: of[1].count,
		Basis: f.Basis, UnitsA: f.Units[0], UnitsB: f.Units[1], A: nanoseconds(f.Before), B: nanoseconds(f.After), Percent: percent(f.Change),
		Exact: !of[0].inexact && !of[1].inexact, VehicleNoise: percent(f.BetweenVehicles), RecordingNoise: percent(f.BetweenRecordings), Verdict: f.Verdict,
	}
	if f.Basis != significance.NoBasis {
		l.P, l.Detectable = trace.Some(100*f.Corrected), percent(f.DetectableChange)
	}
	return l
}

func nanoseconds(value float64) trace.Optional[int64] {
	if math.IsNaN(value) {
		return trace.Optional[int64]{}
	}
	return trace.Some(int64(math.Round(value)))
}

// percent is a share in percent; none where it is not known.
func percent(share float64) trace.Optional[float64] {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return trace.Optional[float64]{}
	}
	return trace.Some(100 * share)
}
