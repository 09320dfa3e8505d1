package signin

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-gg/muster/e2e/clients"
)

var printedURL = regexp.MustCompile(`^\s+(http://\S+)$`)

// login runs `muster login`, with a browser that decides.
func (h *home) login(b *browser, decision string, args ...string) (output string, err error) {
	h.w.Helper()
	c := h.command(append([]string{"login", "--no-browser"}, args...)...)
	reader, writer := io.Pipe()
	var out strings.Builder
	c.Stdout, c.Stderr = writer, writer
	if err := c.Start(); err != nil {
		h.w.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := c.Wait()
		_ = writer.Close()
		ended <- err
	}()
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if m := printedURL.FindStringSubmatch(lines.Text()); m != nil {
			b.decide(m[1], decision)
		}
	}
	return out.String(), <-ended
}

// TestLogin: `muster login` signs in without the AWS CLI v2, in both ways, and the AWS CLI v1 goes on from
// there. `muster logout` ends it.
func TestLogin(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.AddUser("ada", "developer")
	fleet := w.Fleet("custom-here")
	ada := w.signedIn("ada")
	ada.leaves = true // the code returns to the process on this machine
	for _, args := range [][]string{nil, {"--device"}} {
		h := w.home("")
		if out, err := h.login(ada, "allow", args...); err != nil || !strings.Contains(out, "has your role developer") {
			t.Fatalf("muster login %v: %v: %s", args, err, out)
		}
		h.lists("CLI v1 after muster login", clients.AWSCLI(t, h.environ("muster")), fleet)
		if out := h.muster("logout"); !strings.Contains(out, "Signed out") || w.signIns("ada", "sso") != 0 {
			t.Errorf("muster logout: %s", out)
		}
		if _, err := os.Stat(h.tokenFile()); !os.IsNotExist(err) {
			t.Errorf("the token after muster logout: %v", err)
		}
	}
	h := w.home("")
	if out, err := h.login(ada, "deny", "--device"); err == nil ||
		!strings.Contains(out, "The request was refused in the browser") {
		t.Errorf("a refused muster login: %v: %s", err, out)
	}
}

// TestCredentialProcess: `muster credentials` gives keys to every client.
func TestCredentialProcess(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.AddUser("ada", "developer")
	fleet := w.Fleet("custom-here")
	h := w.home("developer")
	ada := w.signedIn("ada")
	ada.leaves = true
	if out, err := h.login(ada, "allow"); err != nil {
		t.Fatalf("muster login: %v: %s", err, out)
	}
	h.configure("\n[profile process]\ncredential_process = %q credentials --profile muster\nregion = %s\n"+
		"services = muster\n", musterBinary(t), w.Region)
	for name, open := range h.callers("process") {
		h.lists(name+" with muster credentials", open(), fleet)
	}
	var keys struct{ Version int }
	if err := json.Unmarshal([]byte(h.muster("credentials")), &keys); err != nil || keys.Version != 1 {
		t.Errorf("muster credentials: %+v, %v", keys, err)
	}
	h.muster("logout")
	if out, err := h.command("credentials").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "muster login") {
		t.Errorf("muster credentials after the logout: %v: %s", err, out)
	}
}
