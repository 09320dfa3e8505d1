//go:build unix

package figures

import "testing"

// TestRestart runs the code of BenchmarkStart and BenchmarkRestart with a few players.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	fillPlayers(t, dir, 5, never)
	c := newChild(t, dir)
	for range 2 {
		if c.start() <= 0 {
			t.Error("a start took no time")
		}
		c.memory()
		c.kill()
	}
	r := openRecovery(t, dir)
	o, err := r.round()
	must(t, err)
	must(t, r.engine.Close())
	if players := 5 * seats; o.events < players || o.bytes < players || o.replayed <= 0 || o.decoded <= 0 ||
		o.read <= 0 {
		t.Errorf("the recovery came to %+v", o)
	}
	if diskUsage(t, dir) == 0 {
		t.Error("nothing is on disk")
	}
}
