package main

import (
	"fmt"
	"strconv"
	"strings"
)

// percentage is the value of a flag such as "2%" or "0.5%": a share, 1 for 100%.
type percentage float64

// Set reads it.
func (p *percentage) Set(text string) error {
	number, ok := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(share > 0 && share <= 100) {
		return fmt.Errorf("%q is not a percentage such as 2%%", text)
	}
	*p = percentage(share / 100)
	return nil
}

// String returns what Set reads; "" for none.
func (p *percentage) String() string {
	if *p == 0 {
		return ""
	}
	return strconv.FormatFloat(100*float64(*p), 'g', -1, 64) + "%"
}

// Type names the kind of value.
func (p *percentage) Type() string { return "percentage" }
