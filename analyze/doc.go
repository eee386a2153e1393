// Package analyze answers questions about recordings offline: latencies of callbacks, messages, nodes, paths and
// services, response times, periods, frequencies, and what changed from one recording to another.
//
// A Query is a question to one or several datasets, which it reads in the order of time, window after window. What the
// recorded system is made of is known to analyze/system; what a dataset holds, to analyze/summary.
package analyze
