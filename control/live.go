package control

// LiveRequest asks what a recording has had of late. What is kept for it begins with the first request, and ends half a
// minute after the last one.
type LiveRequest struct {
	// SpanNs is of how much time; 0 is ten seconds.
	SpanNs int64 `json:"span_ns,omitempty"`
	// Paths are from the publishes of topics to the callbacks of others: "from=REGEXP to=REGEXP".
	Paths []string `json:"paths,omitempty"`
}
