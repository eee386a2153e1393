package probes

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Library is one of the libraries that the catalogue's sources lie in.
type Library int

// The libraries.
const (
	LibraryTracetools Library = iota + 1
	LibraryRcl
	LibraryRclcpp
	LibraryFastDDS2
	LibraryFastDDS3
	LibraryCycloneDDS
	LibraryCxxRuntime
)

// libraryNames are the libraries' file names, to which a version may be appended.
var libraryNames = map[Library]string{
	LibraryTracetools: "libtracetools.so",
	LibraryRcl:        "librcl.so",
	LibraryRclcpp:     "librclcpp.so",
	LibraryFastDDS2:   "libfastrtps.so",
	LibraryFastDDS3:   "libfastdds.so",
	LibraryCycloneDDS: "libddsc.so",
	LibraryCxxRuntime: "libstdc++.so",
}

// String returns the library's file name without version.
func (l Library) String() string { return libraryNames[l] }

// version reports whether a file of that soname is the library, and which version its name says ("2.6"), "" if none.
func (l Library) version(soname string) (string, bool) {
	rest, ok := strings.CutPrefix(soname, libraryNames[l])
	switch {
	case !ok:
		return "", false
	case rest == "":
		return "", true
	}
	return strings.CutPrefix(rest, ".")
}

// cacheChangeTimestamps are the offsets of sourceTimestamp in Fast DDS's CacheChange_t, by soname. They were read from
// the headers of the releases named and, for 2.6, 2.9 and 3.1, from compiled libraries; other versions are not known.
// ROS 2 uses release 3 from Kilted on, where rmw_publish has the timestamp.
var cacheChangeTimestamps = map[string]uint16{
	"libfastrtps.so.2.6":  100, // Humble
	"libfastrtps.so.2.9":  108, // Debian 12
	"libfastrtps.so.2.10": 108, // Iron
	"libfastrtps.so.2.14": 108,
	"libfastdds.so.3.1":   124, // Debian 13
}

// serdataTimestamp is the offset of the timestamp in Cyclone DDS's struct ddsi_serdata (0.9, 0.10 and 11), int64
// nanoseconds.
const serdataTimestamp = 32

// knownFastDDS lists the sonames, older releases first.
func knownFastDDS() []string {
	return slices.SortedFunc(maps.Keys(cacheChangeTimestamps), func(a, b string) int {
		return slices.Compare(releaseOf(a), releaseOf(b))
	})
}

// releaseOf is the release that a soname ends with: 2 and 10 for "libfastrtps.so.2.10".
func releaseOf(soname string) []int {
	_, version, _ := strings.Cut(soname, ".so.")
	var release []int
	for part := range strings.SplitSeq(version, ".") {
		number, _ := strconv.Atoi(part)
		release = append(release, number)
	}
	return release
}
