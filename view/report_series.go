package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
)

// reportedSeries is a subject of a table that has a series in a report.
type reportedSeries[L comparable] struct {
	id    int
	label L
	count uint64
}

// most are the subjects with most instances, in that order.
func most[L comparable](all []reportedSeries[L]) []reportedSeries[L] {
	slices.SortStableFunc(all, func(a, b reportedSeries[L]) int { return cmp.Compare(b.count, a.count) })
	return all[:min(len(all), reportedSubjects)]
}

// addSeries adds series of the whole time: each question is asked once for all subjects.
func (r *reportAnswers) addSeries(ctx context.Context) error {
	v := r.view
	callbacks, err := v.callbackLatencies(ctx)
	if err != nil {
		return err
	}
	var ofCallbacks []reportedSeries[analyze.CallbackLabel]
	var starts []reportedSeries[analyze.PeriodicLabel]
	for i := range callbacks {
		if id := v.ofCallback(callbacks[i].CallbackLabel); id != nil {
			count := callbacks[i].Count + callbacks[i].Incomplete
			ofCallbacks = append(ofCallbacks, reportedSeries[analyze.CallbackLabel]{int(*id), callbacks[i].CallbackLabel, count})
			starts = append(starts, reportedSeries[analyze.PeriodicLabel]{int(*id), periodicOfCallback(callbacks[i].CallbackLabel), count})
		}
	}
	rows, err := v.communicationLatencies(ctx)
	if err != nil {
		return err
	}
	var ofCommunications []reportedSeries[analyze.CommunicationLabel]
	var received []reportedSeries[analyze.PeriodicLabel]
	for i := range rows {
		ofCommunications = append(ofCommunications, reportedSeries[analyze.CommunicationLabel]{i, rows[i].CommunicationLabel, rows[i].Count})
		received = append(received, reportedSeries[analyze.PeriodicLabel]{i, periodicOfCommunication(rows[i].CommunicationLabel), rows[i].Count})
	}
	topics, err := v.periods(ctx, analyze.Topics)
	if err != nil {
		return err
	}
	var published []reportedSeries[analyze.PeriodicLabel]
	for i := range topics {
		published = append(published, reportedSeries[analyze.PeriodicLabel]{i, topics[i].PeriodicLabel, topics[i].Count})
	}
	err = addSeriesOf(ctx, r, ofCallback, latencyMeasure, ofCallbacks, callbackSeries)
	if err == nil {
		err = addSeriesOf(ctx, r, ofCommunication, latencyMeasure, ofCommunications, communicationSeries)
	}
	for _, measure := range []string{periodMeasure, frequencyMeasure} {
		for _, of := range []struct {
			subject string
			asked   analyze.Subject
			all     []reportedSeries[analyze.PeriodicLabel]
		}{{ofTopic, analyze.Topics, published}, {ofCallback, analyze.Callbacks, starts}, {ofCommunication, analyze.Communications, received}} {
			if err == nil {
				err = addSeriesOf(ctx, r, of.subject, measure, of.all, func(ctx context.Context, q *analyze.Query, to collection[analyze.PeriodicLabel]) error {
					return periodicSeries(ctx, q, of.asked, measure, to)
				})
			}
		}
	}
	return err
}

// addSeriesOf adds a measure of the subjects of a kind.
func addSeriesOf[L comparable](ctx context.Context, r *reportAnswers, subject, measure string, all []reportedSeries[L],
	collect func(context.Context, *analyze.Query, collection[L]) error) error {
	chosen := most(all)
	var labels []L
	for _, s := range chosen {
		labels = append(labels, s.label)
	}
	if len(all) > len(chosen) {
		r.summary.Omitted = true
	}
	c := wanting(labels)
	for _, s := range chosen {
		if measure != frequencyMeasure { // lists that grow would leave as much again behind
			c[s.label].times, c[s.label].values = make([]int64, 0, s.count), make([]float64, 0, s.count)
		}
	}
	ctx, lacks := warningIn(ctx)
	if err := r.view.plain.all(ctx, func(q *analyze.Query) error { return collect(ctx, q, c) }); err != nil {
		return err
	}
	answers := make(map[L]*series)
	for _, s := range chosen {
		if answers[s.label] == nil { // rows may be called the same
			answers[s.label] = r.view.newSeries(c[s.label], r.view.span.First, r.view.span.Last)
			delete(c, s.label)
		}
		k := newKey("series", subject, fmt.Sprint(s.id), measure, "0", fmt.Sprint(r.view.duration()))
		if added, err := r.offer(k, answers[s.label], lacks, seriesShare); err != nil || !added {
			return err // what comes behind it has fewer instances, and no less size
		}
	}
	return nil
}
