// Package system knows what recorded systems are made of: processes, nodes, callbacks, publishers, subscriptions,
// services and executors, when each of them lived, and how they are connected. It reads that from datasets (Load) and
// from CARET's architecture files (Read, Write), gives names to what has none, and finds the paths of messages.
package system
