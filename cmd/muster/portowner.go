package main

import (
	"context"
	"net"
	"strconv"
	"time"
)

const dialTimeout = 250 * time.Millisecond // of a port of this machine; Windows repeats a refused dial for seconds

// dialOwners finds the taken ports by dialing them, and cannot see the processes.
func dialOwners(ctx context.Context, ports []int) map[int][]portOwner {
	owners := map[int][]portOwner{}
	dialer := net.Dialer{Timeout: dialTimeout}
	for _, port := range ports {
		for _, host := range []string{"127.0.0.1", "::1"} {
			address := net.JoinHostPort(host, strconv.Itoa(port))
			c, err := dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				continue
			}
			c.Close()
			owners[port] = append(owners[port], portOwner{Address: address})
		}
	}
	return owners
}
