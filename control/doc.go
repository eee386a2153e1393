// Package control serves a running recording over a Unix socket, as HTTP with JSON, and asks it there. openapi.yaml
// describes what is served. Only root and the user for whom the recording is made get an answer.
package control
