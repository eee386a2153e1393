package follow

// maxRecent bounds how much is put into each of the two halves of what is recent.
const maxRecent = 1 << 16

// recent keeps the newest of what is put into it: at least maxRecent, at most twice as much. The older half is
// forgotten as a whole.
type recent[K comparable, V any] struct {
	young, old           map[K]V
	put                  int   // into the younger half
	youngSince, oldSince int64 // when each half began; oldSince is 0 as long as nothing was forgotten
}

// set keeps a value that came at an instant, in place of the one with that key.
func (r *recent[K, V]) set(key K, value V, at int64) { r.room(at)[key] = value }

// room returns the younger half, for one value more.
func (r *recent[K, V]) room(at int64) map[K]V {
	switch {
	case r.young == nil:
		r.young, r.youngSince = map[K]V{}, at
	case r.put >= maxRecent:
		if r.old != nil {
			r.oldSince = r.youngSince
		}
		r.old, r.young, r.put, r.youngSince = r.young, map[K]V{}, 0, at
	}
	r.put++
	return r.young
}

// get returns the newest value with a key.
func (r *recent[K, V]) get(key K) (value V, ok bool) {
	if value, ok = r.young[key]; ok {
		return value, true
	}
	value, ok = r.old[key]
	return value, ok
}

// hasForgotten reports whether something was forgotten that came at or after an instant.
func (r *recent[K, V]) hasForgotten(since int64) bool { return r.oldSince != 0 && r.oldSince > since }
