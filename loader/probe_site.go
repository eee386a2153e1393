package loader

// hitProbeSite begins with the instruction that feature probing puts a uprobe on, in the recorder's own text.
func hitProbeSite()

// probeSiteAddress returns hitProbeSite's address. Taking it in Go would give the address of a wrapper.
func probeSiteAddress() uintptr
