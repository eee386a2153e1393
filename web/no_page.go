//go:build !page

package web

import "io/fs"

// Page returns the files of the page; ok is false in a program that was built without it.
func Page() (page fs.FS, ok bool) { return nil, false }
