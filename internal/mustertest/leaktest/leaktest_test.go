package leaktest

import (
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func TestAwait(t *testing.T) {
	before := map[string]bool{}
	for _, stack := range others() {
		before[id(stack)] = true
	}
	stop, running := make(chan struct{}), make(chan struct{})
	go waitFor(running, stop)
	<-running
	if left := await(before, nil, 0); len(left) != 1 || !strings.Contains(left[0], "leaktest.waitFor") {
		t.Errorf("left behind: %q", left)
	}
	left := await(before, []string{"github.com/muster-gg/muster/internal/mustertest/leaktest.waitFor"}, 0)
	if len(left) != 0 {
		t.Errorf("left behind, though ignored: %q", left)
	}
	if left := others(); len(left) == 0 {
		t.Error("there is no other goroutine")
	}
	end := Check(t)
	end() // the goroutine ran before
	close(stop)
	if left := await(before, nil, patience); len(left) != 0 {
		t.Errorf("left behind after the end: %q", left)
	}
}

func waitFor(running, stop chan struct{}) {
	close(running)
	<-stop
}
