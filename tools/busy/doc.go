// Package busy is a running program of testdata/busy as those see it who measure what tracing costs it.
package busy
