package view_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/view"
)

const (
	port  = 4321
	token = "THETOKEN"
	own   = "127.0.0.1:4321"
)

// page is as small as a page can be.
var page = fstest.MapFS{
	"index.html": {Data: []byte("<!doctype html>\n<html><head>\n<meta charset=\"utf-8\">\n<link rel=\"stylesheet\" href=\"app.css\">\n</head><body>\n<div id=\"app\"></div>\n<script src=\"app.js\"></script>\n</body></html>\n")},
	"app.js":     {Data: []byte("document.title = 'page';")},
	"app.css":    {Data: []byte("body { margin: 0 }")},
}

func newHandler(t *testing.T) http.Handler {
	t.Helper()
	return view.NewHandler(open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 2000)}}), page, port, token)
}

// get asks as the page does, changed as a test wants.
func get(h http.Handler, path string, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = own
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// Only who has the token, and asks the loopback address for it, gets an answer.
func TestRequests(t *testing.T) {
	h := newHandler(t)
	without := func(r *http.Request) { r.Header.Del("Authorization") }
	with := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, test := range map[string]struct {
		path   string
		change func(*http.Request)
		code   int
		says   string
	}{
		"the page":             {"/", nil, 200, `<div id="app">`},
		"its script":           {"/app.js", nil, 200, "document.title"},
		"its style":            {"/app.css", nil, 200, "margin"},
		"without the token":    {"/", without, 200, `<div id="app">`},
		"a script without it":  {"/app.js", without, 200, "document.title"},
		"by its address":       {"/", with("Sec-Fetch-Site", "none"), 200, ""},
		"as localhost":         {"/", func(r *http.Request) { r.Host = "localhost:4321" }, 403, "http://" + own},
		"a link elsewhere":     {"/", with("Sec-Fetch-Site", "cross-site"), 403, "another page"},
		"another port's page":  {"/api/recording", with("Sec-Fetch-Site", "same-site"), 403, "another page"},
		"an answer":            {"/api/recording", nil, 200, `"levels"`},
		"an answer with parts": {"/api/tile?level=0&index=0", nil, 200, `"exact":true`},
		"progress":             {"/api/progress", nil, 200, `"total"`},
		"from its own page":    {"/api/recording", func(r *http.Request) { r.Header.Set("Origin", "http://"+own) }, 200, ""},
		"HEAD":                 {"/", func(r *http.Request) { r.Method = http.MethodHead }, 200, ""},
		"another file":         {"/package.json", nil, 404, "no such page"},
		"a way up":             {"/../go.mod", nil, 404, "no such page"},
		"another key":          {"/api/everything", nil, 404, "no such answer"},
		"a wrong key":          {"/api/tile?level=0&index=1", nil, 400, "index is a number"},
		"an unknown name":      {"/api/path?path=%5B%2Fno%5D", nil, 422, "no such topic or node"},
		"a long unknown name":  {"/api/path?path=%5B%2F" + strings.Repeat("no", 15_000) + "%5D", nil, 422, "no … no"},
		"another host":         {"/", func(r *http.Request) { r.Host = "evil.example:4321" }, 403, "http://" + own},
		"another port":         {"/", func(r *http.Request) { r.Host = "127.0.0.1:80" }, 403, "http://" + own},
		"no port":              {"/", func(r *http.Request) { r.Host = "localhost" }, 403, "http://" + own},
		"another page":         {"/api/recording", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403, "another page"},
		"a page in a file":     {"/api/recording", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403, "another page"},
		"another scheme":       {"/api/recording", func(r *http.Request) { r.Header.Set("Origin", "https://"+own) }, 403, "another page"},
		"POST":                 {"/api/recording", func(r *http.Request) { r.Method = http.MethodPost }, 405, "only GET"},
		"no token":             {"/api/recording", without, 403, "caret-bpf view"},
		"no token, progress":   {"/api/progress", without, 403, "caret-bpf view"},
		"no token, no key":     {"/api/nothing", without, 403, "caret-bpf view"},
		"a wrong token":        {"/api/recording", with("Authorization", "Bearer OTHER"), 403, "caret-bpf view"},
		"an empty token":       {"/api/recording", with("Authorization", "Bearer "), 403, "caret-bpf view"},
		"only the token":       {"/api/recording", with("Authorization", token), 403, "caret-bpf view"},
		"the token as a cookie": {"/api/recording", func(r *http.Request) {
			without(r)
			r.Header.Set("Cookie", "token="+token)
		}, 403, "caret-bpf view"},
		"the token in the address": {"/api/recording?token=" + token, without, 403, "caret-bpf view"},
	} {
		t.Run(name, func(t *testing.T) {
			got := get(h, test.path, test.change)
			var body strings.Builder
			if _, err := body.WriteString(readAll(t, got)); err != nil {
				t.Fatal(err)
			}
			if body.Len() > 3000 && test.code >= 400 {
				t.Errorf("an error of %d bytes", body.Len())
			}
			if got.StatusCode != test.code || !strings.Contains(body.String(), test.says) {
				t.Errorf("%d: %.200s", got.StatusCode, body.String())
			}
			if policy := got.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
				t.Errorf("the policy is %q", policy)
			}
			if test.code >= 400 {
				var refusal struct{ Error string }
				if err := json.Unmarshal([]byte(body.String()), &refusal); err != nil || refusal.Error == "" {
					t.Errorf("the refusal is %q", body.String())
				}
			}
		})
	}
}
