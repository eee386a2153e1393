// Package follow follows messages while they are recorded: from the callback that got one back to its publish, through
// the middleware and through intra-process buffers, and along paths of several callbacks. Memory is bounded: the newest
// is kept.
package follow
