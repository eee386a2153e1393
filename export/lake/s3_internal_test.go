package lake

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// openStub opens object storage of which answer answers every request but that for the bucket.
func openStub(t *testing.T, patience time.Duration, answer http.HandlerFunc) *s3Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Trim(r.URL.Path, "/") != "fleet" {
			answer(w, r)
		}
	}))
	t.Cleanup(server.Close)
	for variable, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ENDPOINT_URL_S3": "", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
	} {
		t.Setenv(variable, value)
	}
	s, err := openS3(t.Context(), "fleet/lake", Options{Patience: patience, Staging: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	return s
}

// stagedText is a text that is to be put into a store.
func stagedText(t *testing.T, s store, name, text string) *stagedFile {
	t.Helper()
	root, folder := s.staging()
	in, err := newStaging(root, folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.remove() })
	f, err := in.text(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>refused</Message></Error>`, code)
}

// TestRefusalsThatPass are asked again about; others are final.
func TestRefusalsThatPass(t *testing.T) {
	for _, test := range []struct {
		status int
		code   string
		passes bool
	}{
		{http.StatusBadRequest, "RequestTimeout", true},
		{http.StatusBadRequest, "IncompleteBody", true},
		{http.StatusBadRequest, "BadDigest", true},
		{http.StatusBadRequest, "ExpiredToken", true},
		{http.StatusConflict, "OperationAborted", true},
		{http.StatusServiceUnavailable, "SlowDown", true},
		{http.StatusBadRequest, "InvalidArgument", false},
		{http.StatusForbidden, "AccessDenied", false},
		{http.StatusMovedPermanently, "PermanentRedirect", false},
		{http.StatusTemporaryRedirect, "TemporaryRedirect", false},
	} {
		var puts atomic.Int32
		s := openStub(t, time.Minute/16, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method != http.MethodPut:
				w.WriteHeader(http.StatusNotFound)
			case puts.Add(1) == 1:
				_, _ = io.Copy(io.Discard, r.Body)
				refuse(w, test.status, test.code)
			default:
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("ETag", `"x"`)
			}
		})
		err := s.put(t.Context(), stagedText(t, s, "x.json", "text"))
		if (err == nil) != test.passes || !test.passes && !strings.Contains(err.Error(), "refuses") {
			t.Errorf("%d %s: %v", test.status, test.code, err)
		}
		if !test.passes && !strings.Contains(err.Error(), "refused") {
			t.Errorf("what the storage says to %d %s is not in %q", test.status, test.code, err)
		}
	}
}

// TestPatience counts from the first failure: what fails after longer than that is attempted again.
func TestPatience(t *testing.T) {
	s := openStub(t, 100*time.Millisecond, nil)
	attempts := 0
	err := s.attempt(t.Context(), time.Minute, func(context.Context) error {
		if attempts++; attempts == 1 {
			time.Sleep(200 * time.Millisecond)
			return errors.New("connection reset")
		}
		return nil
	})
	if err != nil || attempts != 2 {
		t.Errorf("after %d attempts: %v", attempts, err)
	}
	attempts = 0
	err = s.attempt(t.Context(), time.Minute, func(context.Context) error {
		attempts++
		return errors.New("connection reset")
	})
	if !errors.Is(err, ErrUnreachable) || attempts < 2 {
		t.Errorf("after %d attempts: %v", attempts, err)
	}
}

// TestUploadsHaveAChecksum with which the storage compares what it gets.
func TestUploadsHaveAChecksum(t *testing.T) {
	var given, want string
	s := openStub(t, time.Second, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		given = r.Header.Get("Content-Md5")
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"x"`)
	})
	sum := md5.Sum([]byte("text"))
	want = base64.StdEncoding.EncodeToString(sum[:])
	if err := s.put(t.Context(), stagedText(t, s, "x.json", "text")); err != nil || given != want {
		t.Errorf("the checksum is %q, want %q; %v", given, want, err)
	}
}

// TestNames of lakes in object storage that name no bucket are told from storage that cannot be reached.
func TestNames(t *testing.T) {
	for _, where := range []string{"s3://", "s3:///x", "s3://a..b/x", "s3://ab"} {
		if _, err := Open(t.Context(), where, Options{}); !errors.Is(err, ErrNoBucket) {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// TestDistrustedServer is told at once.
func TestDistrustedServer(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	for variable, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ENDPOINT_URL_S3": "", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(variable, value)
	}
	if _, err := Open(t.Context(), "s3://fleet/x", Options{}); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "refuses") {
		t.Errorf("error %v", err)
	}
}

// objects is object storage in memory, of which one can ask for conditional puts.
type objects struct {
	mu   sync.Mutex
	of   map[string][]byte
	hash map[string]string
	puts int
	// meanwhile is called before a put is looked at, and afterwards when something was read.
	meanwhile, afterwards func()
}

func (o *objects) answer(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	if length, err := strconv.Atoi(r.Header.Get("X-Amz-Decoded-Content-Length")); err == nil { // in a signed chunk
		_, text, _ = bytes.Cut(text, []byte("\r\n"))
		text = text[:length]
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now, is := o.of[r.URL.Path]
	tag := fmt.Sprintf(`"%x"`, md5.Sum(now))
	switch r.Method {
	case http.MethodPut:
		if o.meanwhile != nil {
			o.meanwhile()
			now, is = o.of[r.URL.Path]
			tag = fmt.Sprintf(`"%x"`, md5.Sum(now))
		}
		if r.Header.Get("If-None-Match") == "*" && is || r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != tag {
			refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
		o.puts++
		o.of[r.URL.Path], o.hash[r.URL.Path] = text, r.Header.Get("X-Amz-Meta-Sha256")
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(text)))
	case http.MethodGet, http.MethodHead:
		if !is {
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		if r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != tag {
			refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
		if o.afterwards != nil {
			defer o.afterwards()
		}
		w.Header().Set("ETag", tag)
		w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", strconv.Itoa(len(now)))
		w.Header().Set("X-Amz-Meta-Sha256", o.hash[r.URL.Path])
		_, _ = w.Write(now)
	}
}

// TestSwap: a text is put in place of the one that is expected to be there, and of no other, whenever that changes.
func TestSwap(t *testing.T) {
	o := &objects{of: make(map[string][]byte), hash: make(map[string]string)}
	s3 := openStub(t, time.Second, o.answer)
	for name, s := range map[string]store{"S3": s3, "directory": openLake(t, t.TempDir()).store} {
		for _, step := range []struct {
			text string
			was  []byte
			is   error
		}{
			{"one", []byte("none"), errChanged}, {"one", nil, nil}, {"two", nil, errChanged}, {"two", []byte("one"), nil}, {"three", []byte("one"), errChanged},
		} {
			if err := s.swap(t.Context(), stagedText(t, s, "x.json", step.text), step.was); !errors.Is(err, step.is) {
				t.Errorf("%s: %s in place of %s: %v", name, step.text, step.was, err)
			}
		}
	}
	for _, was := range [][]byte{nil, []byte("two")} {
		o.of = make(map[string][]byte)
		if was != nil {
			o.of["/fleet/lake/x.json"] = was
		}
		o.meanwhile = func() { o.of["/fleet/lake/x.json"] = []byte("other") }
		if err := s3.swap(t.Context(), stagedText(t, s3, "x.json", "three"), was); !errors.Is(err, errChanged) || string(o.of["/fleet/lake/x.json"]) != "other" {
			t.Errorf("in place of %s: %v, there is %s", was, err, o.of["/fleet/lake/x.json"])
		}
	}
}

// TestChangedWhileRead: what somebody else puts anew as soon as something was read is read as it was, by one request,
// and is not replaced.
func TestChangedWhileRead(t *testing.T) {
	const name, path = "x.json", "/fleet/lake/x.json"
	o := &objects{of: make(map[string][]byte), hash: make(map[string]string)}
	s := openStub(t, time.Minute/16, o.answer)
	reads := 0
	o.afterwards = func() {
		reads++
		o.of[path] = fmt.Append(nil, "changed ", reads)
	}
	o.of[path] = []byte("one")
	var text []byte
	err := s.read(t.Context(), name, func(file io.Reader) (err error) {
		text, err = io.ReadAll(file)
		return err
	})
	if err != nil || string(text) != "one" {
		t.Errorf("it reads %q, %v", text, err)
	}
	reads, o.of[path] = 0, []byte("one")
	err = s.swap(t.Context(), stagedText(t, s, name, "two"), []byte("one"))
	if now := string(o.of[path]); !errors.Is(err, errChanged) || now != "changed 1" {
		t.Errorf("it puts %q there, %v", now, err)
	}
}

// TestPutAnew: what seems to be there is sent again only if it is to be put anew.
func TestPutAnew(t *testing.T) {
	o := &objects{of: make(map[string][]byte), hash: make(map[string]string)}
	s := openStub(t, time.Second, o.answer)
	for i, anew := range []bool{false, false, true} {
		f := stagedText(t, s, "x.json", "text")
		f.anew = anew
		if err := s.put(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 1, 2}[i]; o.puts != want {
			t.Errorf("%d puts, want %d", o.puts, want)
		}
	}
}
