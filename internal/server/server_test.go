package server

import (
	"math/rand/v2"
	"net"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/mustertest/ports"
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
	c := quietConfig(t.TempDir())
	free := ports.Free(t, rand.IntN, 3)
	c.Listen, c.MetricsListen, c.PprofListen = free[0], free[1], free[2]
	c.Gateway.Listen = taken.Addr().String()
	for range 2 {
		if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "gateway-listen: ") {
			t.Errorf("the start gives %v, want it to fail for the gateway's address", err)
		}
	}
}
