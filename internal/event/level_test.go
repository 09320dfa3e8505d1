package event

import "testing"

func TestLevels(t *testing.T) {
	s := NewSet([]Entry{{Number: 1, Type: (*sample)(nil)}}, []Entry{{Number: 2, Type: (*other)(nil), Level: 3}})
	for _, c := range []struct {
		value any
		want  int
	}{{&sample{}, 1}, {sample{}, 1}, {(*other)(nil), 3}, {other{}, 3}, {7, 1}, {nil, 1}} {
		if got := s.Level(c.value); got != c.want {
			t.Errorf("%T is of level %d instead of %d", c.value, got, c.want)
		}
	}
	if got := s.MaxLevel(); got != 3 {
		t.Errorf("the highest level is %d", got)
	}
	if got := NewSet().MaxLevel(); got != 1 {
		t.Errorf("the highest level of no types is %d", got)
	}
}

func TestGate(t *testing.T) {
	var g Gate
	if !g.Allows(1) || !g.Allows(100) {
		t.Error("the zero gate has a limit")
	}
	g.Raise(2)
	if !g.Allows(1) || !g.Allows(2) || g.Allows(3) {
		t.Error("a gate at level 2 does not allow 1 and 2 alone")
	}
}
