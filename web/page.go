//go:build page

package web

import (
	"embed"
	"io/fs"
)

//go:embed dist/index.html dist/app.js dist/app.css
var built embed.FS

// Page returns the files of the page; ok is false in a program that was built without it.
func Page() (page fs.FS, ok bool) {
	page, err := fs.Sub(built, "dist")
	return page, err == nil
}
