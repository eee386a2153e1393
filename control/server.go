package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/caret-bpf/caret-bpf/live"
)

// Recording is what is served.
type Recording interface {
	Status() Status
	// Sources are the processes that could be recorded for a user.
	Sources(ctx context.Context, user uint32) ([]Source, error)
	// Live tells what there was of late.
	Live(ctx context.Context, r LiveRequest) (live.Snapshot, error)
	// Start begins a recording that waits for it, and returns when it has begun.
	Start(ctx context.Context) error
	// Flush returns when all that was recorded before the call is on disk.
	Flush(ctx context.Context) error
	// Stop has the recording end, and does not wait.
	Stop()
	// Snapshot copies what was recorded.
	Snapshot(ctx context.Context, r SnapshotRequest) (Snapshot, error)
	// Rotate moves what was recorded so far into a dataset of its own.
	Rotate(ctx context.Context, r RotationRequest) (Snapshot, error)
	// Settings are those of now.
	Settings() (Settings, error)
	// Change gives the recording other settings, and returns when they have taken effect.
	Change(ctx context.Context, change SettingsChange) (Settings, error)
	// Targets are the processes that are recorded now.
	Targets() []Target
	// Add begins to record a process for a user, and returns when everything is recorded of it. Remove ends that.
	Add(ctx context.Context, pid int32, user uint32) error
	Remove(ctx context.Context, pid int32) error
	// Probes are where processes are probed now.
	Probes() ([]Probe, error)
	// Triggers says what is waited for, and what came of it.
	Triggers() []Trigger
	// Fire has done what a trigger asks for, within its bounds.
	Fire(name, reason string) error
}

// ErrRequest is wrapped by errors of requests that ask for what makes no sense.
var ErrRequest = errors.New("wrong request")

// ErrUnknown is wrapped by errors of requests for what there is not.
var ErrUnknown = errors.New("there is no such thing")

const (
	// maxRequest bounds what is read of a request, in bytes. There are no large ones.
	maxRequest = 16 << 10
	// requestPatience is how long one may take to arrive, and idlePatience how long a connection may wait for the next.
	requestPatience = 10 * time.Second
	idlePatience    = time.Minute
	// These bound what is done because of a request.
	askPatience      = time.Minute
	startPatience    = time.Minute
	changePatience   = time.Minute
	flushPatience    = time.Minute
	snapshotPatience = 10 * time.Minute
)

// Server answers requests to one recording.
type Server struct {
	http  http.Server
	ended chan struct{}
}

// Serve answers requests until Close is called. unavailable tells which errors of the recording say that it cannot do
// something now, because it has not begun or has ended.
func Serve(on net.Listener, recording Recording, unavailable func(error) bool) *Server {
	return serve(on, recording, unavailable, requestPatience)
}

func serve(on net.Listener, recording Recording, unavailable func(error) bool, patience time.Duration) *Server {
	s := &Server{ended: make(chan struct{})}
	s.http = http.Server{
		Handler: handler(recording, unavailable), ReadTimeout: patience, IdleTimeout: idlePatience, MaxHeaderBytes: maxRequest,
		ConnContext: withAsker,
	}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(on) // it ends by Close; a socket that fails is no reason to end a recording
	}()
	return s
}

// Close ends the answering, lets what is under way finish for a moment, and removes the socket.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.ended
	return err
}

// route is a request that is answered.
type route struct {
	method, path string
	answer       http.HandlerFunc
}

func handler(recording Recording, unavailable func(error) bool) http.Handler {
	answers := http.NewServeMux()
	for _, r := range routes(recording, unavailable) {
		answers.HandleFunc(r.method+" "+r.path, r.answer)
	}
	return http.MaxBytesHandler(explainRefusals(answers), maxRequest)
}

// explainRefusals answers what there is no route for as all else that fails.
func explainRefusals(answers *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := answers.Handler(r); pattern != "" {
			answers.ServeHTTP(w, r)
			return
		}
		refused := &refusal{header: w.Header(), code: http.StatusNotFound}
		answers.ServeHTTP(refused, r)
		answer(w, refused.code, Problem{fmt.Sprintf("%s %s: %s", r.Method, r.URL.Path, http.StatusText(refused.code))})
	})
}

// refusal takes the code and the header of an answer, and no text.
type refusal struct {
	header http.Header
	code   int
}

func (r *refusal) Header() http.Header            { return r.header }
func (r *refusal) WriteHeader(code int)           { r.code = code }
func (r *refusal) Write(text []byte) (int, error) { return len(text), nil }

// routes are all requests that are answered.
func routes(recording Recording, unavailable func(error) bool) []route {
	refuse := func(w http.ResponseWriter, err error) {
		code := http.StatusInternalServerError
		switch {
		case errors.Is(err, ErrRequest):
			code = http.StatusBadRequest
		case errors.Is(err, ErrUnknown):
			code = http.StatusNotFound
		case unavailable(err):
			code = http.StatusConflict
		}
		answer(w, code, Problem{err.Error()})
	}
	changeTargets := func(change func(context.Context, int32) error) http.HandlerFunc {
		return does(refuse, changePatience, func(ctx context.Context, asked TargetRequest) (Targets, error) {
			err := change(ctx, asked.PID)
			return Targets{recording.Targets()}, err
		})
	}
	return []route{
		{http.MethodGet, pathStatus, tells(refuse, func(context.Context) (Status, error) { return recording.Status(), nil })},
		{http.MethodGet, pathSources, tells(refuse, func(ctx context.Context) (Sources, error) {
			found, err := recording.Sources(ctx, askerOf(ctx))
			return Sources{found}, err
		})},
		{http.MethodPost, LivePath, does(refuse, askPatience, recording.Live)},
		{http.MethodPost, pathStart, does(refuse, startPatience, func(ctx context.Context, _ nothing) (Status, error) {
			err := recording.Start(ctx)
			return recording.Status(), err
		})},
		{http.MethodPost, pathFlush, does(refuse, flushPatience, func(ctx context.Context, _ nothing) (Status, error) {
			err := recording.Flush(ctx)
			return recording.Status(), err
		})},
		{http.MethodPost, pathSnapshot, does(refuse, snapshotPatience, recording.Snapshot)},
		{http.MethodPost, pathRotate, does(refuse, snapshotPatience, recording.Rotate)},
		{http.MethodGet, pathSettings, tells(refuse, func(context.Context) (Settings, error) { return recording.Settings() })},
		{http.MethodPost, pathSettings, does(refuse, changePatience, recording.Change)},
		{http.MethodGet, pathTargets, tells(refuse, func(context.Context) (Targets, error) { return Targets{recording.Targets()}, nil })},
		{http.MethodPost, pathAdd, changeTargets(func(ctx context.Context, pid int32) error { return recording.Add(ctx, pid, askerOf(ctx)) })},
		{http.MethodPost, pathRemove, changeTargets(recording.Remove)},
		{http.MethodGet, pathProbes, tells(refuse, func(context.Context) (Probes, error) {
			all, err := recording.Probes()
			return Probes{all}, err
		})},
		{http.MethodGet, pathTriggers, tells(refuse, func(context.Context) (Triggers, error) { return Triggers{recording.Triggers()}, nil })},
		{http.MethodPost, pathFire, accepts(refuse, func(r *http.Request, asked FireRequest) (Triggers, error) {
			err := recording.Fire(r.PathValue("name"), asked.Reason)
			return Triggers{recording.Triggers()}, err
		})},
		{http.MethodPost, pathStop, accepts(refuse, func(*http.Request, nothing) (Status, error) {
			recording.Stop()
			return recording.Status(), nil
		})},
	}
}

// tells answers questions, which need no words.
func tells[Answer any](refuse func(http.ResponseWriter, error), tell func(context.Context) (Answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		takeTime(w)
		ctx, cancel := context.WithTimeout(r.Context(), askPatience)
		defer cancel()
		told, err := tell(ctx)
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, http.StatusOK, told)
	}
}

// accepts answers requests that are not waited for.
func accepts[Request, Answer any](
	refuse func(http.ResponseWriter, error), do func(*http.Request, Request) (Answer, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked Request
		err := decode(r, &asked)
		var accepted Answer
		if err == nil {
			accepted, err = do(r, asked)
		}
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, http.StatusAccepted, accepted)
	}
}

// nothing is what a request says that needs no words.
type nothing struct{}

// does answers requests with what becomes of them, within patience.
func does[Request, Answer any](
	refuse func(http.ResponseWriter, error), patience time.Duration, do func(context.Context, Request) (Answer, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked Request
		if err := decode(r, &asked); err != nil {
			refuse(w, err)
			return
		}
		takeTime(w)
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		done, err := do(ctx, asked)
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, http.StatusOK, done)
	}
}

// takeTime has a request not be given up because nothing more comes of it. It is called when it has arrived.
func takeTime(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // else it is given up sooner
}

// decode reads what a request says, which may be nothing. What it says that is not known is an error.
func decode(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return nil
}

func answer(w http.ResponseWriter, code int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(content) // who has asked may be gone
}
