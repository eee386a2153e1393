package columnar

// maxInterned bounds the distinct strings that an Interner remembers.
const maxInterned = 1 << 14

// Interner turns the bytes of repeated names into few strings.
type Interner struct {
	last    string
	strings map[string]string
}

func (in *Interner) intern(text []byte) string {
	if string(text) == in.last {
		return in.last
	}
	s, ok := in.strings[string(text)]
	if !ok {
		if in.strings == nil || len(in.strings) >= maxInterned {
			in.strings = make(map[string]string)
		}
		s = string(text)
		in.strings[s] = s
	}
	in.last = s
	return s
}
