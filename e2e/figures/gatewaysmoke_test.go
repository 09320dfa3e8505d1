package figures

import "testing"

// TestGateway runs the code of BenchmarkGateway with a few calls.
func TestGateway(t *testing.T) {
	for _, w := range gatewayWorks {
		w.warm, w.pool = 2, 5
		if w.rate > 0 {
			w.rate = 50
		}
		t.Run(w.name, func(t *testing.T) {
			g := w.open(t)
			service, peer := g.round(10)
			g.end()
			for of, got := range map[string]sample{"service": service, "peer": peer} {
				if got.rate <= 0 || got.p50 <= 0 || got.p99 < got.p50 || got.allocs <= 0 {
					t.Errorf("%s: got %+v", of, got)
				}
			}
		})
	}
}
