package loader

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// TestFormOfTheFirstPublish: rcl's tracepoint does not tell the form of a message, the function around it does. That
// may have been entered before the recording began, if nothing was seen of the thread before the tracepoint.
func TestFormOfTheFirstPublish(t *testing.T) {
	requireRoot(t)
	const tracepoint, function = "call ros_trace_callback_start 10 20 0", "call ros_trace_callback_end 10 20 0"
	for name, test := range map[string]struct {
		do   []string
		want []uint16
	}{
		"a thread that was there":                   {[]string{tracepoint, tracepoint}, []uint16{abi.DetailFormUnknown, 0}},
		"the function is seen":                      {[]string{function, tracepoint}, []uint16{abi.DetailSerialized, 0}},
		"threads that began after the recording":    {[]string{"thread ros_trace_callback_start 10 20 0"}, []uint16{0}},
		"their functions":                           {[]string{"thread ros_trace_callback_end 10 20 0"}, []uint16{abi.DetailSerialized}},
		"another thread does not help the main one": {[]string{"thread ros_trace_callback_start 10 20 0", tracepoint}, []uint16{0, abi.DetailFormUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			forEachWay(t, func(t *testing.T, w way) {
				library := buildLibrary(t, "libtracepoints.so")
				target := startTargetWith(t, library)
				r := newRecording(t, w)
				sites := target.callbackSites(library)
				for i := range sites {
					sites[i].Event, sites[i].LastLayer = abi.EventRclPublish, true
				}
				sites[1].Form = abi.FormSerialized
				r.attach(target.pid, sites...)
				for _, line := range test.do {
					target.do(line)
				}
				r.drain()
				if got := r.publishDetails(); !slices.Equal(got, test.want) {
					t.Errorf("details %v, want %v", got, test.want)
				}
			})
		})
	}
}

// publishDetails are the details of the publishes that had arrived at the last drain.
func (r *recording) publishDetails() []uint16 {
	r.t.Helper()
	var details []uint16
	for _, encoded := range r.records {
		if abi.Kind(encoded[0]) != abi.KindPublish {
			continue
		}
		var publish abi.PublishRecord
		if err := abi.Decode(encoded, &publish); err != nil {
			r.t.Fatal(err)
		}
		details = append(details, publish.Details)
	}
	return details
}
