package columnar

// maxInterned and maxInternedBytes bound the distinct strings that an Interner remembers.
const (
	maxInterned      = 1 << 14
	maxInternedBytes = 4 << 20
)

// Interner turns the bytes of repeated names into few strings.
type Interner struct {
	last    string
	strings map[string]string
	bytes   int // of strings
}

func (in *Interner) intern(text []byte) string {
	if string(text) == in.last {
		return in.last
	}
	s, ok := in.strings[string(text)]
	if !ok {
		if in.strings == nil || len(in.strings) >= maxInterned || in.bytes >= maxInternedBytes {
			in.strings, in.bytes = make(map[string]string), 0
		}
		s = string(text)
		in.strings[s] = s
		in.bytes += len(s)
	}
	in.last = s
	return s
}
