package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/live"
	"github.com/caret-bpf/caret-bpf/trace"
)

var errOver = errors.New("it is over")

// fake is a recording that notes what it was asked to do.
type fake struct {
	flushes, stops atomic.Int64
	failure        error         // set while nobody asks
	takes          time.Duration // what a flush or a snapshot takes
}

func (f *fake) work(ctx context.Context) error {
	select {
	case <-time.After(f.takes):
		return f.failure
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) Status() Status {
	return Status{PID: 1, Version: "v1", Output: "rec", State: "recording", Rows: map[string]uint64{"callback": 3}, Overhead: 0.01,
		Uploads: &Uploads{To: "s3://fleet", Arrived: 2, Waiting: 1, WaitingBytes: 7, Failed: 1, Reason: "nobody answers", OfflineSinceNs: 5, Sent: 1, SentBytes: 9},
	}
}

func (f *fake) Sources(context.Context, uint32) ([]Source, error) {
	return []Source{{PID: 7, NamespacePID: 7, Command: "talker", Events: 3, Missing: []string{}}}, f.failure
}

func (f *fake) Live(_ context.Context, r LiveRequest) (live.Snapshot, error) {
	of := live.Durations{P50: trace.Some(int64(7)), P99: trace.Some(int64(8))}
	return live.Snapshot{
		EndNs: r.SpanNs, Callbacks: []live.Callback{{Node: "/talker", Kind: trace.KindTimer, Durations: of}},
		Topics: []live.Topic{{Topic: "/chatter", Lost: trace.Some(uint64(0))}}, Nodes: []live.Node{{Node: "/talker"}},
		Paths: []live.Path{{From: "a", To: "b", Durations: of}},
	}, f.failure
}

func (f *fake) Start(ctx context.Context) error { return f.work(ctx) }

func (f *fake) Flush(ctx context.Context) error {
	f.flushes.Add(1)
	return f.work(ctx)
}

func (f *fake) Stop() { f.stops.Add(1) }

func (f *fake) Snapshot(ctx context.Context, r SnapshotRequest) (Snapshot, error) {
	if r.EndNs < r.BeginNs {
		return Snapshot{}, fmt.Errorf("%w: it ends before it begins", ErrRequest)
	}
	return Snapshot{Output: "snap", BeginNs: r.BeginNs, EndNs: r.EndNs, Rows: map[string]uint64{"callback": 2}}, f.work(ctx)
}

func (f *fake) Rotate(ctx context.Context, r RotationRequest) (Snapshot, error) {
	return Snapshot{Output: r.Output, Rows: map[string]uint64{}}, f.work(ctx)
}

func (f *fake) Settings() (Settings, error) {
	none := []string{}
	return Settings{Profile: "standard", SelectNodes: none, IgnoreNodes: []string{"^/x"}, SelectTopics: none, IgnoreTopics: none}, f.failure
}

func (f *fake) Change(_ context.Context, change SettingsChange) (Settings, error) {
	s, err := f.Settings()
	if change.Profile != nil {
		s.Profile = *change.Profile
	}
	if change.IgnoreNodes != nil {
		s.IgnoreNodes = *change.IgnoreNodes
	}
	return s, err
}

func (f *fake) Targets() []Target { return []Target{{PID: 7, ProcessStart: 8, Command: "talker"}} }

func (f *fake) Add(_ context.Context, pid int32, user uint32) error {
	if pid == 1 || user != uint32(os.Geteuid()) {
		return fmt.Errorf("%w: PID %d for user %d", ErrRequest, pid, user)
	}
	return f.failure
}

func (f *fake) Remove(context.Context, int32) error { return f.failure }

func (f *fake) Probes() ([]Probe, error) {
	return []Probe{{Event: "callback_start", File: "librclcpp.so", Offset: 16, CostNs: 620, PIDs: []int{}}}, f.failure
}

func (f *fake) Triggers() []Trigger {
	return []Trigger{{Name: "slow", Definition: "callback over=1s", Fired: 3, Output: "snap", Failed: 1}}
}

func (f *fake) Fire(name, _ string) error {
	if name != "slow" {
		return fmt.Errorf("%w: trigger %s", ErrUnknown, name)
	}
	return f.failure
}

func serveFake(t *testing.T, f *fake) (path string, server *Server) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "recording.sock")
	listener, err := Listen(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	server = Serve(listener, f, func(err error) bool { return errors.Is(err, errOver) })
	t.Cleanup(func() { _ = server.Close() })
	return path, server
}

func TestRequests(t *testing.T) {
	f := new(fake)
	path, server := serveFake(t, f)
	client := NewClient(path)
	for name, ask := range map[string]func(context.Context) (Status, error){
		"status": client.Status, "start": client.Start, "flush": client.Flush, "stop": client.Stop,
	} {
		s, err := ask(t.Context())
		if err != nil || s.PID != 1 || s.Rows["callback"] != 3 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if f.flushes.Load() != 1 || f.stops.Load() != 1 {
		t.Errorf("%d flushes and %d stops", f.flushes.Load(), f.stops.Load())
	}
	if made, err := client.Snapshot(t.Context(), SnapshotRequest{BeginNs: 1, EndNs: 2}); err != nil || made.Output != "snap" || made.EndNs != 2 {
		t.Errorf("snapshot: %+v, %v", made, err)
	}
	if _, err := client.Snapshot(t.Context(), SnapshotRequest{BeginNs: 3, EndNs: 2}); !errors.Is(err, ErrRefused) {
		t.Errorf("a snapshot of nothing: %v", err)
	}
	if made, err := client.Rotate(t.Context(), RotationRequest{Output: "/part"}); err != nil || made.Output != "/part" {
		t.Errorf("rotate: %+v, %v", made, err)
	}
	if now, err := client.Settings(t.Context()); err != nil || now.Profile != "standard" || len(now.IgnoreNodes) != 1 {
		t.Errorf("settings: %+v, %v", now, err)
	}
	minimal := "minimal"
	if now, err := client.Change(t.Context(), SettingsChange{Profile: &minimal}); err != nil || now.Profile != minimal || len(now.IgnoreNodes) != 1 {
		t.Errorf("another profile: %+v, %v", now, err)
	}
	if now, err := client.Change(t.Context(), SettingsChange{IgnoreNodes: &[]string{}}); err != nil || now.Profile != "standard" || len(now.IgnoreNodes) != 0 {
		t.Errorf("no filter: %+v, %v", now, err)
	}
	if now, err := client.Live(t.Context(), LiveRequest{SpanNs: 5}); err != nil || now.EndNs != 5 || now.Callbacks[0].P99 != trace.Some(int64(8)) || now.Callbacks[0].Max.Valid {
		t.Errorf("live: %+v, %v", now, err)
	}
	for name, ask := range map[string]func() (Targets, error){
		"targets": func() (Targets, error) { return client.Targets(t.Context()) },
		"add":     func() (Targets, error) { return client.Add(t.Context(), 7) },
		"remove":  func() (Targets, error) { return client.Remove(t.Context(), 8) },
	} {
		if now, err := ask(); err != nil || len(now.Targets) != 1 || now.Targets[0].PID != 7 {
			t.Errorf("%s: %+v, %v", name, now, err)
		}
	}
	if _, err := client.Add(t.Context(), 1); !errors.Is(err, ErrRefused) {
		t.Errorf("add what cannot be: %v", err)
	}
	if all, err := client.Sources(t.Context()); err != nil || len(all) != 1 || all[0].PID != 7 || all[0].Command != "talker" || all[0].Events != 3 {
		t.Errorf("sources: %+v, %v", all, err)
	}
	if all, err := client.Probes(t.Context()); err != nil || len(all) != 1 || all[0].Event != "callback_start" || all[0].CostNs != 620 {
		t.Errorf("probes: %+v, %v", all, err)
	}
	if all, err := client.Triggers(t.Context()); err != nil || len(all) != 1 || all[0].Fired != 3 || all[0].Output != "snap" || all[0].Failed != 1 {
		t.Errorf("triggers: %+v, %v", all, err)
	}
	if all, err := client.Fire(t.Context(), "slow", FireRequest{"a test"}); err != nil || len(all) != 1 {
		t.Errorf("fire: %+v, %v", all, err)
	}
	if _, err := client.Fire(t.Context(), "no/such", FireRequest{}); !errors.Is(err, ErrRefused) {
		t.Errorf("fire what there is not: %v", err)
	}
	f.failure = errors.New("disk full")
	if _, err := client.Flush(t.Context()); !errors.Is(err, ErrRefused) {
		t.Errorf("a flush that fails: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if _, err := client.Status(t.Context()); !errors.Is(err, ErrNobody) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// What takes longer than a request may take to arrive is done nevertheless.
func TestLongRequests(t *testing.T) {
	const patience = 50 * time.Millisecond
	f := &fake{takes: 6 * patience}
	path := filepath.Join(t.TempDir(), "recording.sock")
	listener, err := Listen(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := serve(listener, f, func(error) bool { return false }, patience)
	defer func() { _ = server.Close() }()
	client := NewClient(path)
	if _, err := client.Flush(t.Context()); err != nil {
		t.Errorf("a flush: %v", err)
	}
	if made, err := client.Snapshot(t.Context(), SnapshotRequest{}); err != nil || made.Output != "snap" {
		t.Errorf("a snapshot: %+v, %v", made, err)
	}
}

// inDocument finds the operations of openapi.yaml.
func inDocument(t *testing.T) (*openapi3.T, routers.Router) {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	document.Servers = openapi3.Servers{{URL: "http://recording"}}
	router, err := legacy.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	return document, router
}

// described is a server whose requests and answers are held against openapi.yaml.
type described struct {
	t      *testing.T
	router routers.Router
	client http.Client
}

// ask sends a request, and returns the code of the answer, which has to be as described, and what is wrong with the
// request.
func (d *described) ask(of route, body []byte) (code int, wrong error) {
	d.t.Helper()
	request := func() *http.Request {
		r, err := http.NewRequestWithContext(d.t.Context(), of.method, "http://recording"+strings.Replace(of.path, "{name}", "slow", 1), bytes.NewReader(body))
		if err != nil {
			d.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	found, parameters, err := d.router.FindRoute(request())
	if err != nil {
		d.t.Fatalf("%s %s is served and not described: %v", of.method, of.path, err)
	}
	asked := &openapi3filter.RequestValidationInput{Request: request(), PathParams: parameters, Route: found}
	wrong = openapi3filter.ValidateRequest(d.t.Context(), asked)
	response, err := d.client.Do(request())
	if err != nil {
		d.t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		d.t.Fatal(err)
	}
	answered := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: asked, Status: response.StatusCode, Header: response.Header, Body: io.NopCloser(bytes.NewReader(answer)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(d.t.Context(), answered); err != nil {
		d.t.Errorf("%s %s: %v", of.method, of.path, err)
	}
	return response.StatusCode, wrong
}

// The server answers to what openapi.yaml describes, to all of it and to nothing else. Its examples are requests, and
// are answered as it says, also where something is refused. What it does not describe is refused.
func TestOpenAPI(t *testing.T) {
	document, router := inDocument(t)
	f := new(fake)
	path, _ := serveFake(t, f)
	d := &described{t, router, http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}}
	served := routes(f, func(error) bool { return false })
	operations := 0
	for _, item := range document.Paths.Map() {
		operations += len(item.Operations())
	}
	if operations != len(served) {
		t.Errorf("%d requests are described, and %d are served", operations, len(served))
	}
	for _, of := range served {
		item := document.Paths.Find(of.path)
		if item == nil || item.GetOperation(of.method) == nil {
			t.Errorf("%s %s is served and not described", of.method, of.path)
			continue
		}
		said := map[string]any{}
		body := item.GetOperation(of.method).RequestBody
		if body != nil {
			example, ok := body.Value.Content.Get("application/json").Example.(map[string]any)
			if !ok {
				t.Errorf("%s %s has no example", of.method, of.path)
				continue
			}
			said = example
		}
		encode := func() []byte {
			if len(said) == 0 {
				return nil
			}
			text, err := json.Marshal(said)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		for _, failure := range []error{nil, errOver, errors.New("disk full")} {
			f.failure = failure
			if code, wrong := d.ask(of, encode()); wrong != nil || failure == nil && code >= http.StatusMultipleChoices {
				t.Errorf("%s %s (%v): answered by %d, %v", of.method, of.path, failure, code, wrong)
			}
		}
		if of.method == http.MethodGet {
			continue
		}
		f.failure = nil
		said["unknown"] = 1
		if code, wrong := d.ask(of, encode()); code != http.StatusBadRequest || (wrong != nil) != (body != nil) {
			t.Errorf("%s %s, with an unknown word: answered by %d, %v", of.method, of.path, code, wrong)
		}
	}
	if f.stops.Load() != 3 {
		t.Errorf("%d stops: also where there was an unknown word", f.stops.Load())
	}
}

// What there is no path or no method for is answered in the form of all that is not done.
func TestWhatIsNotServed(t *testing.T) {
	path, _ := serveFake(t, new(fake))
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	for request, want := range map[string]int{
		"GET /v1/nothing": http.StatusNotFound, "GET /": http.StatusNotFound, "POST " + pathStatus: http.StatusMethodNotAllowed, "GET " + pathStop: http.StatusMethodNotAllowed,
	} {
		method, asked, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, "http://recording"+asked, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var problem Problem
		err = json.NewDecoder(got.Body).Decode(&problem)
		_ = got.Body.Close()
		if err != nil || got.StatusCode != want || got.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(problem.Error, request+": ") {
			t.Errorf("%s: %d, %v, %+v, %v", request, got.StatusCode, got.Header, problem, err)
		}
		if allowed := got.Header.Get("Allow"); (want == http.StatusMethodNotAllowed) != (allowed != "") {
			t.Errorf("%s: allowed is %q", request, allowed)
		}
	}
}

// Nobody but root and the owner gets an answer, whatever the permissions of the socket.
func TestStrangersAreNotAnswered(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("asking as another user needs root")
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	const owner, stranger = 12345, 54321
	folder, err := os.MkdirTemp("/tmp", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "recording.sock")
	listener, err := Listen(path, nil, &identity.Identity{User: owner, Group: owner})
	if err != nil {
		t.Fatal(err)
	}
	f := new(fake)
	server := Serve(listener, f, func(error) bool { return false })
	defer func() { _ = server.Close() }()
	ask := func(user uint32) error {
		command := exec.Command(curl, "-sSf", "-X", "POST", "--unix-socket", path, "http://recording"+pathStop)
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		return command.Run()
	}
	if err := ask(stranger); err == nil {
		t.Error("a stranger may connect")
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := ask(stranger); err == nil || f.stops.Load() != 0 {
		t.Errorf("a stranger is answered: %v, %d stops", err, f.stops.Load())
	}
	for _, user := range []uint32{owner, 0} {
		if err := ask(user); err != nil {
			t.Errorf("user %d: %v", user, err)
		}
	}
	if f.stops.Load() != 2 {
		t.Errorf("%d stops", f.stops.Load())
	}
}

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recording.sock")
	first, err := Listen(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	if _, err := Listen(path, nil, nil); !errors.Is(err, ErrSocket) {
		t.Errorf("one that is served: %v", err)
	}
	// A recorder that was killed leaves it.
	if err := first.(*listener).UnixListener.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Listen(path, nil, nil)
	if err != nil {
		t.Fatalf("one that was left: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, nil, nil); !errors.Is(err, ErrSocket) {
		t.Errorf("in the place of a file: %v", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "mine" {
		t.Errorf("the file has %q, %v", content, err)
	}
	if _, err := Listen(filepath.Join(path, "below"), nil, nil); !errors.Is(err, ErrSocket) {
		t.Errorf("below a file: %v", err)
	}
}
