package gameserver

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	var b backoff
	for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if most, got := seconds*time.Second, b.after(); got <= most/2 || got > most {
			t.Errorf("waits %s, want at most %s and more than half of it", got, most)
		}
	}
}
