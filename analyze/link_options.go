package analyze

// LinkOptions say which input of a node an output belongs to, where the architecture leaves that open.
type LinkOptions struct {
	// Latest takes pairs of a subscription and a publisher whose context is unknown for use_latest_message.
	Latest bool
	// EveryStart joins, in a chain of several callbacks, each start of a callback with the last end of the one before, as
	// caret_analyze does. Without it an end joins the first start behind it only.
	EveryStart bool
}

// PathOptions say from where to where messages are followed along paths, and how.
type PathOptions struct {
	LinkOptions
	// FirstCallback begins a path with the start of the callback that publishes first. Messages that were published
	// outside of callbacks do not set out then.
	FirstCallback bool
	// LastCallback ends a path with the end of the callback that the last message starts. Ways that end where that is not
	// known, polls above all, are left out then.
	LastCallback bool
	// Dropped passes on, besides the hops of messages that went all the way, each message that was dropped on a hop: so
	// many as PathHop.Dropped counts.
	Dropped bool
}
