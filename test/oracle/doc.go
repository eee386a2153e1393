// Package oracle tells tests what recordings, and answers about them, must say. One oracle is the ground truth that a
// stand-in writes down about itself. Another one is the single hits of tracepoints, which a recording of real programs
// has beside its rows if it is asked for them.
package oracle
