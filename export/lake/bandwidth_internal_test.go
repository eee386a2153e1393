package lake

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// counting notes when how much of a body was sent.
type counting struct {
	mu   sync.Mutex
	sent []sentPart
}

type sentPart struct {
	at    time.Time
	bytes int
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	buffer := make([]byte, 32<<10)
	for r.Body != nil {
		read, err := r.Body.Read(buffer)
		c.mu.Lock()
		c.sent = append(c.sent, sentPart{time.Now(), read})
		c.mu.Unlock()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestBandwidth: at no time more has been sent than may be, by all uploads together, and all of it is sent as fast as
// it may be. The clock is that of the test.
func TestBandwidth(t *testing.T) {
	for _, test := range []struct {
		bandwidth int64
		uploads   int
		bytes     int
	}{
		{MinBandwidth, 1, 20_000}, {MinBandwidth, 3, 5_000}, {100_000, 1, 1_000_000}, {1 << 20, 4, 5 << 20},
	} {
		t.Run(fmt.Sprintf("%d uploads of %d bytes at %d", test.uploads, test.bytes, test.bandwidth), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				under := new(counting)
				limited := limit(under, test.bandwidth)
				began := time.Now()
				var uploads sync.WaitGroup
				for range test.uploads {
					uploads.Go(func() {
						request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://storage", bytes.NewReader(make([]byte, test.bytes)))
						if err != nil {
							t.Error(err)
							return
						}
						if _, err := limited.RoundTrip(request); err != nil {
							t.Error(err)
						}
					})
				}
				uploads.Wait()
				sent := int64(0)
				for _, part := range under.sent {
					sent += int64(part.bytes)
					if allowed := int64(part.at.Sub(began).Seconds()*float64(test.bandwidth)) + test.bandwidth/8 + 1; sent > allowed {
						t.Fatalf("after %v, %d bytes were sent, %d may be", part.at.Sub(began), sent, allowed)
					}
				}
				all := int64(test.uploads) * int64(test.bytes)
				if sent != all {
					t.Errorf("%d bytes were sent of %d", sent, all)
				}
				if took, least := time.Since(began), time.Duration(all)*time.Second/time.Duration(test.bandwidth); took > least+time.Second {
					t.Errorf("it took %v, and could take %v", took, least)
				}
			})
		})
	}
}

// TestRepeatedUploads: a body that is sent once more is limited, too.
func TestRepeatedUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://storage", strings.NewReader(strings.Repeat("x", 4096)))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		repeated := limit(repeating{new(counting)}, MinBandwidth)
		if _, err := repeated.RoundTrip(request); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 7*time.Second {
			t.Errorf("sending 8 KiB took %v", took)
		}
	})
}

// repeating sends each request twice, as a transport does whose connection was closed.
type repeating struct{ under *counting }

func (r repeating) RoundTrip(request *http.Request) (*http.Response, error) {
	if _, err := r.under.RoundTrip(request); err != nil {
		return nil, err
	}
	again := request.Clone(request.Context())
	var err error
	if again.Body, err = request.GetBody(); err != nil {
		return nil, err
	}
	return r.under.RoundTrip(again)
}

// TestLimitedUploadsHaveTime: an upload is not given up as too slow where its bandwidth is limited to less.
func TestLimitedUploadsHaveTime(t *testing.T) {
	f := &stagedFile{File: File{Bytes: 100 << 20}}
	for _, bandwidth := range []int64{0, MinBandwidth, 8 << 10, 1 << 20} {
		s := &s3Store{bandwidth: bandwidth}
		if bandwidth > 0 && s.timeoutOf(f) < time.Duration(f.Bytes/bandwidth)*time.Second {
			t.Errorf("at %d bytes a second %v are not enough", bandwidth, s.timeoutOf(f))
		}
	}
}
