// Package nodes makes the control planes of several processes one region: it is the control.Cluster of each. Package
// cluster knows the members and carries bytes to the owner of a shard; this package encodes commands and answers,
// passes terms to the replicas, and carries the few messages that are not about a shard.
//
// They are NATS messages with subjects that begin with "muster": muster.applied.NODE asks whether a node has applied a
// record, muster.tell.NODE is a message from a node to all others, muster.ask.NODE is a question to the leading node,
// muster.standstill.NODE pauses a node for a backup, muster.figures.NODE asks for figures of a node.
package nodes
