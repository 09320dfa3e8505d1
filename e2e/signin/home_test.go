package signin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/muster-gg/muster/e2e/clients"
)

// A home is the home directory of a person: the configuration of the AWS tools in it has a services section, and the
// environment names no endpoint.
type home struct {
	w   *world
	dir string
}

// home returns a home directory that `muster configure` has written to.
func (w *world) home(role string) *home {
	w.Helper()
	h := &home{w, w.TempDir()}
	args := []string{"configure", "--endpoint", w.HTTP}
	if role != "" {
		args = append(args, "--role", role)
	}
	h.muster(args...)
	return h
}

// environ returns the environment of a client with a profile.
func (h *home) environ(profile string) []string {
	return []string{"HOME=" + h.dir, "USERPROFILE=" + h.dir, "AWS_PROFILE=" + profile,
		"AWS_CONFIG_FILE=" + h.dir + "/.aws/config", "AWS_SHARED_CREDENTIALS_FILE=" + h.dir + "/.aws/credentials"}
}

// command returns a process of the command muster.
func (h *home) command(args ...string) *exec.Cmd {
	h.w.Helper()
	c := exec.CommandContext(h.w.Context(), musterBinary(h.w), args...)
	c.Env = append(h.environ("muster"), "PATH="+os.Getenv("PATH"))
	return c
}

// muster runs the command muster and returns its output.
func (h *home) muster(args ...string) string {
	h.w.Helper()
	var out, talk bytes.Buffer
	c := h.command(args...)
	c.Stdout, c.Stderr = &out, &talk
	if err := c.Run(); err != nil {
		h.w.Fatalf("muster %s: %v: %s", strings.Join(args, " "), err, &talk)
	}
	return out.String()
}

// tokenFile is the file of the token in the cache of the AWS tools. Source of its name: the AWS CLI, sha1("muster").
func (h *home) tokenFile() string {
	return h.dir + "/.aws/sso/cache/35be2368d129d585ed95aec72ad3d47e2a00d100.json"
}

// keep stores the tokens of a session, as the AWS CLI does after a sign-in.
func (h *home) keep(s *session, expires time.Time) {
	h.w.Helper()
	text, err := json.Marshal(map[string]string{
		"startUrl": h.w.HTTP + "/start", "region": h.w.Region, "accessToken": s.access, "refreshToken": s.refreshToken,
		"clientId": s.ID, "clientSecret": s.Secret, "expiresAt": stamp(expires),
		"registrationExpiresAt": stamp(time.Now().Add(90 * 24 * time.Hour)),
	})
	if err != nil {
		h.w.Fatal(err)
	}
	write(h.w, string(text), h.tokenFile())
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// configure appends sections to the configuration.
func (h *home) configure(format string, args ...any) {
	h.w.Helper()
	file := h.dir + "/.aws/config"
	text, err := os.ReadFile(file)
	if err != nil {
		h.w.Fatal(err)
	}
	write(h.w, string(text)+fmt.Sprintf(format, args...), file)
}

// callers opens the clients that people use, each with a profile.
func (h *home) callers(profile string) map[string]func() clients.Caller {
	environ := h.environ(profile)
	return map[string]func() clients.Caller{
		"CLI v1": func() clients.Caller { return clients.AWSCLI(h.w, environ) },
		"boto3":  func() clients.Caller { return clients.Boto3(h.w, environ) },
		"JS":     func() clients.Caller { return clients.JavaScript(h.w, environ) },
		"Go":     func() clients.Caller { return goClient{h, profile} },
	}
}

// lists checks that a client lists a fleet.
func (h *home) lists(name string, c clients.Caller, fleet string) {
	h.w.Helper()
	var out struct{ FleetIds []string }
	if err := c.Call("ListFleets", nil, &out); err != nil {
		h.w.Errorf("%s: %v", name, err)
	} else if len(out.FleetIds) != 1 || out.FleetIds[0] != fleet {
		h.w.Errorf("%s lists %v, want %s", name, out.FleetIds, fleet)
	}
}
