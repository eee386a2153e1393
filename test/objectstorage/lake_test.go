package objectstorage

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

const prefix = "lakes/one"

// recording is that of a system, of so many callbacks.
func recording(t *testing.T, callbacks int, vehicle string) *trace.Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rec")
	tracetest.AddSystem(t, dir, callbacks)
	session := trace.NewSession()
	session.Attributes = map[string]string{"vehicle": vehicle}
	session.Enter(trace.StateStopped, time.Unix(1_767_323_045, 0))
	tracetest.AddSession(t, dir, session)
	return tracetest.Open(t, dir)
}

func open(t *testing.T, where string, options lake.Options) *lake.Lake {
	t.Helper()
	if options.Staging == "" {
		options.Staging = t.TempDir()
	}
	l, err := lake.Open(t.Context(), where, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func openS3(t *testing.T, options lake.Options) *lake.Lake {
	t.Helper()
	return open(t, "s3://"+bucket+"/"+prefix, options)
}

// requireSameLake: the bucket has what a lake in a directory has.
func requireSameLake(t *testing.T, s *server, d *trace.Dataset) {
	t.Helper()
	dir := t.TempDir()
	if _, err := open(t, dir, lake.Options{}).Publish(t.Context(), d, lake.Request{}); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for name, text := range filesBelow(t, dir) {
		want[prefix+"/"+name] = text
	}
	got := s.objects(t)
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Fatalf("there are %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	if !maps.Equal(got, want) {
		t.Fatal("objects differ from files")
	}
}

// TestLakeInObjectStorage has what a lake in a directory has, also for vehicles of strange names. Publishing again adds
// nothing.
func TestLakeInObjectStorage(t *testing.T) {
	for _, vehicle := range []string{"v12", "../../x", "größe = 1 %", ""} {
		s, d, staging := newServer(t), recording(t, 2000, vehicle), t.TempDir()
		l := openS3(t, lake.Options{Staging: staging})
		first, err := l.Publish(t.Context(), d, lake.Request{})
		if err != nil || first.Already {
			t.Fatalf("%+v, %v", first, err)
		}
		requireSameLake(t, s, d)
		again, err := l.Publish(t.Context(), d, lake.Request{})
		if err != nil || !again.Already || again.Rows != first.Rows {
			t.Fatalf("%+v, %v", again, err)
		}
		requireSameLake(t, s, d)
		v, err := l.Verify(t.Context())
		if err != nil || len(v.Problems) > 0 || v.Recordings != 1 || v.Files != first.Files+1 {
			t.Fatalf("%+v, %v", v, err)
		}
		if left := filesBelow(t, staging); len(left) > 0 {
			t.Errorf("%v are left", slices.Sorted(maps.Keys(left)))
		}
		for key, text := range s.objects(t) {
			if !strings.HasSuffix(key, ".parquet") {
				continue
			}
			if err := os.WriteFile(filepath.Join(s.folder, bucket, key), []byte(text[:len(text)-1]+"?"), 0o644); err != nil {
				t.Fatal(err)
			}
			if v, err := l.Verify(t.Context()); err != nil || len(v.Problems) != 1 || !strings.Contains(v.Problems[0], strings.TrimPrefix(key, prefix+"/")) {
				t.Errorf("%s was changed: %+v, %v", key, v, err)
			}
			break
		}
	}
}

// TestReplaced recordings leave nothing of what they were.
func TestReplaced(t *testing.T) {
	s, d := newServer(t), recording(t, 2000, "v12")
	l := openS3(t, lake.Options{})
	if _, err := l.Publish(t.Context(), d, lake.Request{Keys: []string{"date"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Publish(t.Context(), d, lake.Request{}); !errors.Is(err, lake.ErrPublished) {
		t.Fatal(err)
	}
	if _, err := l.Publish(t.Context(), d, lake.Request{Replace: true}); err != nil {
		t.Fatal(err)
	}
	requireSameLake(t, s, d)
}

// TestPublishersThatDiffer: of two that publish a recording in two ways at once, one gives way, or both do.
func TestPublishersThatDiffer(t *testing.T) {
	s, d := newServer(t), recording(t, 2000, "v12")
	requests := []lake.Request{{}, {Keys: []string{lake.KeyDate}}}
	var publishers sync.WaitGroup
	failed := make([]error, len(requests))
	for i, request := range requests {
		l := openS3(t, lake.Options{})
		publishers.Go(func() { _, failed[i] = l.Publish(t.Context(), d, request) })
	}
	publishers.Wait()
	for _, err := range failed {
		if err != nil && !errors.Is(err, lake.ErrPublished) {
			t.Fatal(err)
		}
	}
	if failed[0] == nil && failed[1] == nil {
		t.Fatal("both have published it")
	}
	if _, err := openS3(t, lake.Options{}).Publish(t.Context(), d, lake.Request{Replace: true}); err != nil {
		t.Fatal(err)
	}
	requireSameLake(t, s, d)
}

// TestServerGoneAndBack: a publisher waits for a server that comes back. If that takes too long, the error says what to
// do, and the next publisher completes the lake.
func TestServerGoneAndBack(t *testing.T) {
	d := recording(t, 2000, "v12")
	waited, gaveUp := 0, 0
	for range 6 {
		s := newServer(t)
		l := openS3(t, lake.Options{Patience: 30 * time.Second})
		published := make(chan error, 1)
		go func() {
			_, err := l.Publish(t.Context(), d, lake.Request{})
			published <- err
		}()
		time.Sleep(rand.N(150 * time.Millisecond))
		s.stop()
		time.Sleep(rand.N(2 * time.Second))
		s.start(t)
		if err := <-published; err != nil {
			t.Fatal(err)
		}
		waited++
		requireSameLake(t, s, d)
	}
	for range 4 {
		s := newServer(t)
		l := openS3(t, lake.Options{Patience: 500 * time.Millisecond})
		published := make(chan error, 1)
		go func() {
			_, err := l.Publish(t.Context(), d, lake.Request{})
			published <- err
		}()
		time.Sleep(rand.N(150 * time.Millisecond))
		s.stop()
		err := <-published
		if err != nil {
			gaveUp++
			if !errors.Is(err, lake.ErrUnreachable) || !strings.Contains(err.Error(), "publish again") {
				t.Fatal(err)
			}
		}
		s.start(t)
		if _, err := openS3(t, lake.Options{}).Publish(t.Context(), d, lake.Request{}); err != nil {
			t.Fatal(err)
		}
		requireSameLake(t, s, d)
	}
	t.Logf("%d publishers waited, %d gave up", waited, gaveUp)
}

// TestPublishersSideBySide do not harm each other.
func TestPublishersSideBySide(t *testing.T) {
	s, d := newServer(t), recording(t, 2000, "v12")
	var publishers sync.WaitGroup
	for range 4 {
		l := openS3(t, lake.Options{})
		publishers.Go(func() {
			if _, err := l.Publish(t.Context(), d, lake.Request{}); err != nil {
				t.Error(err)
			}
		})
	}
	publishers.Wait()
	requireSameLake(t, s, d)
}

// TestRefused: what the storage refuses is told at once, with what to do.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		where       string
		environment map[string]string
		says        string
	}{
		"a wrong secret":     {"s3://" + bucket, map[string]string{"AWS_SECRET_ACCESS_KEY": "wrong"}, "refuses"},
		"no such bucket":     {"s3://nobucket/x", nil, "no bucket nobucket"},
		"no credentials":     {"s3://" + bucket, map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "HOME": "/nonexistent"}, "AWS_ACCESS_KEY_ID"},
		"a wrong endpoint":   {"s3://" + bucket, map[string]string{"AWS_ENDPOINT_URL": "localhost"}, "AWS_ENDPOINT_URL"},
		"nobody who answers": {"s3://" + bucket, map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			newServer(t)
			for variable, value := range test.environment {
				t.Setenv(variable, value)
			}
			_, err := lake.Open(t.Context(), test.where, lake.Options{Staging: t.TempDir(), Patience: time.Second})
			if !errors.Is(err, lake.ErrUnreachable) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestCredentialsInAFile are taken as other programs do.
func TestCredentialsInAFile(t *testing.T) {
	newServer(t)
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = wrong\naws_secret_access_key = wrong\n[fleet]\naws_access_key_id = " + accessKey + "\naws_secret_access_key = " + secretKey + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for variable, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "fleet"} {
		t.Setenv(variable, value)
	}
	if _, err := openS3(t, lake.Options{}).Publish(t.Context(), recording(t, 500, "v12"), lake.Request{}); err != nil {
		t.Fatal(err)
	}
}
