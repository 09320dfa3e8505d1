// Package control is the control plane: one method per API operation, the
// routing of commands to the shard that holds a resource, and the flows that
// cross shards.
//
// Reading order: plane.go is the whole, handlers.go the operations by name;
// then one file per family of operations. observing.go passes what becomes durable
// to those whom it concerns: package processes, which serves game servers, those who
// watch something, and the drivers.
package control
