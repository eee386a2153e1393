// Package forward puts the finished datasets of a folder into a lake: each until it has arrived, however long the lake
// cannot be reached.
//
// The datasets are the queue. What has arrived is noted beside them, a file for each. A note that is lost, damaged or
// of something else has its dataset published once more, which adds nothing to a lake that has it.
package forward
