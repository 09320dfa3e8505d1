package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime/debug"
	"strings"
	"testing"
)

// A service whose last part cannot be opened closes all others: their addresses and the
// data directory can be used again.
func TestFailedStartClosesWhatItOpened(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector closes listeners that nobody holds
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	random := rand.New(rand.NewPCG(rand.Uint64(), 0))
	c := quietConfig(t.TempDir())
	for _, address := range []*string{&c.Listen, &c.MetricsListen, &c.PprofListen} {
		*address = freeAddress(t, random)
	}
	c.Gateway.Listen = taken.Addr().String()
	for range 2 {
		if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "gateway-listen: ") {
			t.Errorf("the start gives %v, want it to fail for the gateway's address", err)
		}
	}
}

// freeAddress finds a port of this host below those that systems give to outgoing connections, which could take it
// before the service does.
func freeAddress(t *testing.T, random *rand.Rand) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+random.IntN(10000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}
