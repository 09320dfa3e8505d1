package console

import "testing"

// TestThousands: pages show counts with a comma before each three digits.
func TestThousands(t *testing.T) {
	for n, want := range map[any]string{0: "0", 999: "999", int32(1204): "1,204", int64(31880): "31,880",
		100000: "100,000", 1234567: "1,234,567", -999: "-999", -1000: "-1,000"} {
		if got := thousands(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}
