package supervisor

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// unmapProgram has the kernel forget which pages of the program are mapped. They stay in its cache.
func unmapProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	for _, m := range cleanMappings(f, program) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED) // only memory is at stake
	}
}

// cleanMappings returns the mappings of a file that cannot be written to, and were not: a page that differs from the
// file, as those that a linker has relocated, would lose its content.
func cleanMappings(smaps io.Reader, file string) (all []mapping) {
	var m mapping
	candidate, clean := false, false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := bytes.Fields(lines.Bytes())
		if len(fields) < 2 {
			continue
		}
		if from, to, isRange := addresses(fields[0]); isRange {
			m = mapping{from, to}
			candidate = len(fields) == 6 && string(fields[5]) == file && len(fields[1]) == 4 && fields[1][1] == '-'
			continue
		}
		switch string(fields[0]) {
		case "Anonymous:":
			clean = string(fields[1]) == "0"
		case "VmFlags:": // the last line of a mapping
			if candidate && clean {
				all = append(all, m)
			}
			candidate, clean = false, false
		}
	}
	return all
}

// addresses reads a range of addresses, such as 00400000-0040b000.
func addresses(text []byte) (from, to uintptr, ok bool) {
	low, high, ok := bytes.Cut(text, []byte("-"))
	f, err1 := strconv.ParseUint(string(low), 16, 64)
	t, err2 := strconv.ParseUint(string(high), 16, 64)
	return uintptr(f), uintptr(t), ok && err1 == nil && err2 == nil && f < t
}
