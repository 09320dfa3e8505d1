package api

import (
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
)

func TestOffersCoverEveryOperationOnce(t *testing.T) {
	seen, refused := map[string]int{}, 0
	var names []string
	for _, f := range Families {
		if f.Name == "" || len(f.Offers) == 0 || slices.Contains(names, f.Name) {
			t.Errorf("family %q with %d offers", f.Name, len(f.Offers))
		}
		names = append(names, f.Name)
		for _, o := range f.Offers {
			seen[o.Info.Name]++
			if o.Support == No {
				refused++
			}
			if o.Support != Full && o.Note == "" {
				t.Errorf("%s is offered %q without a note", o.Info.Name, o.Support)
			}
		}
	}
	for _, op := range wire.Operations {
		if seen[op.Name] != 1 {
			t.Errorf("%s is offered %d times, want once", op.Name, seen[op.Name])
		}
		delete(seen, op.Name)
	}
	if len(seen) > 0 || len(wire.Operations) != 120 {
		t.Errorf("%d operations in the model, offered beyond them: %v", len(wire.Operations), seen)
	}
	if got := len(Refusals()); got != refused || got == 0 {
		t.Errorf("%d refusals, want %d", got, refused)
	}
}
