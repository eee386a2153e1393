package analyze

import "github.com/caret-bpf/caret-bpf/trace"

// departureColumns are the columns of publish that tell when a message left and which it was.
type departureColumns struct {
	trace.ProcessKey
	TID             int32                 `column:"tid"`
	PublishNumber   uint64                `column:"publish_number,delta"`
	PublisherHandle trace.Address         `column:"publisher_handle,null"`
	Intra           trace.Optional[int64] `column:"rclcpp_intra_publish_timestamp"`
	Rclcpp          trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
	Rcl             trace.Optional[int64] `column:"rcl_publish_timestamp"`
	RMW             trace.Optional[int64] `column:"rmw_publish_timestamp"`
	Source          trace.Optional[int64] `column:"source_timestamp"`
	EnqueueCount    uint32                `column:"enqueue_count"`
	Callback        trace.Address         `column:"callback,null"`
	CallbackStart   trace.Optional[int64] `column:"callback_start_timestamp"`
}

// detailedDepartureColumns tell besides of publishers that no entity table has, and when the message was written.
type detailedDepartureColumns struct {
	departureColumns
	Written   trace.Optional[int64] `column:"dds_bind_addr_to_stamp_timestamp"`
	TopicName string                `column:"topic_name,null"`
	NodeName  string                `column:"node_name,null"`
}

// arrivalColumns are the columns of callback that tell which message started it.
type arrivalColumns struct {
	trace.ProcessKey
	TID                int32                  `column:"tid"`
	Callback           trace.Address          `column:"callback"`
	Start              trace.Optional[int64]  `column:"callback_start_timestamp"`
	End                trace.Optional[int64]  `column:"callback_end_timestamp"`
	Source             trace.Optional[int64]  `column:"source_timestamp"`
	Take               trace.Optional[int64]  `column:"rmw_take_timestamp"`
	DequeueIndex       trace.Optional[uint64] `column:"dequeue_index"`
	Dequeue            trace.Optional[int64]  `column:"dequeue_timestamp"`
	SubscriptionHandle trace.Address          `column:"subscription_handle,null"`
	PublisherGID       string                 `column:"publisher_gid,null"`
}

// detailedArrivalColumns tell besides of subscriptions that no entity table has.
type detailedArrivalColumns struct {
	arrivalColumns
	TopicName string `column:"topic_name,null"`
	NodeName  string `column:"node_name,null"`
}

// takeColumns are the columns of take that tell which message was polled.
type takeColumns struct {
	trace.ProcessKey
	TID                int32                  `column:"tid"`
	Kind               trace.TakeKind         `column:"kind"`
	Source             trace.Optional[int64]  `column:"source_timestamp"`
	Take               trace.Optional[int64]  `column:"rmw_take_timestamp"`
	Buffer             trace.Address          `column:"buffer,null"`
	DequeueIndex       trace.Optional[uint64] `column:"dequeue_index"`
	Dequeue            trace.Optional[int64]  `column:"dequeue_timestamp"`
	Callback           trace.Address          `column:"callback,null"`
	CallbackStart      trace.Optional[int64]  `column:"callback_start_timestamp"`
	SubscriptionHandle trace.Address          `column:"subscription_handle,null"`
	TopicName          string                 `column:"topic_name,null"`
	NodeName           string                 `column:"node_name,null"`
	PublisherGID       string                 `column:"publisher_gid,null"`
}

// enqueueColumns are the columns of enqueue that tell which publish put a message where.
type enqueueColumns struct {
	trace.ProcessKey
	TID           int32                  `column:"tid"`
	Buffer        trace.Address          `column:"buffer"`
	Index         trace.Optional[uint64] `column:"index"`
	Size          uint64                 `column:"size"`
	Overwritten   trace.Optional[bool]   `column:"overwritten"`
	At            int64                  `column:"enqueue_timestamp"`
	PublishNumber trace.Optional[uint64] `column:"publish_number,delta"`
}
