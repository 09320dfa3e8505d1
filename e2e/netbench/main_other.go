//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "netbench: the load needs Linux")
	os.Exit(1)
}
