package ctf

import (
	"context"

	"github.com/caret-bpf/caret-bpf/trace"
)

// callbackColumns are what events tell of a callback.
type callbackColumns struct {
	trace.ProcessKey
	TID                    int32                 `column:"tid"`
	CPU                    int32                 `column:"cpu"`
	Callback               trace.Address         `column:"callback"`
	CallbackStartTimestamp trace.Optional[int64] `column:"callback_start_timestamp"`
	CallbackEndTimestamp   trace.Optional[int64] `column:"callback_end_timestamp"`
	EndCPU                 trace.Optional[int32] `column:"end_cpu"`
	Depth                  int32                 `column:"depth"`
	IsIntraProcess         trace.Optional[bool]  `column:"is_intra_process"`
	SubscriptionHandle     trace.Address         `column:"subscription_handle,null"`
	receiveColumns
}

// receiveColumns are what events tell of a message that was taken.
type receiveColumns struct {
	Message               trace.Address          `column:"message,null"`
	SourceTimestamp       trace.Optional[int64]  `column:"source_timestamp"`
	RMWSubscriptionHandle trace.Address          `column:"rmw_subscription_handle,null"`
	RMWTakeTimestamp      trace.Optional[int64]  `column:"rmw_take_timestamp"`
	Buffer                trace.Address          `column:"buffer,null"`
	DequeueIndex          trace.Optional[uint64] `column:"dequeue_index"`
	DequeueSize           trace.Optional[uint64] `column:"dequeue_size"`
	DequeueTimestamp      trace.Optional[int64]  `column:"dequeue_timestamp"`
}

type takeColumns struct {
	trace.ProcessKey
	TID int32 `column:"tid"`
	CPU int32 `column:"cpu"`
	receiveColumns
}

type publishColumns struct {
	trace.ProcessKey
	TID                         int32                 `column:"tid"`
	CPU                         int32                 `column:"cpu"`
	PublisherHandle             trace.Address         `column:"publisher_handle,null"`
	RMWPublisherHandle          trace.Address         `column:"rmw_publisher_handle,null"`
	Message                     trace.Address         `column:"message,null"`
	IntraMessage                trace.Address         `column:"intra_message,null"`
	RclcppIntraPublishTimestamp trace.Optional[int64] `column:"rclcpp_intra_publish_timestamp"`
	RclcppPublishTimestamp      trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
	RclPublishTimestamp         trace.Optional[int64] `column:"rcl_publish_timestamp"`
	RMWPublishTimestamp         trace.Optional[int64] `column:"rmw_publish_timestamp"`
	SourceTimestamp             trace.Optional[int64] `column:"source_timestamp"`
	DDSBindAddrToStampTimestamp trace.Optional[int64] `column:"dds_bind_addr_to_stamp_timestamp"`
}

// hits adds the events of what ran. Those of one time are added in the order in which a thread makes them.
func (c *collector) hits(ctx context.Context, d *trace.Dataset) error {
	if err := scanWanted(ctx, c, d, trace.TablePublish, c.publish); err != nil {
		return err
	}
	if err := scanWanted(ctx, c, d, trace.TableEnqueue, c.enqueue); err != nil {
		return err
	}
	if err := scanWanted(ctx, c, d, trace.TableTake, c.take); err != nil {
		return err
	}
	if err := scanWanted(ctx, c, d, trace.TableCallback, c.callback); err != nil {
		return err
	}
	if err := scanWanted(ctx, c, d, trace.TableWait, c.wait); err != nil {
		return err
	}
	if err := scanWanted(ctx, c, d, trace.TableLifecycle, c.lifecycle); err != nil {
		return err
	}
	return scanWanted(ctx, c, d, trace.TableSimTime, c.simTime)
}

func (c *collector) publish(row *publishColumns) error {
	where := c.place(&row.ProcessKey, row.TID, row.CPU)
	handle, message := number(row.PublisherHandle), number(row.Message)
	if handle.number != 0 {
		for _, layer := range []struct {
			of      event
			at      trace.Optional[int64]
			message value
		}{
			{rclcppIntraPublish, row.RclcppIntraPublishTimestamp, number(row.IntraMessage)},
			{rclcppPublish, row.RclcppPublishTimestamp, message},
			{rclPublish, row.RclPublishTimestamp, message},
		} {
			if layer.at.Valid {
				if err := c.hit(layer.of, layer.at.Value, &where, handle, layer.message); err != nil {
					return err
				}
			}
		}
	} else if row.RclcppIntraPublishTimestamp.Valid || row.RclcppPublishTimestamp.Valid || row.RclPublishTimestamp.Valid {
		c.leaveOut(rclcppPublish, "without publisher_handle")
	}
	return c.write(row, &where)
}

// write adds the events of the middleware.
func (c *collector) write(row *publishColumns, where *place) error {
	message, stamp := number(row.Message), row.SourceTimestamp
	if row.RMWPublishTimestamp.Valid {
		if err := c.hit(ddsWrite, row.RMWPublishTimestamp.Value, where, message); err != nil {
			return err
		}
		if row.RMWPublisherHandle != 0 && stamp.Valid {
			err := c.hit(rmwPublish, row.RMWPublishTimestamp.Value, where, number(row.RMWPublisherHandle), message, number(stamp.Value))
			if err != nil {
				return err
			}
		}
	}
	if !stamp.Valid {
		return nil
	}
	// CARET joins this event by thread and order: with the time of the last layer it is joined just so.
	for _, at := range []trace.Optional[int64]{row.DDSBindAddrToStampTimestamp, row.RMWPublishTimestamp, row.RclPublishTimestamp, row.RclcppPublishTimestamp} {
		if at.Valid {
			return c.hit(ddsBindAddrToStamp, at.Value, where, message, number(stamp.Value))
		}
	}
	return nil
}

func (c *collector) enqueue(row *trace.Enqueue) error {
	if !row.Index.Valid {
		c.leaveOut(rclcppRingBufferEnqueue, "without index")
		return nil
	}
	if !row.Overwritten.Valid {
		c.leaveOut(rclcppRingBufferEnqueue, "of which it is not known whether it has overwritten: it says no")
	}
	where := c.place(&row.ProcessKey, row.TID, row.CPU)
	return c.hit(rclcppRingBufferEnqueue, row.EnqueueTimestamp, &where,
		number(row.Buffer), number(row.Index.Value), number(row.Size), flag(row.Overwritten.Value))
}

func (c *collector) take(row *takeColumns) error {
	where := c.place(&row.ProcessKey, row.TID, row.CPU)
	return c.receive(&row.receiveColumns, &where)
}

func (c *collector) receive(row *receiveColumns, where *place) error {
	if row.RMWTakeTimestamp.Valid {
		if !row.SourceTimestamp.Valid {
			c.leaveOut(rmwTake, "without source_timestamp")
		} else if err := c.hit(rmwTake, row.RMWTakeTimestamp.Value, where,
			number(row.RMWSubscriptionHandle), number(row.Message), number(row.SourceTimestamp.Value), flag(true)); err != nil {
			return err
		}
	}
	if !row.DequeueTimestamp.Valid {
		return nil
	}
	if !row.DequeueIndex.Valid || !row.DequeueSize.Valid {
		c.leaveOut(rclcppRingBufferDequeue, "without index or size")
		return nil
	}
	return c.hit(rclcppRingBufferDequeue, row.DequeueTimestamp.Value, where,
		number(row.Buffer), number(row.DequeueIndex.Value), number(row.DequeueSize.Value))
}

func (c *collector) callback(row *callbackColumns) error {
	where := c.place(&row.ProcessKey, row.TID, row.CPU)
	if err := c.execute(row, &where); err != nil {
		return err
	}
	if err := c.receive(&row.receiveColumns, &where); err != nil {
		return err
	}
	if err := c.taken(&row.receiveColumns, &where); err != nil {
		return err
	}
	if row.CallbackStartTimestamp.Valid {
		if err := c.hit(callbackStart, row.CallbackStartTimestamp.Value, &where, number(row.Callback), flag(row.IsIntraProcess.Value)); err != nil {
			return err
		}
	}
	if !row.CallbackEndTimestamp.Valid {
		return nil
	}
	if row.EndCPU.Valid {
		where.cpu = row.EndCPU.Value
	}
	if err := c.hit(callbackEnd, row.CallbackEndTimestamp.Value, &where, number(row.Callback)); err != nil {
		return err
	}
	return c.executed(row, &where)
}

func (c *collector) lifecycle(row *trace.Lifecycle) error {
	where := c.place(&row.ProcessKey, row.TID, row.CPU)
	return c.hit(rclLifecycleTransition, row.TransitionTimestamp, &where,
		number(row.StateMachine), value{text: row.StartLabel}, value{text: row.GoalLabel})
}

func (c *collector) simTime(row *trace.SimTime) error {
	where := c.place(&row.ProcessKey, row.TID, row.CPU)
	return c.hit(simTime, row.UpdateTimestamp, &where, number(row.SimTime))
}
