package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// plain is a name as a label may have it: labels are UTF-8.
func plain(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// What is told of the state.
var (
	processes = describe("caret_bpf_recorded_processes", "Processes that are recorded now.")
	keptRows  = describe("caret_bpf_kept_rows", "Rows of the dataset, without those that were removed.", "table")
	unarmed   = describe("caret_bpf_unprobed_files_total", "Files that a process had mapped while they were not probed.")
	overhead  = describe("caret_bpf_overhead_ratio", "Highest share of its time that recording has cost a thread in the last second.")
	buffer    = describe("caret_bpf_buffer_bytes", "Size of the kernel's buffer.")
	pending   = describe("caret_bpf_buffer_pending_bytes", "What waits in the kernel's buffer.")
	peak      = describe("caret_bpf_buffer_peak_bytes", "The most that ever waited in the kernel's buffer.")
	firings   = describe("caret_bpf_trigger_firings_total", "How often a trigger was acted upon.", "trigger")
	waiting   = describe("caret_bpf_upload_waiting_datasets", "Finished datasets that have not arrived in the lake.")
	toSend    = describe("caret_bpf_upload_waiting_bytes", "Bytes of the finished datasets that have not arrived in the lake.")
	failed    = describe("caret_bpf_upload_failed_datasets", "Finished datasets that could not be put into the lake.")
	offline   = describe("caret_bpf_upload_offline_seconds", "For how long the lake cannot be used; 0: it could when it was last asked.")
	sent      = describe("caret_bpf_uploads_total", "Datasets that were put into the lake.")
	sentBytes = describe("caret_bpf_uploaded_bytes_total", "Bytes of the datasets in the lake that were put there.")
	quiet     = describe("caret_bpf_trigger_suppressions_total", "How often a trigger came and was not acted upon.", "trigger")
	failures  = describe("caret_bpf_trigger_failed_actions_total", "Actions of a trigger that were not done, or not to their end.", "trigger")
)

// stateCollector asks for the state at each scrape.
type stateCollector struct{ state func() State }

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{processes, keptRows, unarmed, overhead, buffer, pending, peak, firings, quiet, failures, waiting, toSend, failed, offline, sent, sentBytes} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(to chan<- prometheus.Metric) {
	s := c.state()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	gauge(processes, float64(s.Processes))
	for table, rows := range s.Rows {
		gauge(keptRows, float64(rows), table)
	}
	counter(unarmed, float64(s.Unarmed))
	gauge(overhead, s.Overhead)
	gauge(buffer, float64(s.BufferBytes))
	gauge(pending, float64(s.BufferPending))
	gauge(peak, float64(s.BufferPeak))
	for _, t := range s.Triggers {
		counter(firings, float64(t.Fired), t.Name)
		counter(quiet, float64(t.Suppressed), t.Name)
		counter(failures, float64(t.Failed), t.Name)
	}
	if u := s.Uploads; u != nil {
		gauge(waiting, float64(u.Waiting))
		gauge(toSend, float64(u.WaitingBytes))
		gauge(failed, float64(u.Failed))
		since := 0.0
		if u.OfflineSince != 0 {
			since = time.Since(time.Unix(0, u.OfflineSince)).Seconds()
		}
		gauge(offline, since)
		counter(sent, float64(u.Sent))
		counter(sentBytes, float64(u.SentBytes))
	}
}
