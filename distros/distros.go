// Package distros lists the distributions of ROS 2.
package distros

import "slices"

// Distro is a ROS 2 distribution by its usual lower-case name.
type Distro string

// The distributions that are told apart.
const (
	Unknown Distro = ""
	Humble  Distro = "humble"
	Iron    Distro = "iron"
	Jazzy   Distro = "jazzy"
	Kilted  Distro = "kilted"
	Lyrical Distro = "lyrical"
	// Rolling is what the next distribution is made from. It is taken to be like the newest.
	Rolling Distro = "rolling"
)

// released are the distributions in the order of their release.
var released = []Distro{Humble, Iron, Jazzy, Kilted, Lyrical}

// String is the name, or "unknown".
func (d Distro) String() string {
	if d == Unknown {
		return "unknown"
	}
	return string(d)
}

// Released returns the distributions that were released, oldest first.
func Released() []Distro { return slices.Clone(released) }

// All returns every distribution, oldest first: those that were released, and Rolling.
func All() []Distro { return append(Released(), Rolling) }

// Since returns the released distributions from one on: those that have what was new in it.
func Since(first Distro) []Distro { return slices.Clone(released[slices.Index(released, first):]) }

// Until returns the released distributions up to one: those that have what was given up after it.
func Until(last Distro) []Distro { return slices.Clone(released[:slices.Index(released, last)+1]) }

// Like returns the released distribution that one is taken to be like: the newest for Rolling, else itself.
func (d Distro) Like() Distro {
	if d == Rolling {
		return released[len(released)-1]
	}
	return d
}
