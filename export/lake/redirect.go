package lake

import "net/http"

// stayingTransport has no upload be redirected. The client of object storage follows no redirection, but net/http
// closes the body for one, at the same time as the transport does. A body that is signed in parts cannot bear that.
type stayingTransport struct{ http.RoundTripper }

// RoundTrip returns redirections of bodies as what no server is found for (421). What the storage says stays.
func (t stayingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err == nil && request.Body != nil && response.StatusCode/100 == 3 {
		response.StatusCode = http.StatusMisdirectedRequest
	}
	return response, err
}
