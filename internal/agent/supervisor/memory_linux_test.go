package supervisor

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestCleanMappings: only mappings of the program that are as its file are found.
func TestCleanMappings(t *testing.T) {
	mapped := func(head, anonymous string) string {
		return head + "\nSize: 4 kB\nAnonymous: " + anonymous + " kB\nVmFlags: rd mr\n"
	}
	smaps := mapped("00400000-00500000 r-xp 00000000 fe:00 12 /bin/muster", "0") +
		mapped("00500000-00600000 r--p 00100000 fe:00 12 /bin/muster", "0") +
		mapped("00600000-00700000 r--p 00200000 fe:00 12 /bin/muster", "4") + // relocated
		mapped("00700000-00800000 rw-p 00300000 fe:00 12 /bin/muster", "0") +
		mapped("00800000-00900000 r-xp 00000000 fe:00 13 /lib/libc.so", "0") +
		mapped("00900000-00a00000 r-xp 00000000 00:00 0", "0") +
		"00a00000-00b00000 r-xp 00000000 fe:00 12 /bin/muster\nVmFlags: rd\n" // without what is needed to know
	want := []mapping{{0x400000, 0x500000}, {0x500000, 0x600000}}
	if got := cleanMappings(strings.NewReader(smaps), "/bin/muster"); !slices.Equal(got, want) {
		t.Errorf("got %x", got)
	}
	if got := cleanMappings(strings.NewReader("x-y r\n\n-\n00 r-xp"), "/bin/muster"); got != nil {
		t.Errorf("of something else: %x", got)
	}
}

// TestFreeMemory: a program goes on with fewer pages of its file.
func TestFreeMemory(t *testing.T) {
	for range 3 {
		FreeMemory()
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	if got := cleanMappings(strings.NewReader(string(smaps)), program); len(got) == 0 {
		t.Error("the program has no mapping that is as its file")
	}
}
