package main

import (
	"net/url"
	"os/exec"
	"runtime"
)

// openBrowser opens an address in a browser, if this machine can show one. A failure is no error: the address was
// printed.
func (a *app) openBrowser(address string) {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return // the address comes from a service; other schemes start other programs
	}
	command := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", address}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	default:
		if a.getenv("DISPLAY") == "" && a.getenv("WAYLAND_DISPLAY") == "" {
			return
		}
	}
	if c := exec.Command(command[0], command[1:]...); c.Start() == nil { //nolint:gosec // the address is of the service
		go c.Wait() //nolint:errcheck // its result has no effect
	}
}
