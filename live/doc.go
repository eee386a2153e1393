// Package live tells what a recording has had in the last seconds: rates, durations, latencies, lateness, losses. It
// looks at rows as they come, keeps the values of those seconds, and makes numbers of them when it is asked. Its bounds
// are said where they are met: the time that the numbers are of gets shorter, or something is counted as beyond.
package live
