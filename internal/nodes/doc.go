// Package nodes makes one region of the control planes of several processes: it is
// the control.Cluster of each. Package cluster knows who is there and brings bytes to the
// owner of a shard; this package turns commands and answers into these bytes, hands
// tenures to the replicas, and carries the few messages that are about no shard.
//
// Messages travel as plain NATS messages, on subjects that begin with "muster":
// muster.applied.NODE asks whether a node has applied a record, muster.tell.NODE is
// what a node tells all others, muster.ask.NODE is a question to the node that leads,
// muster.standstill.NODE tells a node to stand still for a backup.
package nodes
