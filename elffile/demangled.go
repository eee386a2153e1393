package elffile

import "github.com/ianlancetaylor/demangle"

const (
	// Demangling is polynomial in the mangled name's length but its result is not: substitutions multiply.
	maxMangledLength         = 16 << 10
	maxDemangledLengthAsBits = 16

	// MaxDemangled is the length, in bytes, at which Demangle cuts a name.
	MaxDemangled = 1 << maxDemangledLengthAsBits
)

// Match finds the functions whose demangled name (with parameters, as c++filt prints it; the plain name for C) is
// accepted, in order of address and then name. None is no error.
func (f *File) Match(accept func(demangled string) bool) ([]Symbol, error) {
	return f.selectSymbols(func(name []byte) bool { return accept(Demangle(string(name))) })
}

// Demangle is the readable form of a C++ symbol or type name, or the name itself when it is not a mangled one
// or is too long to be worth it.
func Demangle(name string) string {
	if len(name) > maxMangledLength {
		return name
	}
	return demangle.Filter(name, demangle.MaxLength(maxDemangledLengthAsBits))
}
