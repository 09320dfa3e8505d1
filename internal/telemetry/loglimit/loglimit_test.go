package loglimit

import (
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

func TestOneLineASecond(t *testing.T) {
	clock := clockwork.NewFakeClock()
	l := New(clock)
	allow := func(kind string, wantSuppressed int, want bool) {
		t.Helper()
		if suppressed, ok := l.Allow(kind); suppressed != wantSuppressed || ok != want {
			t.Errorf("%s: %d suppressed, %v; want %d, %v", kind, suppressed, ok, wantSuppressed, want)
		}
	}
	allow("a", 0, true)
	allow("b", 0, true)
	for range 1000 {
		allow("a", 0, false)
	}
	clock.Advance(time.Second - 1)
	allow("a", 0, false)
	clock.Advance(1)
	allow("a", 1001, true)
	allow("a", 0, false)
	clock.Advance(time.Hour)
	allow("a", 1, true)
	allow("b", 0, true)
}

func TestOneLineInAnotherTime(t *testing.T) {
	clock := clockwork.NewFakeClock()
	l := New(clock)
	l.AllowEvery("a", time.Minute)
	clock.Advance(time.Minute - 1)
	if _, ok := l.AllowEvery("a", time.Minute); ok {
		t.Error("allowed too early")
	}
	clock.Advance(1)
	if suppressed, ok := l.AllowEvery("a", time.Minute); suppressed != 1 || !ok {
		t.Errorf("%d suppressed, %v", suppressed, ok)
	}
}

func TestClip(t *testing.T) {
	if s := Clip(strings.Repeat("x", 1<<20)); len(s) > 140 {
		t.Errorf("%d bytes are left", len(s))
	}
	if s := Clip("short"); s != "short" {
		t.Errorf("%q", s)
	}
}
