package lake

import (
	"io"
	"net/http"

	"golang.org/x/time/rate"
)

// MinBandwidth is the least that uploads can be limited to, in bytes a second: below, requests alone take longer than
// storage waits for them.
const MinBandwidth = 1 << 10

// Bounds of what is sent at once where bandwidth is limited, in bytes. It is an eighth of a second's.
const (
	leastBurst = 128
	mostBurst  = 64 << 10
)

// limitedTransport sends the bodies of all requests together at a rate.
type limitedTransport struct {
	http.RoundTripper
	limiter *rate.Limiter
}

// limit has a transport send so many bytes a second.
func limit(transport http.RoundTripper, bandwidth int64) http.RoundTripper {
	burst := min(max(bandwidth/8, leastBurst), mostBurst)
	return &limitedTransport{transport, rate.NewLimiter(rate.Limit(bandwidth), int(burst))}
}

func (t *limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil && request.Body != http.NoBody {
		limited := *request // which is the caller's
		limited.Body = &limitedBody{request.Body, request, t.limiter}
		if again := request.GetBody; again != nil {
			limited.GetBody = func() (io.ReadCloser, error) {
				body, err := again()
				if err != nil {
					return nil, err
				}
				return &limitedBody{body, request, t.limiter}, nil
			}
		}
		request = &limited
	}
	return t.RoundTripper.RoundTrip(request)
}

// limitedBody is the body of a request, which is read as fast as it may be sent.
type limitedBody struct {
	io.ReadCloser
	of      *http.Request
	limiter *rate.Limiter
}

func (b *limitedBody) Read(into []byte) (int, error) {
	read, err := b.ReadCloser.Read(into[:min(len(into), b.limiter.Burst())])
	if failed := b.limiter.WaitN(b.of.Context(), read); failed != nil {
		return 0, failed
	}
	return read, err
}
