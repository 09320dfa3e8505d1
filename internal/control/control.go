// Package control is the control plane: one method per API operation, the
// routing of commands to the shard that holds a resource, and the flows that
// cross shards.
//
// Reading order: plane.go is the whole, offers.go the table of operations;
// then one file per family of operations. processes.go is the other side of
// the control plane, towards the server processes; link.go is what the two
// tell each other. catalog.go, rooms.go and history.go are the three places
// that answers come from.
package control
