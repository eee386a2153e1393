package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// What metrics count of a recording is what its dataset has, for each node, callback and topic.
func TestMetricsOfARecording(t *testing.T) {
	requireRecording(t)
	prefix := fmt.Sprintf("metrics_%d", os.Getpid())
	node := standin.StartReady(t, standin.Config{
		Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: strings.Fields("--nodes 2 --topics 2 --rate 100 --threads 2 --prefix /" + prefix),
	})
	folder := t.TempDir()
	scraped, dir := filepath.Join(folder, "metrics.sock"), filepath.Join(folder, "rec")
	c := newCtl(t)
	done := c.record("--name", prefix, "-o", dir, "--metrics", socketPrefix+scraped)
	c.waitFor("rows", func(s control.Status) bool { return s.Rows[trace.TableCallback] >= 200 })
	node.Stop()
	c.waitFor("no process", func(s control.Status) bool { return s.Processes == 0 })
	c.ask(new(control.Status), "flush") // all rows have come
	families := scrapeAt(t, scraped)
	c.ask(new(control.Status), "stop")
	done()

	data := oracle.ReadDataset(t, dir)
	durations, ages, published := map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	for _, row := range data.Callbacks {
		called := row.TopicName
		if called == "" {
			called = row.Symbol
		}
		if called == "" {
			called = string(row.Kind)
		}
		if row.CallbackStartTimestamp.Valid && row.CallbackEndTimestamp.Valid {
			durations[fmt.Sprintf("callback=%s node=%s", called, row.NodeName)]++
		}
		if row.CallbackStartTimestamp.Valid && row.SourceTimestamp.Valid {
			ages[fmt.Sprintf("node=%s topic=%s", row.NodeName, row.TopicName)]++
		}
	}
	for _, row := range data.Publishes {
		published[fmt.Sprintf("node=%s topic=%s", row.NodeName, row.TopicName)]++
	}
	histogram := func(m *dto.Metric) uint64 { return m.Histogram.GetSampleCount() }
	for name, of := range map[string]struct {
		want  map[string]uint64
		count func(*dto.Metric) uint64
	}{
		"caret_bpf_callback_duration_seconds": {durations, histogram},
		"caret_bpf_message_age_seconds":       {ages, histogram},
		"caret_bpf_messages_published_total":  {published, func(m *dto.Metric) uint64 { return uint64(m.Counter.GetValue()) }},
	} {
		got := map[string]uint64{}
		for _, m := range families[name].GetMetric() {
			var labels []string
			for _, label := range m.Label { // in alphabetical order
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			got[strings.Join(labels, " ")] = of.count(m)
		}
		if !maps.Equal(got, of.want) || len(got) < 4 {
			t.Errorf("%s: scraped\n%v, the dataset has\n%v", name, got, of.want)
		}
	}
	lost := 0.0
	for _, m := range families["caret_bpf_lost_records_total"].GetMetric() {
		lost += m.Counter.GetValue()
	}
	if lost != 0 || len(data.Lost()) != 0 {
		t.Errorf("lost: %v, in the dataset %v", lost, data.Lost())
	}
}

// scrapeAt scrapes at a Unix socket, and returns the families by their names.
func scrapeAt(t *testing.T, path string) map[string]*dto.MetricFamily {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}
