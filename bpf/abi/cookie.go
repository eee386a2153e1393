package abi

import "math"

// First bits of the parts of a packed cookie; the event is the lowest byte.
const (
	CookieFormShift      = 8
	CookieLastLayerShift = 16
	CookieRoleShift      = 17
	CookieUnitShift      = 19
	CookieStackShift     = 24
	CookieParameterShift = 32
	CookieCostShift      = 48
	CookieSetShift       = 63 // which set of links: the loader says it of each link
)

// Cookie is what a program is told about the site that it is called for.
type Cookie struct {
	Event Event
	Form  Form
	// LastLayer: the site is the last layer of a publish that is planned.
	LastLayer bool
	Role      Role
	Unit      Unit
	// StackWords lie between the stack pointer at the site and the one at its function's entry.
	StackWords int8
	Parameter  uint16
	// CostNs is the cost of a hit in nanoseconds, of which there is room for 15 bits.
	CostNs uint16
}

// Pack makes a number of the cookie.
func (c Cookie) Pack() uint64 {
	packed := uint64(c.Event) | uint64(c.Form)<<CookieFormShift | uint64(c.Role)<<CookieRoleShift | uint64(c.Unit)<<CookieUnitShift |
		uint64(uint8(c.StackWords))<<CookieStackShift | uint64(c.Parameter)<<CookieParameterShift | uint64(min(c.CostNs, math.MaxInt16))<<CookieCostShift
	if c.LastLayer {
		packed |= 1 << CookieLastLayerShift
	}
	return packed
}
