package analyze_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ringRecording records what happens to slot 0 of one buffer.
type ringRecording struct {
	*recording
	publisher testPublisher
	buffered  testSubscription
}

// puts adds a publish and its enqueue at one time, on a thread.
func (r *ringRecording) puts(tid int32, at int64, overwritten trace.Optional[bool]) {
	r.publishesIntra(r.publisher, at, 0, r.buffered)
	e, p := &r.rows.Enqueues[len(r.rows.Enqueues)-1], &r.rows.Publishes[len(r.rows.Publishes)-1]
	e.EnqueueTimestamp, e.TID, e.Overwritten, p.TID = at, tid, overwritten, tid
}

// putsIn adds one that the buffer's callback makes in an execution.
func (r *ringRecording) putsIn(tid int32, start, at int64, overwritten trace.Optional[bool]) {
	r.puts(tid, at, overwritten)
	p := &r.rows.Publishes[len(r.rows.Publishes)-1]
	p.Callback, p.CallbackStartTimestamp = r.buffered.intra, trace.Some(start)
}

// takes adds a dequeue and the execution that it starts.
func (r *ringRecording) takes(tid int32, at, start int64) {
	r.dequeues(r.buffered, 0, start, start+5)
	c := &r.rows.Callbacks[len(r.rows.Callbacks)-1]
	c.DequeueTimestamp, c.TID = trace.Some(at), tid
}

// By a coarse clock a message is taken, and the next one put into its slot, at one time: the flag of the enqueue and
// the thread tell which was first. Where they do not, nothing is guessed.
func TestCommunicationOfEqualTimes(t *testing.T) {
	yes, no, unknown := trace.Some(true), trace.Some(false), trace.Optional[bool]{}
	for name, test := range map[string]struct {
		begun  bool // the begin of the subscription was recorded
		record func(r *ringRecording)
		want   []string
	}{
		"the enqueue overwrote nothing": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.puts(1, 200, no)
			r.takes(2, 200, 203)
			r.takes(2, 210, 211)
		}, want: []string{"0100 /n>/n 103 received buffer", "0200 /n>/n 11 received buffer"}},
		"the enqueue overwrote a message": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.puts(1, 200, yes)
			r.takes(2, 200, 203)
		}, want: []string{"0100 /n>/n lost", "0200 /n>/n 3 received buffer"}},
		"nothing tells": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.puts(1, 200, unknown)
			r.takes(2, 200, 203)
		}, want: []string{"0100 /n>/n unknown", "0200 /n>/n unknown"}},
		"the thread put the message in before it took one": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.puts(2, 200, unknown)
			r.takes(2, 200, 203)
		}, want: []string{"0100 /n>/n lost", "0200 /n>/n 3 received buffer"}},
		"the message started the callback that puts the next one in": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.putsIn(2, 200, 200, unknown)
			r.takes(2, 200, 200)
		}, want: []string{"0100 /n>/n 100 received buffer", "0200 /n>/n open"}},
		"two threads take at once": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.puts(1, 200, no)
			r.takes(2, 200, 203)
			r.takes(3, 200, 204)
		}, want: []string{"0100 /n>/n unknown", "0200 /n>/n unknown"}},
		"one thread takes twice": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.puts(1, 200, no)
			r.takes(2, 200, 203)
			r.takes(2, 200, 209)
		}, want: []string{"0100 /n>/n 103 received buffer", "0200 /n>/n 9 received buffer"}},
		"another message is put in at once": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.puts(1, 200, yes)
			r.puts(1, 200, no)
			r.takes(2, 200, 203)
		}, want: []string{"0100 /n>/n lost", "0200 /n>/n 3 received buffer", "0200 /n>/n open"}},
		"who took the message was not recorded": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.puts(1, 200, no)
			r.takes(2, 210, 211)
		}, want: []string{"0100 /n>/n unknown", "0200 /n>/n 11 received buffer"}},
		"the first message, and what was there before the recording": {record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.takes(2, 100, 103)
		}, want: []string{"0100 /n>/n unknown"}},
		"the first message of a new buffer": {begun: true, record: func(r *ringRecording) {
			r.puts(1, 100, no)
			r.takes(2, 100, 103)
		}, want: []string{"0100 /n>/n 3 received buffer"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecording(t)
			n := s.node("/n")
			r := &ringRecording{s, s.publisher(n, "/chatter", "aa"), s.intraProcessSubscription(n, "/chatter")}
			if test.begun {
				for i := range s.rows.Subscriptions {
					s.rows.Subscriptions[i].InitTimestamp = trace.Some(int64(50))
				}
			}
			test.record(r)
			wantLines(t, communicationOf(t, s.query(analyze.Filter{})), test.want...)
		})
	}
}

// Very many enqueues at one time are not gone through: what became of them is unknown.
func TestManyEnqueuesOfOneTime(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	r := &ringRecording{s, s.publisher(n, "/chatter", "aa"), s.intraProcessSubscription(n, "/chatter")}
	for range 200 {
		r.puts(1, 100, trace.Optional[bool]{})
	}
	for i := range int64(4) {
		r.takes(2, 100, 110+i)
	}
	rows, err := r.query(analyze.Filter{}).CommunicationLatency(t.Context(), nil)
	if err != nil || len(rows) != 1 || rows[0].Unknown != 200 {
		t.Errorf("%+v, %v", rows, err)
	}
}
