package main

import "testing"

func TestPercentage(t *testing.T) {
	for text, want := range map[string]percentage{"2%": 0.02, "0.5%": 0.005, "100%": 1, "1e1%": 0.1} {
		var p percentage
		if err := p.Set(text); err != nil || p != want {
			t.Errorf("%q is %v, %v", text, float64(p), err)
		}
	}
	for _, text := range []string{"", "%", "2", "0%", "-1%", "101%", "NaN%", "Inf%", "two%", "2%%", "2 %"} {
		var p percentage
		if err := p.Set(text); err == nil {
			t.Errorf("%q is %v", text, float64(p))
		}
	}
	share := percentage(0.005)
	if got := share.String(); got != "0.5%" {
		t.Errorf("0.005 is %q", got)
	}
	if got := new(percentage).String(); got != "" {
		t.Errorf("none is %q", got)
	}
}
