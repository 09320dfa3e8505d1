// Package control is the control plane: one method per API operation. It sends commands to the shard that has a
// resource, and runs the flows that cross shards.
//
// Reading order: plane.go has the Plane, handlers.go the operations by name; catalog.go and describesessions.go have
// the readers; then one file per family of operations. Plane.observe passes what becomes durable to package processes,
// which serves game servers, to watches and to the drivers.
package control
