package lake

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
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
