package probes

import (
	"slices"
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
	LibraryCycloneDDS
	LibraryCxxRuntime
)

// libraryNames are the libraries' file names, to which a version may be appended.
var libraryNames = map[Library]string{
	LibraryTracetools: "libtracetools.so",
	LibraryRcl:        "librcl.so",
	LibraryRclcpp:     "librclcpp.so",
	LibraryFastDDS2:   "libfastrtps.so",
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

// cacheChangeTimestamps are the offsets of sourceTimestamp in Fast DDS's CacheChange_t, by the version in the soname. They were
// read from the headers of the releases named and, for 2.6 and 2.9, from compiled libraries; other versions are not known.
var cacheChangeTimestamps = map[string]uint16{
	"2.6":  100, // Humble
	"2.9":  108, // Debian 12
	"2.10": 108, // Iron
	"2.14": 108,
}

// serdataTimestamp is the offset of the timestamp in Cyclone DDS's struct ddsi_serdata (0.9, 0.10 and 11), int64 nanoseconds.
const serdataTimestamp = 32

// knownFastDDSVersions lists the versions for messages.
func knownFastDDSVersions() string {
	versions := make([]string, 0, len(cacheChangeTimestamps))
	for version := range cacheChangeTimestamps {
		versions = append(versions, version)
	}
	slices.SortFunc(versions, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return strings.Join(versions, ", ")
}
