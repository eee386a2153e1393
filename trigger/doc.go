// Package trigger watches the rows of a recording, as they come, for what somebody waits for: a callback that takes too
// long, a topic that falls silent, a process that ends. It says what has come; what is done then is not its business.
package trigger
