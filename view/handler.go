package view

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

const (
	loopback = "127.0.0.1"
	// bearer precedes the token in the header Authorization. It is no cookie: those are sent to every port of a host, of
	// which another one may be another user's.
	bearer      = "Bearer "
	answersPath = "/api/"
	progressKey = "progress"
)

// policy lets a page load and ask nobody but its server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pageFiles are the files of a page and what they are.
var pageFiles = map[string]string{
	"index.html": "text/html; charset=utf-8",
	"app.js":     "text/javascript; charset=utf-8",
	"app.css":    "text/css; charset=utf-8",
}

// newToken returns a token that nobody guesses.
func newToken() string { return rand.Text() }

// handler serves a page and answers to who has the token.
type handler struct {
	view  *View
	page  fs.FS
	host  string
	token string
	room  chan struct{} // for requests that are answered
}

// NewHandler returns a handler for the page and the answers of a view. It answers only what is asked of the loopback
// address at that port, by its own page or by none, and gives answers only to who sends the token.
func NewHandler(v *View, page fs.FS, port int, token string) http.Handler {
	return &handler{
		view: v, page: page, token: token, host: fmt.Sprintf("%s:%d", loopback, port), room: make(chan struct{}, simultaneousRequests),
	}
}

// ServeHTTP answers a request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	switch {
	case r.Host != h.host:
		// The name of a foreign page may be made to lead here.
		refuse(w, http.StatusForbidden, "this server answers at http://"+h.host+" only")
	case !h.isOwn(r.Header):
		refuse(w, http.StatusForbidden, "another page's requests are not answered")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD are answered")
	default:
		h.answer(w, r)
	}
}

// isOwn tells whether a request is the page's own, or of no page.
func (h *handler) isOwn(header http.Header) bool {
	origin, site := header.Get("Origin"), header.Get("Sec-Fetch-Site")
	return (origin == "" || origin == "http://"+h.host) && (site == "" || site == "same-origin" || site == "none")
}

// isAdmitted tells whether who asks has the token.
func (h *handler) isAdmitted(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), bearer)
	return ok && h.isToken(token)
}

func (h *handler) isToken(text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(h.token)) == 1
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request) {
	text, isAnswer := strings.CutPrefix(r.URL.Path, answersPath)
	switch {
	case isAnswer && !h.isAdmitted(r):
		refuse(w, http.StatusForbidden, "open the address with the token that `caret-bpf view` has printed")
	case isAnswer:
		admit(r.Context())
		h.answerAdmitted(w, r, text)
	default:
		h.file(w, strings.TrimPrefix(r.URL.Path, "/"))
	}
}

// answerAdmitted answers who has the token.
func (h *handler) answerAdmitted(w http.ResponseWriter, r *http.Request, text string) {
	if text == progressKey {
		send(w, "application/json", encode(h.view.Progress()))
		return
	}
	h.answerKey(w, r, text)
}

func (h *handler) file(w http.ResponseWriter, name string) {
	if name == "" {
		name = "index.html"
	}
	kind, known := pageFiles[name]
	if !known {
		refuse(w, http.StatusNotFound, "there is no such page; the one that there is is at /")
		return
	}
	content, err := fs.ReadFile(h.page, name)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, kind, content)
}

func (h *handler) answerKey(w http.ResponseWriter, r *http.Request, text string) {
	select {
	case h.room <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	defer func() { <-h.room }()
	if r.URL.RawQuery != "" {
		text += "?" + r.URL.RawQuery
	}
	answer, err := h.view.Answer(r.Context(), text)
	switch {
	case err == nil:
		send(w, "application/json", answer)
	case r.Context().Err() != nil: // nobody waits
	default:
		refuse(w, statusOf(err), err.Error())
	}
}

// statusOf tells what an error means to who asked.
func statusOf(err error) int {
	switch {
	case errors.Is(err, ErrNoSuchKey):
		return http.StatusNotFound
	case errors.Is(err, ErrBadKey):
		return http.StatusBadRequest
	case errors.Is(err, system.ErrNoSuchName), errors.Is(err, analyze.ErrNothingSelected):
		return http.StatusUnprocessableEntity
	case errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// sendingTime is how long sending an answer may take.
const sendingTime = time.Minute

func send(w http.ResponseWriter, kind string, content []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendingTime)) // a test's writer has none
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content)
}

// refuse answers with an error, which is a sentence.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Connection", "close") // others wait for it
	w.WriteHeader(status)
	_, _ = w.Write(encode(map[string]string{"error": withoutMiddle(text)}))
}

// longestSentence is how many bytes may be said of an error: some tell what was asked.
const longestSentence = 2000

// withoutMiddle leaves out the middle of a sentence that is too long.
func withoutMiddle(text string) string {
	if len(text) <= longestSentence {
		return text
	}
	const end = longestSentence / 2
	return strings.ToValidUTF8(text[:end], "") + " … " + strings.ToValidUTF8(text[len(text)-end:], "")
}

// encode encodes what can always be encoded.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
