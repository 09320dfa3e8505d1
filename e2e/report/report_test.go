package report

import "testing"

func TestWithBlock(t *testing.T) {
	const before = "a\n<!-- soak: begin -->\nold\n<!-- soak: end -->\nb\n"
	got, ok := withBlock([]byte(before), "soak", "new\ntext\n\n")
	if want := "a\n<!-- soak: begin -->\nnew\ntext\n<!-- soak: end -->\nb\n"; !ok || string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, ok := withBlock([]byte("a\nb\n"), "soak", "new"); ok {
		t.Error("a text without marks was changed")
	}
}
