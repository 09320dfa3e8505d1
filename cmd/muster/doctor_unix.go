//go:build !windows

package main

import (
	"os"
	"strconv"
	"syscall"
)

// otherOwner returns the id of the user that a file belongs to; "" if that is this one, or unknown.
func otherOwner(file string) string {
	about, err := os.Stat(file)
	if err != nil {
		return ""
	}
	if s, ok := about.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return strconv.Itoa(int(s.Uid))
	}
	return ""
}
