package metrics

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/caret-bpf/caret-bpf/trace"
)

// maxSeries bounds the series of each metric with names: names come from programs that nobody vouches for.
const maxSeries = 2000

// State is what is known of a recording beside its rows.
type State struct {
	Processes int
	// Rows are the numbers of rows that are kept, by table; Unarmed is that of files that were not probed in time.
	Rows    map[string]uint64
	Unarmed int
	// Overhead is the highest share of its time that recording has cost a thread in the last second.
	Overhead float64
	// BufferBytes is the size of the kernel's buffer, BufferPending what waits in it, BufferPeak the most that ever did.
	BufferBytes, BufferPending, BufferPeak int
	Triggers                               []trace.TriggerCount
	// Uploads are those of the datasets beside the recording; nil where there are none.
	Uploads *trace.Uploads
}

// Metrics are those of one recording. Its methods may be called by several goroutines.
type Metrics struct {
	registry  *prometheus.Registry
	durations *bounded[prometheus.Observer]
	ages      *bounded[prometheus.Observer]
	published *bounded[prometheus.Counter]
	lost      *bounded[prometheus.Counter]
}

// New makes the metrics of a recording by a version of the recorder. state is called at each scrape.
func New(version string, state func() State) *Metrics {
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "caret_bpf_dropped_observations_total", Help: "Observations of series beyond the bound of each metric: of more names than are kept.",
	})
	durations := newHistograms("caret_bpf_callback_duration_seconds", "Time from callback_start to callback_end.", "node", "callback")
	ages := newHistograms("caret_bpf_message_age_seconds", "Time from a message's source timestamp to the start of its callback.", "topic", "node")
	published := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "caret_bpf_messages_published_total", Help: "Messages that were published.",
	}, []string{"topic", "node"})
	lost := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "caret_bpf_lost_records_total", Help: "Records that were lost, by what they were and why.",
	}, []string{"kind", "reason"})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "caret_bpf_build_info", Help: "Always 1.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	registry := prometheus.NewRegistry()
	registry.MustRegister(dropped, durations, ages, published, lost, build, &stateCollector{state})
	m := &Metrics{
		registry:  registry,
		durations: newBounded[prometheus.Observer](durations, dropped), ages: newBounded[prometheus.Observer](ages, dropped),
		published: newBounded[prometheus.Counter](published, dropped), lost: newBounded[prometheus.Counter](lost, dropped),
	}
	// What begins with the first loss has no rate then.
	for _, kind := range trace.LossKinds() {
		for _, reason := range trace.LossReasons() {
			m.lost.at(string(kind), string(reason))
		}
	}
	return m
}

// Look counts rows as they come. It keeps nothing of them.
func (m *Metrics) Look(b *trace.Batch) {
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		start, end, source := row.CallbackStartTimestamp, row.CallbackEndTimestamp, row.SourceTimestamp
		if start.Valid && end.Valid {
			if of, ok := m.durations.at(row.NodeName, row.Label()); ok {
				of.Observe(seconds(end.Value - start.Value))
			}
		}
		if start.Valid && source.Valid {
			if of, ok := m.ages.at(row.TopicName, row.NodeName); ok {
				of.Observe(seconds(start.Value - source.Value))
			}
		}
	}
	for i := range b.Publishes {
		if of, ok := m.published.at(b.Publishes[i].TopicName, b.Publishes[i].NodeName); ok {
			of.Inc()
		}
	}
	for i := range b.Losses {
		row := &b.Losses[i]
		if row.Reason == trace.LossUnarmed {
			continue
		}
		if of, ok := m.lost.at(string(row.Kind), string(row.Reason)); ok {
			of.Add(float64(row.Count))
		}
	}
}

func seconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e9 }

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// names are the two labels of a series.
type names struct{ first, second string }

// bounded finds the metric of each pair of names, up to maxSeries of them.
type bounded[V any] struct {
	of      labeled[V]
	dropped prometheus.Counter

	mu    sync.Mutex
	known map[names]V
}

func newBounded[V any](of labeled[V], dropped prometheus.Counter) *bounded[V] {
	return &bounded[V]{of: of, dropped: dropped, known: map[names]V{}}
}

func (b *bounded[V]) at(first, second string) (value V, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := names{first, second}
	if value, ok = b.known[key]; ok {
		return value, true
	}
	if len(b.known) >= maxSeries {
		b.dropped.Inc()
		return value, false
	}
	value = b.of.WithLabelValues(plain(first), plain(second))
	b.known[key] = value
	return value, true
}

// labeled is a vector of metrics by two labels.
type labeled[V any] interface {
	WithLabelValues(labels ...string) V
}

// Buckets of classic histograms, for servers that do not ask for native ones.
var buckets = prometheus.ExponentialBuckets(10e-6, 4, 11) // from 10 µs to 10 s

func newHistograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
	}, labels)
}
