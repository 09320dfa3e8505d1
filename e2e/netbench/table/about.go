package table

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-gg/muster/e2e/machine"
)

// About says on what is measured, when, and how: a line to stand above the table. It must be asked for before the
// measurements, because it tells the load of the machine.
func About(ctx context.Context, rounds int, lasts time.Duration) string {
	return fmt.Sprintf("%s. %s, commit %s, `make bench-net`. Before it: load average "+
		"%s. Medians of %d rounds of %s each.\n",
		machine.Describe(ctx), time.Now().Format("2 January 2006, 15:04"),
		machine.Commit(ctx, "."), machine.Load(), rounds, lasts)
}
