package oracle

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// RequireAnswersOfHits compares every answer about latencies and periods, instance by instance and in its statistics,
// with what the single hits tell. It returns the number of instances of each question.
func RequireAnswersOfHits(t *testing.T, dir string, data *Dataset) map[string]int {
	t.Helper()
	c := &hitComparison{t: t, dir: dir, hits: readHits(t, data), compared: map[string]int{}}
	c.passages = c.hits.passages(t)
	c.links = c.hits.links()
	c.requireCallbacks()
	c.requireCommunication()
	c.requireNodes()
	c.requirePeriods()
	c.requirePaths()
	c.requireServices()
	return c.compared
}

type hitComparison struct {
	t        *testing.T
	dir      string
	hits     *hits
	passages []hitPassage
	links    map[hitPair][]hitLink
	compared map[string]int
}

// hitStatistics are durations and the begins of instances, of which some may have no duration.
type hitStatistics struct {
	durations, begins []int64
}

func (s *hitStatistics) add(begin int64, duration trace.Optional[int64]) {
	s.begins = append(s.begins, begin)
	if duration.Valid {
		s.durations = append(s.durations, duration.Value)
	}
}

// statistics are by the book: the percentile is the least value that the share of all values does not exceed.
func (s *hitStatistics) statistics() analyze.Statistics {
	of := analyze.Statistics{Count: uint64(len(s.durations)), PercentilesExact: true}
	if n := len(s.begins); n > 1 {
		if span := slices.Max(s.begins) - slices.Min(s.begins); span > 0 {
			of.Rate = trace.Some(float64(n-1) * 1e9 / float64(span))
		}
	}
	if len(s.durations) == 0 {
		return of
	}
	sorted := slices.Sorted(slices.Values(s.durations))
	var sum int64
	for _, d := range sorted {
		sum += d
	}
	percentile := func(share float64) trace.Optional[int64] {
		for i, d := range sorted {
			if float64(i+1) >= share*float64(len(sorted)) {
				return trace.Some(d)
			}
		}
		return trace.Optional[int64]{}
	}
	of.Min, of.Max, of.Mean = trace.Some(sorted[0]), trace.Some(sorted[len(sorted)-1]), trace.Some(int64(math.Round(float64(sum)/float64(len(sorted)))))
	of.P50, of.P90, of.P99, of.P999 = percentile(0.5), percentile(0.9), percentile(0.99), percentile(0.999)
	return of
}

// requireSame compares lists in any order.
func requireSame[R any](c *hitComparison, what string, got, want []R) {
	c.t.Helper()
	lines := func(rows []R) []string {
		var lines []string
		for _, row := range rows {
			lines = append(lines, fmt.Sprintf("%+v", row))
		}
		slices.Sort(lines)
		return lines
	}
	g, w := lines(got), lines(want)
	missing, unexpected := Difference(w, g), Difference(g, w)
	if len(missing)+len(unexpected) > 0 {
		c.t.Errorf("%s: of %d that the hits tell %d are missing, such as\n  %s\nof %d answers %d are unexpected, such as\n  %s", what,
			len(want), len(missing), strings.Join(missing[:min(3, len(missing))], "\n  "), len(got), len(unexpected), strings.Join(unexpected[:min(3, len(unexpected))], "\n  "))
	}
	c.compared[what] = len(want)
}

// Difference returns the elements of one list, in order, that another does not have, as often as it lacks them.
func Difference(list, other []string) []string {
	counts := map[string]int{}
	for _, element := range other {
		counts[element]++
	}
	var missing []string
	for _, element := range list {
		if counts[element]--; counts[element] < 0 {
			missing = append(missing, element)
		}
	}
	return missing
}

// collect returns a function that gathers instances.
func collect[I any](into *[]I) func([]I) error {
	return func(instances []I) error {
		*into = append(*into, instances...)
		return nil
	}
}

func (c *hitComparison) require(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// kindOf does not tell by which way a subscription got its messages.
func (of *hitCallback) kindOf() trace.CallbackKind {
	if of.Kind == trace.KindIntraProcessSubscription {
		return trace.KindSubscription
	}
	return of.Kind
}

// label leaves out the number and the function of a callback.
func (of *hitCallback) label() analyze.CallbackLabel {
	return analyze.CallbackLabel{PID: of.PID, Node: of.NodeName, Kind: of.kindOf(), Topic: of.TopicName, Period: of.Period}
}

func (c *hitComparison) requireCallbacks() {
	var instances, wantInstances []analyze.CallbackExecution
	results, err := OpenQuery(c.t, c.dir).CallbackLatency(c.t.Context(), collect(&instances))
	c.require(err)
	for i := range instances {
		instances[i].Callback, instances[i].Symbol = "", ""
	}
	for i := range results {
		results[i].Callback, results[i].Symbol, results[i].OfEveryNode = "", "", false
	}
	of, incomplete := map[*hitCallback]*hitStatistics{}, map[*hitCallback]uint64{}
	for _, callback := range c.hits.callbacks {
		if callback.endsOnly > 0 {
			of[callback], incomplete[callback] = &hitStatistics{}, callback.endsOnly
		}
	}
	for _, x := range c.hits.executions {
		execution := analyze.CallbackExecution{CallbackLabel: x.callback.label(), TID: x.tid, Begin: x.start, End: x.end, Status: trace.CallbackComplete}
		if x.end.Valid {
			execution.Latency = trace.Some(x.end.Value - x.start)
		} else {
			execution.Status = trace.CallbackRecordingEnd
			incomplete[x.callback]++
		}
		wantInstances = append(wantInstances, execution)
		addTo(of, x.callback, x.start, execution.Latency)
	}
	var want []analyze.CallbackLatency
	for callback, s := range of {
		want = append(want, analyze.CallbackLatency{CallbackLabel: callback.label(), Statistics: s.statistics(), Incomplete: incomplete[callback]})
	}
	requireSame(c, "executions", instances, wantInstances)
	requireSame(c, "callbacks", results, want)
}

func addTo[K comparable](statistics map[K]*hitStatistics, of K, begin int64, duration trace.Optional[int64]) {
	if statistics[of] == nil {
		statistics[of] = &hitStatistics{}
	}
	statistics[of].add(begin, duration)
}

func (p *hitPassage) label() analyze.CommunicationLabel {
	from := p.publish.publisher
	label := analyze.CommunicationLabel{
		Topic: from.TopicName, PublisherNode: from.NodeName, PublisherPID: from.PID, SubscriptionNode: p.to.NodeName, SubscriptionPID: p.to.PID,
		Transport: analyze.InterProcess,
	}
	if p.enqueued.Valid {
		label.Transport = analyze.IntraProcess
	}
	return label
}

func (p *hitPassage) latency() trace.Optional[int64] {
	if p.received == nil {
		return trace.Optional[int64]{}
	}
	return trace.Some(p.received.input() - p.publish.at())
}

func (c *hitComparison) requireCommunication() {
	var instances, wantInstances []analyze.CommunicationInstance
	results, err := OpenQuery(c.t, c.dir).CommunicationLatency(c.t.Context(), collect(&instances))
	c.require(err)
	instances = slices.DeleteFunc(instances, func(i analyze.CommunicationInstance) bool { return i.Topic == trace.DiscoveryTopic })
	results = slices.DeleteFunc(results, func(r analyze.CommunicationLatency) bool { return r.Topic == trace.DiscoveryTopic })
	// What shows that two hits are of one message is the answer's affair: the hits do not tell the gid.
	for i := range instances {
		instances[i].JoinedBy = ""
	}
	for i := range results {
		results[i].OfEveryNode = false
		results[i].JoinedByTopic = 0
	}
	type pair struct {
		route     hitPair
		transport analyze.Transport
	}
	of, fates := map[pair]*hitStatistics{}, map[pair]*analyze.CommunicationLatency{}
	for i := range c.passages {
		p := &c.passages[i]
		d := p.publish
		instance := analyze.CommunicationInstance{
			CommunicationLabel: p.label(), Fate: p.fate, RclcppIntraPublish: d.intra, RclcppPublish: d.rclcpp, RclPublish: d.rcl, RMWPublish: d.rmw,
			DDSBindAddrToStamp: d.stamp, SourceTimestamp: d.source, RclcppRingBufferQueue: p.enqueued, Latency: p.latency(),
		}
		if p.received != nil {
			instance.Take = trace.Some(p.received.at)
			if !p.received.polled {
				instance.CallbackStartTimestamp = trace.Some(p.received.in.start)
			}
		}
		wantInstances = append(wantInstances, instance)
		by := pair{hitPair{p.to, d.publisher}, instance.Transport}
		addTo(of, by, d.at(), instance.Latency)
		if fates[by] == nil {
			fates[by] = &analyze.CommunicationLatency{CommunicationLabel: instance.CommunicationLabel}
		}
		switch p.fate {
		case analyze.Lost:
			fates[by].Lost++
		case analyze.Open:
			fates[by].Open++
		case analyze.Unknown:
			fates[by].Unknown++
		}
		c.compared["messages "+string(p.fate)]++
		switch {
		case p.enqueued.Valid:
			c.compared["messages through buffers"]++
		case p.received != nil && p.received.polled:
			c.compared["messages polled"]++
		}
	}
	var want []analyze.CommunicationLatency
	for by, row := range fates {
		row.Statistics = of[by].statistics()
		want = append(want, *row)
	}
	requireSame(c, "messages", instances, wantInstances)
	requireSame(c, "communications", results, want)
}

// named tells whether the hits name a publisher: on Humble they name a copy of those of /rosout.
func (c *hitComparison) named(topic string) bool {
	return topic != "/rosout" || slices.ContainsFunc(c.hits.publishes, func(p *hitPublish) bool { return p.publisher.TopicName == topic })
}

func (c *hitComparison) requireNodes() {
	var instances, wantInstances []analyze.NodeInstance
	results, err := OpenQuery(c.t, c.dir).NodeLatency(c.t.Context(), analyze.LinkOptions{}, collect(&instances))
	c.require(err)
	instances = slices.DeleteFunc(instances, func(i analyze.NodeInstance) bool { return !c.named(i.PublisherTopic) })
	results = slices.DeleteFunc(results, func(r analyze.NodeLatency) bool { return !c.named(r.PublisherTopic) })
	var want []analyze.NodeLatency
	for pair, links := range c.links {
		label := analyze.NodeLabel{
			Node: pair.subscription.NodeName, PID: pair.subscription.PID, SubscriptionTopic: pair.subscription.TopicName,
			PublisherTopic: pair.publisher.TopicName, Context: system.ContextCallbackChain,
		}
		var s hitStatistics
		row := analyze.NodeLatency{NodeLabel: label}
		for _, l := range links {
			i := analyze.NodeInstance{NodeLabel: label, Input: trace.Some(l.input.input())}
			if !l.input.polled {
				i.InputEnd = l.input.in.end
			}
			if l.output == nil {
				row.Unused++
			} else {
				i.OutputStart, i.Publish = trace.Some(l.output.in.start), trace.Some(l.output.at())
				i.Latency = trace.Some(i.Publish.Value - i.Input.Value)
			}
			s.add(i.Input.Value, i.Latency)
			wantInstances = append(wantInstances, i)
		}
		row.Statistics = s.statistics()
		want = append(want, row)
	}
	requireSame(c, "inputs and outputs", instances, wantInstances)
	requireSame(c, "nodes", results, want)
}

func (c *hitComparison) requirePeriods() {
	callbacks, publishers := map[*hitCallback][]int64{}, map[*hitPublisher][]int64{}
	for _, x := range c.hits.executions {
		callbacks[x.callback] = append(callbacks[x.callback], x.start)
	}
	for _, p := range c.hits.publishes {
		publishers[p.publisher] = append(publishers[p.publisher], p.at())
	}
	var want []analyze.Period
	periods := func(label analyze.PeriodicLabel, times []int64) {
		slices.Sort(times)
		var s hitStatistics
		for i := range times[1:] {
			s.add(times[i], trace.Some(times[i+1]-times[i]))
		}
		want = append(want, analyze.Period{PeriodicLabel: label, Measure: analyze.MeasurePeriod, Statistics: s.statistics()})
	}
	for of, times := range callbacks {
		periods(analyze.PeriodicLabel{Node: of.NodeName, PID: of.PID, Kind: of.kindOf(), Topic: of.TopicName, TimerPeriod: of.Period}, times)
	}
	for of, times := range publishers {
		periods(analyze.PeriodicLabel{Node: of.NodeName, PID: of.PID, Topic: of.TopicName}, times)
	}
	var got []analyze.Period
	for _, subject := range []analyze.Subject{analyze.Callbacks, analyze.Topics} {
		results, err := OpenQuery(c.t, c.dir).Periods(c.t.Context(), subject, false, nil)
		c.require(err)
		for _, r := range results {
			r.Callback = ""
			if r.Measure == analyze.MeasurePeriod && r.Topic != trace.DiscoveryTopic && (subject == analyze.Callbacks || c.named(r.Topic)) {
				got = append(got, r)
			}
		}
	}
	requireSame(c, "periods", got, want)
}

// requirePaths takes the question from the architecture, which paths there are, and follows each message from its end
// by the hits.
func (c *hitComparison) requirePaths() {
	query, paths := c.allPaths()
	if len(paths) == 0 {
		return
	}
	var instances, wantInstances []analyze.PathHopInstance
	results, err := query.PathLatency(c.t.Context(), paths, analyze.PathOptions{}, collect(&instances))
	c.require(err)
	for i := range instances {
		instances[i].Instance = trace.Optional[uint64]{}
	}
	var want []analyze.PathHop
	var responses []analyze.ResponseTime
	var flows []analyze.ResponseTimeInstance
	var inputs []analyze.ResponseTimeInputInstance
	for _, p := range paths {
		of := c.newHitPath(p)
		rows, ways := of.answers(c)
		responseRows, flowsOf, inputsOf := of.responseTimes(c, ways)
		responses, flows, inputs = append(responses, responseRows...), append(flows, flowsOf...), append(inputs, inputsOf...)
		want, wantInstances = append(want, rows...), append(wantInstances, ways...)
		c.compared["longest path"] = max(c.compared["longest path"], len(of.hops))
	}
	requireSame(c, "ways", instances, wantInstances)
	requireSame(c, "paths", results, want)
	c.requireResponseTimes(responses, flows, inputs)
}

// allPaths returns a query with all paths of its architecture.
func (c *hitComparison) allPaths() (*analyze.Query, []*system.Path) {
	query := OpenQuery(c.t, c.dir)
	c.require(query.LoadActivity(c.t.Context()))
	paths, _, err := query.Architecture.Paths(c.t.Context(), system.PathQuery{})
	c.require(err)
	return query, paths
}

// hitPath is a path in the terms of the hits: publishers and subscriptions in turn.
type hitPath struct {
	name string
	hops []hitHop
}

// hitHop leads from a publisher to a subscription or, in a node, from a subscription to a publisher.
type hitHop struct {
	hitPair
	kind analyze.HopKind
	name string
}

func (c *hitComparison) newHitPath(p *system.Path) *hitPath {
	of := &hitPath{}
	var names []string
	var from *hitPublisher
	for _, n := range p.Nodes {
		var s *hitSubscription
		if n.Subscription != nil {
			s = c.hits.subscriptions[hitPlace{n.Node.Process.PID, uint64(n.Subscription.Handle)}]
			if from != nil {
				of.hops = append(of.hops, hitHop{hitPair{s, from}, analyze.HopCommunication, s.TopicName})
			} else {
				names = append(names, "["+s.TopicName+"]")
			}
		}
		names = append(names, "["+n.Node.Name+"]")
		from = nil
		if n.Publisher != nil {
			from = c.hits.publishers[hitPlace{n.Node.Process.PID, uint64(n.Publisher.Handle)}]
			names = append(names, "["+from.TopicName+"]")
			if s != nil {
				of.hops = append(of.hops, hitHop{hitPair{s, from}, analyze.HopNode, n.Node.Name})
			}
		}
	}
	of.name = strings.Join(names, "-")
	return of
}

// hitPoint is where a message is on its way: published or received.
type hitPoint struct {
	publish  *hitPublish
	received *hitReception
}

func (at hitPoint) time() int64 {
	if at.publish != nil {
		return at.publish.at()
	}
	return at.received.input()
}

// before is where the message was at the begin of the hop; ok is false where it did not come that way.
func (c *hitComparison) before(hop hitHop, at hitPoint) (from hitPoint, ok bool) {
	if hop.kind == analyze.HopCommunication {
		p := at.received.from
		return hitPoint{publish: p}, p != nil && p.publisher == hop.publisher
	}
	for _, l := range c.links[hop.hitPair] {
		if l.output == at.publish {
			return hitPoint{received: l.input}, true
		}
	}
	return hitPoint{}, false
}

// points are the messages at the begin of a hop or, with atEnd, at its end.
func (c *hitComparison) points(hop hitHop, atEnd bool) []hitPoint {
	var points []hitPoint
	if atEnd == (hop.kind == analyze.HopNode) {
		for _, p := range c.hits.publishes {
			if p.publisher == hop.publisher {
				points = append(points, hitPoint{publish: p})
			}
		}
		return points
	}
	for _, r := range c.hits.receptions {
		if r.subscription == hop.subscription {
			points = append(points, hitPoint{received: r})
		}
	}
	return points
}

func (of *hitPath) answers(c *hitComparison) (rows []analyze.PathHop, instances []analyze.PathHopInstance) {
	last := len(of.hops) - 1
	statistics := make([]hitStatistics, len(of.hops)+1)
	reached := map[hitPoint]bool{}
	for _, at := range c.points(of.hops[last], true) {
		way, ok := []hitPoint{at}, true
		for i := last; i >= 0 && ok; i-- {
			at, ok = c.before(of.hops[i], at)
			way = append(way, at)
		}
		if !ok {
			continue
		}
		slices.Reverse(way)
		reached[way[0]] = true
		for hop := range statistics {
			begin, end := way[0].time(), way[len(way)-1].time()
			kind, name := analyze.HopPath, of.name
			if hop > 0 {
				begin, end = way[hop-1].time(), way[hop].time()
				kind, name = of.hops[hop-1].kind, of.hops[hop-1].name
			}
			statistics[hop].add(begin, trace.Some(end-begin))
			instances = append(instances, analyze.PathHopInstance{
				Path: of.name, Hop: hop, Kind: kind, Name: name, Fate: analyze.Received, PathBegin: trace.Some(way[0].time()),
				Begin: begin, End: trace.Some(end), Latency: trace.Some(end - begin),
			})
		}
	}
	begun := uint64(len(c.points(of.hops[0], false)))
	rows = append(rows, analyze.PathHop{
		Path: of.name, Kind: analyze.HopPath, Name: of.name, Statistics: statistics[0].statistics(), Messages: begun, Dropped: begun - uint64(len(reached)),
	})
	for i, hop := range of.hops {
		row := analyze.PathHop{Path: of.name, Hop: i + 1, Kind: hop.kind, Name: hop.name, Statistics: statistics[i+1].statistics()}
		row.Messages, row.Dropped = c.through(hop)
		rows = append(rows, row)
	}
	return rows, instances
}

// through counts the messages of a hop, whether or not they came from the begin of a path, and those of them that went
// no further.
func (c *hitComparison) through(hop hitHop) (begun, dropped uint64) {
	if hop.kind == analyze.HopNode {
		seen := map[*hitReception]bool{}
		for _, l := range c.links[hop.hitPair] {
			if !seen[l.input] {
				begun++
			}
			seen[l.input] = true
			if l.output == nil {
				dropped++
			}
		}
		return begun, dropped
	}
	for _, p := range c.passages {
		if p.publish.publisher == hop.publisher && p.to == hop.subscription && (p.fate == analyze.Received || p.fate == analyze.Lost) {
			begun++
			if p.fate == analyze.Lost {
				dropped++
			}
		}
	}
	return begun, dropped
}
