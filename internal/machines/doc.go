// Package machines is the connections of machine agents to this node, and what all nodes know of the machines of the
// region.
//
// The catalog has the machines that have joined, with what they offer and whether they are drained. Whether a machine
// is connected, its load and its free memory are not stored: the node that has its socket knows them, and each node
// asks the others, every protocol.ReportInterval and for each list. So a node also knows when it last received a report
// of a machine whose node has failed.
//
// A machine is ONLINE while a node has its socket and its reports. After that it is RECONNECTING for protocol.LostAfter
// since its last report, and since the start of the node that answers, then LOST. This is only a view: nothing follows
// from it but that a machine that is LOST can be deleted.
package machines
