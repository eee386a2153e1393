package control

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"
)

// Recording is what is served.
type Recording interface {
	Status() Status
	// Flush returns when all that was recorded before the call is on disk.
	Flush(ctx context.Context) error
	// Stop has the recording end, and does not wait.
	Stop()
}

const (
	// maxRequest bounds what is read of a request, in bytes. There are no large ones.
	maxRequest = 16 << 10
	// requestPatience is how long one may take to arrive, and idlePatience how long a connection may wait for the next.
	requestPatience = 10 * time.Second
	idlePatience    = time.Minute
	// flushPatience bounds a flush.
	flushPatience = time.Minute
)

// Server answers requests to one recording.
type Server struct {
	http  http.Server
	ended chan struct{}
}

// Serve answers requests until Close is called. unavailable tells which errors of the recording say that it cannot do
// something now, because it has not begun or has ended.
func Serve(on net.Listener, recording Recording, unavailable func(error) bool) *Server {
	s := &Server{ended: make(chan struct{})}
	s.http = http.Server{
		Handler: handler(recording, unavailable), ReadTimeout: requestPatience, IdleTimeout: idlePatience, MaxHeaderBytes: maxRequest,
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

func handler(recording Recording, unavailable func(error) bool) http.Handler {
	answers := http.NewServeMux()
	answers.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, recording.Status())
	})
	answers.HandleFunc("POST "+pathFlush, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), flushPatience)
		defer cancel()
		switch err := recording.Flush(ctx); {
		case err == nil:
			answer(w, http.StatusOK, recording.Status())
		case unavailable(err):
			answer(w, http.StatusConflict, Problem{err.Error()})
		default:
			answer(w, http.StatusInternalServerError, Problem{err.Error()})
		}
	})
	answers.HandleFunc("POST "+pathStop, func(w http.ResponseWriter, _ *http.Request) {
		recording.Stop()
		answer(w, http.StatusAccepted, recording.Status())
	})
	return http.MaxBytesHandler(answers, maxRequest)
}

func answer(w http.ResponseWriter, code int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(content) // who has asked may be gone
}
