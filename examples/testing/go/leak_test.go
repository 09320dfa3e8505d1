package lobby

import (
	"testing"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

// TestMain is for Muster's own tests. Those of a game need none.
func TestMain(m *testing.M) { leaktest.Main(m) }
