package abi

// First bits of the parts of a packed cookie; the event is the lowest byte.
const (
	CookieFormShift      = 8
	CookieLastLayerShift = 16
	CookieRoleShift      = 17
	CookieUnitShift      = 20
	CookieStackShift     = 25
	CookieParameterShift = 33
	CookieCostShift      = 49
	CookieSetShift       = 63 // which set of links: the loader says it of each link
)

// maxCostNs is the largest cost of a hit that a cookie has room for: 14 bits, in units of 2 ns.
const maxCostNs = 2 * (1<<14 - 1)

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
	// CostNs is the cost of a hit in nanoseconds. Its last bit is not kept; above maxCostNs it counts as that.
	CostNs uint16
}

// Pack makes a number of the cookie.
func (c Cookie) Pack() uint64 {
	packed := uint64(c.Event) | uint64(c.Form)<<CookieFormShift | uint64(c.Role)<<CookieRoleShift | uint64(c.Unit)<<CookieUnitShift |
		uint64(uint8(c.StackWords))<<CookieStackShift | uint64(c.Parameter)<<CookieParameterShift | uint64(min(c.CostNs, maxCostNs)/2)<<CookieCostShift
	if c.LastLayer {
		packed |= 1 << CookieLastLayerShift
	}
	return packed
}
