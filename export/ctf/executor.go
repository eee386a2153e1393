package ctf

import (
	"github.com/caret-bpf/caret-bpf/trace"
)

// synthesise adds an event that was not recorded and follows from what was, as hit does. Its last value is to be true.
func (c *collector) synthesise(of event, at int64, where *place, values ...value) error {
	if !c.options.covers(at, at) {
		return nil
	}
	c.synthesisedCount++
	return c.emit(of, at, where, values...)
}

// execute adds that an executor runs what a callback belongs to: it does so before it takes the message.
func (c *collector) execute(row *callbackColumns, where *place) error {
	if !row.isByExecutor() {
		return nil
	}
	at := row.CallbackStartTimestamp.Value
	for _, taken := range [...]trace.Optional[int64]{row.RMWTakeTimestamp, row.DequeueTimestamp} {
		if taken.Valid {
			at = min(at, taken.Value)
		}
	}
	handle := row.SubscriptionHandle
	if handle == 0 {
		handle = c.handles[entityAddress{row.ProcessKey, row.Callback}]
	}
	return c.synthesise(executorExecute, at, where, number(handle), flag(true))
}

// isByExecutor reports whether the callback is taken to have been run by an executor. Of those in others it is not
// known: they may as well have been called.
func (row *callbackColumns) isByExecutor() bool {
	return row.Depth == 0 && row.CallbackStartTimestamp.Valid
}

// executed adds what an executor does after a callback: it looks for what is ready.
func (c *collector) executed(row *callbackColumns, where *place) error {
	if !row.isByExecutor() {
		return nil
	}
	return c.synthesise(executorGetNextReady, row.CallbackEndTimestamp.Value, where, flag(true))
}

// taken adds that rclcpp has the message that a callback gets. It is only known that this was after the middleware had
// it, so it has that time.
func (c *collector) taken(row *receiveColumns, where *place) error {
	if !row.RMWTakeTimestamp.Valid || !row.SourceTimestamp.Valid || row.Message == 0 {
		return nil
	}
	return c.synthesise(rclcppTake, row.RMWTakeTimestamp.Value, where, number(row.Message), flag(true))
}

// wait adds a wait of an executor, and that it looks for what is ready afterwards.
func (c *collector) wait(row *trace.Wait) error {
	where := c.place(&row.ProcessKey, row.TID, row.CPU)
	if row.WaitStartTimestamp.Valid {
		if err := c.hit(executorWaitForWork, row.WaitStartTimestamp.Value, &where, number(row.Timeout.Value)); err != nil {
			return err
		}
		where.cpu = unknownCPU // on which it ends
	}
	if !row.WaitEndTimestamp.Valid {
		return nil
	}
	return c.synthesise(executorGetNextReady, row.WaitEndTimestamp.Value, &where, flag(true))
}

// own notes to which object of rcl a callback belongs. One whose address has been that of several belongs to an unknown
// one.
func (c *collector) own(process trace.ProcessKey, callback, handle trace.Address) {
	key := entityAddress{process, callback}
	if known, several := c.handles[key]; several && known != handle {
		handle = 0
	}
	c.handles[key] = handle
}
