// Package entities knows the entities of one process: its nodes, publishers, subscriptions, timers, services, clients,
// callbacks, callback groups, executors and more.
//
// They become known in three ways. Initialization events name every entity that is created while recording. What
// existed before is found by a Scan of the process's memory, or read when it is first asked for: from an object, a
// handle or a callback's address, members lead to names, topics and periods (package layouts). Run-time type
// information proves what an object is, and nothing is believed that is not plausible in every part; what cannot be
// proven stays unknown, with the reason.
//
// Addresses are reused, so every entity has a life: it begins with its initialization event, or before the recording
// for what memory showed, and ends with the event of its destruction or the next initialization at the same address.
// Every lookup therefore names a time.
package entities
