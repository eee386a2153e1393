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
}

// Metrics are those of one recording. Its methods may be called by several goroutines.
type Metrics struct {
	registry  *prometheus.Registry
	durations *series
	ages      *series
	published *counters
	lost      *counters
	dropped   prometheus.Counter
}

// New makes the metrics of a recording by a version of the recorder. state is called at each scrape.
func New(version string, state func() State) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.dropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "caret_bpf_dropped_observations_total", Help: "Observations of series beyond the bound of each metric: of more names than are kept.",
	})
	m.durations = newSeries(prometheus.HistogramOpts{
		Name: "caret_bpf_callback_duration_seconds", Help: "Time from callback_start to callback_end.",
	}, m.dropped, "node", "callback")
	m.ages = newSeries(prometheus.HistogramOpts{
		Name: "caret_bpf_message_age_seconds", Help: "Time from a message's source timestamp to the start of its callback.",
	}, m.dropped, "topic", "node")
	m.published = newCounters(prometheus.CounterOpts{
		Name: "caret_bpf_messages_published_total", Help: "Messages that were published.",
	}, m.dropped, "topic", "node")
	m.lost = newCounters(prometheus.CounterOpts{
		Name: "caret_bpf_lost_records_total", Help: "Records that were lost, by what they were and why.",
	}, m.dropped, "kind", "reason")
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "caret_bpf_build_info", Help: "Always 1.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.dropped, m.durations.of, m.ages.of, m.published.of, m.lost.of, build, &stateCollector{state})
	return m
}

// Look counts rows as they come. It keeps nothing of them.
func (m *Metrics) Look(b *trace.Batch) {
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		start, end, source := row.CallbackStartTimestamp, row.CallbackEndTimestamp, row.SourceTimestamp
		if start.Valid && end.Valid {
			m.durations.observe(row.NodeName, callbackName(row), seconds(end.Value-start.Value))
		}
		if start.Valid && source.Valid {
			m.ages.observe(row.TopicName, row.NodeName, seconds(start.Value-source.Value))
		}
	}
	for i := range b.Publishes {
		m.published.add(b.Publishes[i].TopicName, b.Publishes[i].NodeName, 1)
	}
	for i := range b.Losses {
		row := &b.Losses[i]
		if row.Reason != trace.LossUnarmed {
			m.lost.add(string(row.Kind), string(row.Reason), float64(row.Count))
		}
	}
}

// callbackName is what a callback is called: its topic, else its function, else its kind.
func callbackName(row *trace.Callback) string {
	switch {
	case row.TopicName != "":
		return row.TopicName
	case row.Symbol != "":
		return row.Symbol
	}
	return string(row.Kind)
}

func seconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e9 }

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// names are the two labels of a series.
type names struct{ first, second string }

// bounded finds what is kept of each pair of names, up to maxSeries of them.
type bounded[V any] struct {
	mu      sync.Mutex
	known   map[names]V
	make    func(first, second string) V
	dropped prometheus.Counter
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
	value = b.make(first, second)
	b.known[key] = value
	return value, true
}

// series are histograms by two names.
type series struct {
	of *prometheus.HistogramVec
	bounded[prometheus.Observer]
}

// Buckets of classic histograms, for servers that do not ask for native ones.
var buckets = prometheus.ExponentialBuckets(10e-6, 4, 11) // from 10 µs to 10 s

func newSeries(options prometheus.HistogramOpts, dropped prometheus.Counter, labels ...string) *series {
	options.Buckets = buckets
	options.NativeHistogramBucketFactor, options.NativeHistogramMaxBucketNumber = 1.1, 100
	s := &series{of: prometheus.NewHistogramVec(options, labels)}
	s.bounded = bounded[prometheus.Observer]{known: map[names]prometheus.Observer{}, dropped: dropped}
	s.make = func(first, second string) prometheus.Observer {
		return s.of.WithLabelValues(plain(first), plain(second))
	}
	return s
}

func (s *series) observe(first, second string, value float64) {
	if of, ok := s.at(first, second); ok {
		of.Observe(value)
	}
}

// counters are counters by two names.
type counters struct {
	of *prometheus.CounterVec
	bounded[prometheus.Counter]
}

func newCounters(options prometheus.CounterOpts, dropped prometheus.Counter, labels ...string) *counters {
	c := &counters{of: prometheus.NewCounterVec(options, labels)}
	c.bounded = bounded[prometheus.Counter]{known: map[names]prometheus.Counter{}, dropped: dropped}
	c.make = func(first, second string) prometheus.Counter {
		return c.of.WithLabelValues(plain(first), plain(second))
	}
	return c
}

func (c *counters) add(first, second string, count float64) {
	if of, ok := c.at(first, second); ok {
		of.Add(count)
	}
}
