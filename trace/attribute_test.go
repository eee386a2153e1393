package trace_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

func TestParseAttribute(t *testing.T) {
	for text, want := range map[string]trace.Attribute{
		"vehicle=bus-7":                         {Key: "vehicle", Value: "bus-7"},
		"software.version=1.2=3":                {Key: "software.version", Value: "1.2=3"},
		"route=" + strings.Repeat("é", 128):     {Key: "route", Value: strings.Repeat("é", 128)},
		"route=a b, c":                          {Key: "route", Value: "a b, c"},
		strings.Repeat("k", 64) + "=v":          {Key: strings.Repeat("k", 64), Value: "v"},
		"vehicle":                               {},
		"vehicle=":                              {},
		"=bus":                                  {},
		"7vehicle=bus":                          {},
		"vehi cle=bus":                          {},
		"vehicle=\xff":                          {},
		strings.Repeat("k", 65) + "=v":          {},
		"route=" + strings.Repeat("é", 128)[1:]: {},
		"route=" + strings.Repeat("x", 257):     {},
	} {
		got, err := trace.ParseAttribute(text)
		if got != want || errors.Is(err, trace.ErrAttribute) != (want == trace.Attribute{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
