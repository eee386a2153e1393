// Package web has the page of `caret-bpf view` and `caret-bpf report`: index.html, app.js and app.css. `make web` makes
// them of the sources in this folder, and `make build` then puts them into the program. A plain `go build` needs no
// Node, and makes a program without the page.
package web
