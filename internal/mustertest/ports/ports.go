// Package ports finds free ports for the servers of tests.
package ports

import (
	"fmt"
	"net"
	"testing"
)

// Free finds n different addresses of the loopback interface on which no program listens. They are below the ports that
// systems give to outgoing connections: one of these would else take the port before the server listens, or while it
// does not run. intN returns a random number below its argument.
func Free(t testing.TB, intN func(int) int, n int) (addresses []string) {
	t.Helper()
	const first, size = 20000, 10000
	for range 100 + n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+intN(size)))
		if err != nil {
			continue
		}
		defer l.Close()
		if addresses = append(addresses, l.Addr().String()); len(addresses) == n {
			return addresses
		}
	}
	t.Fatal("no free port")
	return nil
}
