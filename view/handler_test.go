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

// get asks as a browser with the cookie does, changed as a test wants.
func get(h http.Handler, path string, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = own
	r.AddCookie(&http.Cookie{Name: "caret-bpf-view-4321", Value: token})
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
	withoutCookie := func(r *http.Request) { r.Header.Del("Cookie") }
	for name, test := range map[string]struct {
		path   string
		change func(*http.Request)
		code   int
		says   string
	}{
		"the page":             {"/", nil, 200, `<div id="app">`},
		"its script":           {"/app.js", nil, 200, "document.title"},
		"its style":            {"/app.css", nil, 200, "margin"},
		"as localhost":         {"/", func(r *http.Request) { r.Host = "localhost:4321" }, 200, ""},
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
		"another host":         {"/", func(r *http.Request) { r.Host = "evil.example:4321" }, 403, "http://" + own},
		"another port":         {"/", func(r *http.Request) { r.Host = "127.0.0.1:80" }, 403, "http://" + own},
		"no port":              {"/", func(r *http.Request) { r.Host = "localhost" }, 403, "http://" + own},
		"another page":         {"/api/recording", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403, "another page"},
		"a page in a file":     {"/api/recording", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403, "another page"},
		"another scheme":       {"/api/recording", func(r *http.Request) { r.Header.Set("Origin", "https://"+own) }, 403, "another page"},
		"POST":                 {"/api/recording", func(r *http.Request) { r.Method = http.MethodPost }, 405, "only GET"},
		"no cookie":            {"/", withoutCookie, 403, "caret-bpf view"},
		"no cookie, an answer": {"/api/recording", withoutCookie, 403, "caret-bpf view"},
		"no cookie, a file":    {"/app.js", withoutCookie, 403, "caret-bpf view"},
		"a wrong cookie": {"/", func(r *http.Request) {
			r.Header.Set("Cookie", "caret-bpf-view-4321=OTHER")
		}, 403, "caret-bpf view"},
		"a wrong token":         {"/?token=OTHER", withoutCookie, 403, "not that of this server"},
		"an empty token":        {"/?token=", withoutCookie, 403, "not that of this server"},
		"the token for another": {"/api/recording?token=" + token, withoutCookie, 403, "caret-bpf view"},
		"the token, elsewhere":  {"/?token=" + token, func(r *http.Request) { r.Host = "evil.example:4321" }, 403, "http://" + own},
	} {
		t.Run(name, func(t *testing.T) {
			got := get(h, test.path, test.change)
			var body strings.Builder
			if _, err := body.WriteString(readAll(t, got)); err != nil {
				t.Fatal(err)
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

// The token in the address becomes a cookie that no script reads and no other page sends.
func TestToken(t *testing.T) {
	h := newHandler(t)
	got := get(h, "/?token="+token, func(r *http.Request) { r.Header.Del("Cookie") })
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/" {
		t.Errorf("%d to %q", got.StatusCode, got.Header.Get("Location"))
	}
	cookies := got.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("cookies: %v", cookies)
	}
	if again := get(h, "/", func(r *http.Request) { r.Header.Set("Cookie", cookies[0].Name+"="+cookies[0].Value) }); again.StatusCode != 200 {
		t.Errorf("with the cookie: %d", again.StatusCode)
	}
}
