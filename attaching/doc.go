// Package attaching is what is attached to whom: it plans a recording's sites, attaches them, detaches what a process
// does without, attaches it again when it is needed, and keeps the budget.
//
// It knows nothing of records, rows and files. What comes of its work goes to a Reporter; what it asks of a process's
// entities, Entities answer. A Planner may be used by several goroutines. An Attacher, and the Processes it is given,
// belong to one goroutine.
package attaching
