package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A namespace is a network of its own within this machine, as another machine has.
type namespace string

// newNamespace makes one that is gone after the test.
func newNamespace(t *testing.T, name string) (namespace, error) {
	t.Helper()
	name = fmt.Sprintf("muster-%d-%s", os.Getpid(), name)
	if err := ip("netns", "add", name); err != nil {
		return "", err
	}
	t.Cleanup(func() {
		if err := ip("netns", "del", name); err != nil {
			t.Error(err)
		}
	})
	return namespace(name), nil
}

// command is the program within the namespace.
func (n namespace) command(args ...string) []string {
	return append([]string{"ip", "netns", "exec", string(n), program}, args...)
}

// up gives an interface an address.
func (n namespace) up(device, address string) error {
	if err := ip("-n", string(n), "address", "add", address, "dev", device); err != nil {
		return err
	}
	return ip("-n", string(n), "link", "set", device, "up")
}

// connect lays a cable between two namespaces.
func connect(a, b namespace) error {
	err := ip("link", "add", "name", "veth0", "netns", string(a), "type", "veth",
		"peer", "name", "veth0", "netns", string(b))
	if err != nil {
		return err
	}
	if err := a.up("veth0", "10.77.0.1/24"); err != nil {
		return err
	}
	return b.up("veth0", "10.77.0.2/24")
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// newMachines are two namespaces without a connection, with loopback alone; false,
// and a line in the log, where the machine does not allow it.
func newMachines(t *testing.T) (a, b namespace, ok bool) {
	t.Helper()
	var err error
	if a, err = newNamespace(t, "a"); err == nil {
		b, err = newNamespace(t, "b")
	}
	for _, n := range []namespace{a, b} {
		if err == nil {
			err = ip("-n", string(n), "link", "set", "lo", "up")
		}
	}
	if err != nil {
		t.Logf("this machine makes no network namespaces, so it says nothing about them: %v", err)
	}
	return a, b, err == nil
}

// Two machines find each other, and one of them alone finds itself.
func TestNamespaces(t *testing.T) {
	a, b, ok := newMachines(t)
	if !ok {
		return
	}
	expect(t, start(t, a.command("-host", "alone")...), `hosting alone at \S+`)
	expectFound(t, "alone", `127\.0\.0\.1:\d+`, a.command()...)
	if err := connect(a, b); err != nil {
		t.Logf("this machine does not connect namespaces, so it says nothing about two of them: %v", err)
		return
	}
	// The cable came after the host, who notices it before the search is over.
	expectFound(t, "alone", `10\.77\.0\.1:\d+`, b.command()...)
	expect(t, start(t, b.command("-host", "other")...), `hosting other at \S+`)
	expectFound(t, "(alone|other)", `10\.77\.0\.[12]:\d+`, a.command()...)
}
