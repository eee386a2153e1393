// Package session is the life of one recording.
//
// A session is configured, armed (every known probe attached, the gate open for the life of entities only), recording
// (the gate open), flushing (the gate closed, what is on its way is brought home) and stopped. Each change is in
// session.json with its time.
//
// Processes are watched by looking: an exec, a fork or a timer only means that a process is to be looked at again, and
// looking twice does no harm.
package session
