package supervisor

import "testing"

// TestNoNewPrivileges: the kernel keeps a game server from getting privileges, if that is wanted.
func TestNoNewPrivileges(t *testing.T) {
	for _, c := range []struct {
		wanted bool
		line   string
	}{{true, "out NoNewPrivs:\t1"}, {false, "out NoNewPrivs:\t0"}} {
		s := launchSpec(t, Spec{Program: "/bin/sh", Args: []string{"-c", "grep NoNewPrivs /proc/self/status"}, Dir: "/",
			Env: []string{"PATH=/usr/bin:/bin"}, NoNewPrivs: c.wanted})
		s.await(c.line)
		s.wait()
	}
}
