package objectstorage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/forward"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestForwardServerGoneAndBack: whenever the server goes, each dataset of a folder arrives when it is back, once. The
// bandwidth is limited, so that uploads are broken off.
func TestForwardServerGoneAndBack(t *testing.T) {
	s, folder, local := newServer(t), t.TempDir(), t.TempDir()
	in := open(t, local, lake.Options{})
	const datasets = 3
	for i := range datasets {
		dir := filepath.Join(folder, fmt.Sprintf("rec-%d", i))
		tracetest.AddSystem(t, dir, 2000)
		session := trace.NewSession()
		session.Ending, session.Attributes = trace.EndingSnapshot, map[string]string{"vehicle": "v12"}
		session.Enter(trace.StateStopped, time.Unix(1_767_323_045+int64(i), 0))
		tracetest.AddSession(t, dir, session)
		if _, err := in.Publish(t.Context(), tracetest.Open(t, dir), lake.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	options := lake.Options{Staging: t.TempDir(), Patience: 200 * time.Millisecond, Bandwidth: 256 << 10}
	var status forward.Status
	arrived := make(chan struct{})
	f, err := forward.New(forward.Options{
		Folder: folder, State: t.TempDir(), To: "s3://" + bucket, Interval: 50 * time.Millisecond,
		Open: func(ctx context.Context) (forward.Lake, error) {
			return lake.Open(ctx, "s3://"+bucket+"/"+prefix, options)
		},
		Tell: func(now forward.Status) {
			if status.Arrived < datasets && now.Arrived == datasets {
				close(arrived)
			}
			status = now
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	for range 4 {
		time.Sleep(rand.N(500 * time.Millisecond))
		s.stop()
		time.Sleep(rand.N(time.Second))
		s.start(t)
	}
	<-arrived
	cancel()
	<-ended
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if status.FailedCount != 0 || status.Gone != 0 {
		t.Errorf("status %+v", status)
	}
	want := filesBelow(t, local)
	got := s.objects(t)
	for name, text := range want {
		if got[prefix+"/"+name] != text {
			t.Errorf("%s differs", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d objects, want %d", len(got), len(want))
	}
}
