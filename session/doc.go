// Package session is the life of one recording.
//
// A session is configured, armed (every known probe attached, the gate open for the life of entities only), recording
// (the gate open), flushing (the gate closed, what is on its way is brought home) and stopped. Each change is in
// session.json with its time.
//
// Processes are watched by looking: an exec, a fork or a timer only means that a process is to be looked at again, and
// looking twice does no harm.
//
// Session is that life, and what it does at which time. Each other job is a type with its own state:
//
//   - journal: what session.json and the user are told
//   - processes, mappings: who is and was recorded, and what they have mapped since when
//   - announced, strangers, headers, memories: what the reader of records tells and asks
//   - admission, follower: who is recorded; looking at processes, attaching to them, letting go of them
//   - planner, prefixes, knownFiles, firstAwaited: what is probed before anybody maps it
//   - scans: which entities were there before
//   - blindSpans, losses, overhead: what is not recorded, and what it costs
//
// What only one goroutine uses has no lock. The other locks are taken in this order: the merger's, that of processes,
// that of mappings; while one of the others is held, none of these is taken.
package session
