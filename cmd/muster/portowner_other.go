//go:build !linux

package main

import "context"

// portOwners returns the processes that listen on the ports at 127.0.0.1 or ::1, without their names.
func portOwners(ctx context.Context, ports []int) map[int][]portOwner {
	return dialOwners(ctx, ports)
}

// udpBound reports whether a UDP port is bound.
func udpBound(ctx context.Context, port uint16) bool { return bindFails(ctx, port) }
