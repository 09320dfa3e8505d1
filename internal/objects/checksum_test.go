package objects_test

import (
	"testing"

	"github.com/muster-gg/muster/internal/objects"
)

// TestAlgorithms has the check values of each algorithm. Sources: RFC 3720, appendix B.4; NVM Express NVM command set,
// "64b CRC"; Catalogue of parametrised CRC algorithms.
func TestAlgorithms(t *testing.T) {
	for a, want := range map[objects.Algorithm]string{
		objects.CRC32: "y/Q5Jg==", objects.CRC32C: "4waSgw==", objects.CRC64NVME: "rosUhgp5mIg=",
		objects.SHA1:   "98O8HYCOBHMq32eZZczDTKeuNEE=",
		objects.SHA256: "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
	} {
		h := a.New()
		if h == nil {
			t.Errorf("%s is not supported", a)
			continue
		}
		h.Write([]byte("123456789"))
		if got := objects.Checksum(h); got != want {
			t.Errorf("%s: %s, want %s", a, got, want)
		}
	}
	if objects.Algorithm("MD4").New() != nil {
		t.Error("an unknown algorithm has a hash")
	}
}
