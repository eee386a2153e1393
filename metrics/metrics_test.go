package metrics_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/caret-bpf/caret-bpf/metrics"
	"github.com/caret-bpf/caret-bpf/trace"
)

// scrape returns the families by their names, as text and as parsed.
func scrape(t *testing.T, m *metrics.Metrics) (text string, families map[string]*dto.MetricFamily) {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	text = answer.Body.String()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return text, families
}

func state() metrics.State {
	return metrics.State{
		Processes: 2, Rows: map[string]uint64{"callback": 7}, Unarmed: 1, Overhead: 0.25, BufferBytes: 100, BufferPending: 3, BufferPeak: 9,
		Triggers: []trace.TriggerCount{{Name: "slow", Fired: 4, Suppressed: 5, Failed: 6}},
		Uploads:  &trace.Uploads{Waiting: 6, WaitingBytes: 600, Failed: 2, Sent: 8, SentBytes: 80},
	}
}

func TestMetrics(t *testing.T) {
	m := metrics.New("v1", state)
	callback := trace.Callback{
		NodeName: "/a", TopicName: "/scan", Symbol: "f()", CallbackStartTimestamp: trace.Some(int64(3e9)), CallbackEndTimestamp: trace.Some(int64(5e9)),
		SourceTimestamp: trace.Some(int64(2.5e9)),
	}
	timer := callback
	timer.TopicName, timer.SourceTimestamp = "", trace.Optional[int64]{}
	unknown := timer
	unknown.Symbol, unknown.Kind, unknown.NodeName = "", trace.KindTimer, ""
	open := callback
	open.CallbackEndTimestamp = trace.Optional[int64]{}
	broken := timer
	broken.NodeName = "/\xff\"\n"
	m.Look(&trace.Batch{
		Callbacks: []trace.Callback{callback, callback, timer, unknown, open, broken},
		Publishes: []trace.Publish{{TopicName: "/scan", NodeName: "/b"}, {TopicName: "/scan", NodeName: "/b"}},
		Losses:    []trace.Loss{{Kind: "callback", Reason: "ring_full", Count: 3}, {Reason: trace.LossUnarmed, Count: 1}},
	})
	text, _ := scrape(t, m)
	for _, want := range []string{
		`caret_bpf_callback_duration_seconds_count{callback="/scan",node="/a"} 2`, `caret_bpf_callback_duration_seconds_sum{callback="/scan",node="/a"} 4`,
		`caret_bpf_callback_duration_seconds_count{callback="f()",node="/a"} 1`, `caret_bpf_callback_duration_seconds_count{callback="timer",node=""} 1`,
		`caret_bpf_callback_duration_seconds_count{callback="f()",node="/` + "\uFFFD" + `\"\n"} 1`,
		`caret_bpf_message_age_seconds_sum{node="/a",topic="/scan"} 1.5`,
		`caret_bpf_messages_published_total{node="/b",topic="/scan"} 2`, `caret_bpf_lost_records_total{kind="callback",reason="ring_full"} 3`,
		`caret_bpf_build_info{version="v1"} 1`, `caret_bpf_recorded_processes 2`, `caret_bpf_kept_rows{table="callback"} 7`, `caret_bpf_unprobed_files_total 1`,
		`caret_bpf_overhead_ratio 0.25`, `caret_bpf_buffer_bytes 100`, `caret_bpf_buffer_pending_bytes 3`, `caret_bpf_buffer_peak_bytes 9`,
		`caret_bpf_trigger_firings_total{trigger="slow"} 4`, `caret_bpf_trigger_suppressions_total{trigger="slow"} 5`, `caret_bpf_trigger_failed_actions_total{trigger="slow"} 6`,
		`caret_bpf_dropped_observations_total 0`,
		`caret_bpf_upload_waiting_datasets 6`, `caret_bpf_upload_waiting_bytes 600`, `caret_bpf_upload_failed_datasets 2`, `caret_bpf_upload_offline_seconds 0`,
		`caret_bpf_uploads_total 8`, `caret_bpf_uploaded_bytes_total 80`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "unarmed") {
		t.Error("files that are not probed count as lost records")
	}
}

// Each loss that can be counted is told from the beginning: what comes into being with the first loss has no rate, and
// nobody can be warned of it.
func TestLossesBeginWithZero(t *testing.T) {
	_, families := scrape(t, metrics.New("v1", state))
	told := map[string]float64{}
	for _, metric := range families["caret_bpf_lost_records_total"].GetMetric() {
		labels := metric.GetLabel() // by name
		told[labels[0].GetValue()+" "+labels[1].GetValue()] = metric.GetCounter().GetValue()
	}
	for _, kind := range trace.LossKinds() {
		for _, reason := range trace.LossReasons() {
			pair := string(kind) + " " + string(reason)
			if count, ok := told[pair]; !ok || count != 0 {
				t.Errorf("%s: %v, %v", pair, count, ok)
			}
			delete(told, pair)
		}
	}
	if len(told) > 0 {
		t.Errorf("there is also %v", told)
	}
}

// However many names there are, each metric has a bound of series, and what is beyond is counted.
func TestSeriesAreBounded(t *testing.T) {
	m := metrics.New("v1", state)
	for i := range 2500 {
		m.Look(&trace.Batch{Publishes: []trace.Publish{{TopicName: fmt.Sprint("/t", i)}}})
	}
	_, families := scrape(t, m)
	if got := len(families["caret_bpf_messages_published_total"].Metric); got != 2000 {
		t.Errorf("%d series", got)
	}
	if got := families["caret_bpf_dropped_observations_total"].Metric[0].Counter.GetValue(); got != 500 {
		t.Errorf("%v were dropped", got)
	}
}

// A server that asks for protobuf gets native histograms: all that was observed is in buckets that are at most a tenth
// wider than the next smaller ones.
func TestNativeHistograms(t *testing.T) {
	m := metrics.New("v1", state)
	const second = int64(1e9)
	for duration := second / 1000; duration < 100*second; duration *= 2 {
		m.Look(&trace.Batch{Callbacks: []trace.Callback{{
			NodeName: "/a", TopicName: "/scan", SourceTimestamp: trace.Some(second),
			CallbackStartTimestamp: trace.Some(second + duration), CallbackEndTimestamp: trace.Some(second + 2*duration),
		}}})
	}
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)
	request.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, request)
	decoder := expfmt.NewDecoder(answer.Body, expfmt.ResponseFormat(answer.Header()))
	native := 0
	for {
		var family dto.MetricFamily
		err := decoder.Decode(&family)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if family.GetType() != dto.MetricType_HISTOGRAM {
			continue
		}
		native++
		h := family.Metric[0].Histogram
		counted, inBucket := h.GetZeroCount(), int64(0)
		for _, delta := range h.PositiveDelta {
			inBucket += delta
			counted += uint64(inBucket)
		}
		if width := math.Exp2(math.Exp2(-float64(h.GetSchema()))); width > 1.1 || counted != 17 || h.GetSampleCount() != 17 {
			t.Errorf("%s: a bucket is %v times the next smaller one, and %d of %d are in buckets", family.GetName(), width, counted, h.GetSampleCount())
		}
	}
	if native != 2 {
		t.Errorf("%d histograms", native)
	}
}

// The dashboard asks for what there is, and for all of it.
func TestDashboard(t *testing.T) {
	m := metrics.New("v1", state)
	row := trace.Callback{CallbackStartTimestamp: trace.Some(int64(2)), CallbackEndTimestamp: trace.Some(int64(3)), SourceTimestamp: trace.Some(int64(1))}
	m.Look(&trace.Batch{Callbacks: []trace.Callback{row}, Publishes: make([]trace.Publish, 1), Losses: make([]trace.Loss, 1)})
	_, families := scrape(t, m)
	dashboard, err := os.ReadFile("../packaging/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`caret_bpf_[a-z_]+`).FindAllString(string(dashboard), -1)
	for _, name := range asked {
		if families[name] == nil {
			t.Errorf("the dashboard asks for %s, which there is not", name)
		}
	}
	for name := range families {
		if !slices.Contains(asked, name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}
