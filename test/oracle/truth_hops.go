package oracle

import (
	"cmp"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

// hops are the ways from the start of a callback that a message started to each publish in it.
func (t *Truth) hops() []transit {
	var found []transit
	for _, thread := range t.threads {
		for _, p := range thread.publishes {
			if p.in != nil && (p.in.SourceTimestamp != 0 || p.in.fed != nil) {
				found = append(found, transit{p.in.Start, firstLayer(&p.Publish)})
			}
		}
	}
	return found
}

// RequireTrueNodes compares the latencies of nodes.
func RequireTrueNodes(t *testing.T, dir string, data *Dataset, truth *Truth) {
	t.Helper()
	check := newTransitCheck(data, truth.hops())
	_, err := OpenQuery(t, dir).NodeLatency(t.Context(), analyze.LinkOptions{}, func(instances []analyze.NodeInstance) error {
		for _, i := range instances {
			if i.Publish.Valid && !check.claim(i.Input.Value, i.Publish.Value) {
				t.Errorf("by the ground truth no message went so: %+v", i)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check.require(t, "through nodes")
}

// RequireTruePaths compares the paths from a first publish through one node to where the message arrives that it
// relays.
func RequireTruePaths(t *testing.T, dir string, data *Dataset, truth *Truth) {
	t.Helper()
	toArrival, fromPublish := map[groundtruth.Bracket]transit{}, map[groundtruth.Bracket][]transit{}
	for _, of := range truth.transits() {
		toArrival[of.arrival] = of
		fromPublish[of.publish] = append(fromPublish[of.publish], of)
	}
	var ways []transit
	for _, hop := range truth.hops() {
		if first, ok := toArrival[hop.publish]; ok {
			for _, last := range fromPublish[hop.arrival] {
				ways = append(ways, transit{first.publish, last.arrival})
			}
		}
	}
	check := newTransitCheck(data, ways)
	query := OpenQuery(t, dir)
	if err := query.LoadActivity(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths, _, err := query.Architecture.Paths(t.Context(), system.PathQuery{})
	if err != nil {
		t.Fatal(err)
	}
	paths = slices.DeleteFunc(paths, func(p *system.Path) bool { return len(p.Nodes) != 3 })
	_, err = query.PathLatency(t.Context(), paths, analyze.PathOptions{}, func(instances []analyze.PathHopInstance) error {
		for _, i := range instances {
			if i.Hop == 0 && !check.claim(i.Begin, i.End.Value) {
				t.Errorf("by the ground truth no message went so: %+v", i)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check.require(t, "along paths")
}

// transitCheck finds a transit of its own for each instance of a latency. Brackets of threads that were preempted in
// them contain what other threads did, so an earlier choice may have to be changed for a later instance: this is the
// search for a perfect matching.
type transitCheck struct {
	transits  []transit
	claimedBy []int // the index of an instance, or -1
	instances []instants
	offset    int64
}

type instants struct{ begin, end uint64 }

func newTransitCheck(data *Dataset, transits []transit) *transitCheck {
	slices.SortFunc(transits, func(a, b transit) int { return cmp.Compare(a.publish.Before, b.publish.Before) })
	return &transitCheck{
		transits: transits, claimedBy: slices.Repeat([]int{-1}, len(transits)), offset: data.Session.Clock.RealtimeOffset,
	}
}

// claim finds a transit that contains both instants, which are on the dataset's clock.
func (c *transitCheck) claim(begin, end int64) bool {
	c.instances = append(c.instances, instants{uint64(begin - c.offset), uint64(end - c.offset)})
	return c.choose(len(c.instances)-1, map[int]bool{})
}

func (c *transitCheck) choose(instance int, tried map[int]bool) bool {
	of := c.instances[instance]
	i, _ := slices.BinarySearchFunc(c.transits, of.begin+1, func(of transit, at uint64) int { return cmp.Compare(of.publish.Before, at) })
	for i--; i >= 0; i-- {
		if tried[i] || !c.transits[i].publish.Contains(of.begin) || !c.transits[i].arrival.Contains(of.end) {
			continue
		}
		tried[i] = true
		if c.claimedBy[i] < 0 || c.choose(c.claimedBy[i], tried) {
			c.claimedBy[i] = instance
			return true
		}
	}
	return false
}

func (c *transitCheck) require(t *testing.T, what string) {
	t.Helper()
	if len(c.transits) == 0 || slices.Contains(c.claimedBy, -1) {
		left := 0
		for _, instance := range c.claimedBy {
			if instance < 0 {
				left++
			}
		}
		t.Errorf("of %d messages that went %s by the ground truth %d were not found", len(c.transits), what, left)
	}
}

// between sums durations of which the ground truth knows both ends within brackets. These may overlap: the least may be
// negative.
type between struct {
	count          uint64
	least, longest int64
}

func (b *between) add(from, to groundtruth.Bracket) {
	b.count++
	b.least += int64(to.Before) - int64(from.After)
	b.longest += int64(to.After) - int64(from.Before)
}

// require compares with results, each of whose means is rounded.
func (b *between) require(t *testing.T, what string, results []analyze.Statistics) {
	t.Helper()
	var count uint64
	var duration int64
	for _, r := range results {
		count += r.Count
		duration += int64(r.Count) * int64(r.Mean.Value)
	}
	if count != b.count || count == 0 || duration+int64(count) < b.least || duration > b.longest+int64(count) {
		t.Errorf("%s: %d took %d ns, by the ground truth %d took %d to %d ns", what, count, duration, b.count, b.least, b.longest)
	}
}

// RequireTruePeriods compares the periods of callbacks.
func RequireTruePeriods(t *testing.T, dir string, truth *Truth) {
	t.Helper()
	first := map[uint64]uint64{} // the callbacks of both ways to a subscription are one
	for _, s := range truth.Subscriptions {
		first[s.IntraCallback] = s.Callback
	}
	starts := map[uint64][]groundtruth.Bracket{}
	for i := range truth.Callbacks {
		c := &truth.Callbacks[i]
		of := cmp.Or(first[c.Callback], c.Callback)
		starts[of] = append(starts[of], c.Start)
	}
	var periods between
	for _, of := range starts {
		slices.SortFunc(of, func(a, b groundtruth.Bracket) int { return cmp.Compare(a.Before, b.Before) })
		for i := range of[1:] {
			periods.add(of[i], of[i+1])
		}
	}
	results, err := OpenQuery(t, dir).Periods(t.Context(), analyze.Callbacks, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	var statistics []analyze.Statistics
	for _, r := range results {
		if r.Measure == analyze.MeasurePeriod {
			statistics = append(statistics, r.Statistics)
		}
	}
	periods.require(t, "periods", statistics)
}

// RequireTrueServices compares the latencies of services. There may be no calls.
func RequireTrueServices(t *testing.T, dir string, truth *Truth) {
	t.Helper()
	type call struct {
		client   string
		sequence int64
	}
	steps := map[call]map[groundtruth.ServiceStepKind]groundtruth.Bracket{}
	for _, thread := range truth.threads {
		for _, step := range thread.steps {
			if of := (call{step.ClientGID, step.SequenceNumber}); step.leavesRow() {
				if steps[of] == nil {
					steps[of] = map[groundtruth.ServiceStepKind]groundtruth.Bracket{}
				}
				steps[of][step.Step] = step.Bracket
			}
		}
	}
	if len(steps) == 0 {
		return
	}
	results, err := OpenQuery(t, dir).ServiceLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for part, ends := range map[analyze.ServicePart][2]groundtruth.ServiceStepKind{
		analyze.PartCall:   {groundtruth.StepSendRequest, groundtruth.StepTakeResponse},
		analyze.PartServer: {groundtruth.StepTakeRequest, groundtruth.StepSendResponse},
	} {
		var calls between
		for _, of := range steps {
			if from, to := of[ends[0]], of[ends[1]]; from.Happened() && to.Happened() {
				calls.add(from, to)
			}
		}
		var statistics []analyze.Statistics
		for _, r := range results {
			if r.Part == part {
				statistics = append(statistics, r.Statistics)
			}
		}
		calls.require(t, string(part), statistics)
	}
}
