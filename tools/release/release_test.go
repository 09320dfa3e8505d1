//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

var distFlag = flag.String("dist", "", "release to check, from the root of the repository (default: build one)")

const maxImageSize = 40 << 20 // bytes to pull

// TestRelease builds a release for this platform, compares it with that in -dist or else with a second one, and tries
// its files.
func TestRelease(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("releases are for amd64 and arm64")
	}
	t.Chdir("../..")
	dist, again := *distFlag, t.TempDir()
	here := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if dist == "" {
		dist = t.TempDir()
		check(t, build(dist, "v1.2.3", here))
	}
	base := strings.TrimSuffix(one(t, dist, runtime.GOARCH+".deb"), ".deb")
	version := "v" + strings.Split(filepath.Base(base), "_")[1]
	check(t, build(again, version, here))
	t.Run("Reproducible", func(t *testing.T) { compare(t, again, dist) })
	t.Run("Archive", func(t *testing.T) { checkArchive(t, base, version) })
	t.Run("Deb", func(t *testing.T) { checkDeb(t, base+".deb") })
	t.Run("Image", func(t *testing.T) { checkImage(t, base+".image.tar") })
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// one returns the only file with the suffix.
func one(t *testing.T, dir, suffix string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has %v, %v", dir, found, err)
	}
	return found[0]
}

// output runs a program and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// compare holds the sums of one release to be among those of another.
func compare(t *testing.T, some, all string) {
	want, err := os.ReadFile(filepath.Join(all, "SHA256SUMS"))
	check(t, err)
	got, err := os.ReadFile(filepath.Join(some, "SHA256SUMS"))
	check(t, err)
	if len(got) == 0 {
		t.Error("no sums")
	}
	for line := range strings.Lines(string(got)) {
		if !strings.Contains(string(want), line) {
			t.Errorf("%q is not among\n%s", line, want)
		}
	}
}

func checkArchive(t *testing.T, base, version string) {
	dir := t.TempDir()
	output(t, "tar", "-xzf", base+".tar.gz", "-C", dir, "--strip-components=1")
	for _, name := range []string{"LICENSE", "README.md", "deploy/muster.service", "deploy/deb/muster.toml",
		"deploy/compose.yaml", "deploy/chart/Chart.yaml", "deploy/chart/templates/_helpers.tpl",
		"deploy/chart/grafana/alerts.yml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if got := output(t, filepath.Join(dir, "muster"), "--version"); !strings.HasPrefix(got, "muster "+version+" ") {
		t.Errorf("--version is %q, want %s", got, version)
	}
	sbom, err := os.ReadFile(base + ".cdx.json")
	check(t, err)
	for _, part := range []string{`"specVersion"`, "pkg:golang/github.com/nats-io/nats-server/v2@", version} {
		if !bytes.Contains(sbom, []byte(part)) {
			t.Errorf("the SBOM lacks %s", part)
		}
	}
}

func checkDeb(t *testing.T, deb string) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not installed: Debian and Ubuntu have it")
	}
	listed := map[string]string{} // mode and owner by path
	for line := range strings.Lines(output(t, "dpkg-deb", "--contents", deb)) {
		f := strings.Fields(line)
		listed[f[5]] = f[0] + " " + f[1]
	}
	for path, want := range map[string]string{
		"./usr/bin/muster": "-rwxr-xr-x root/root", "./etc/muster/": "drwxr-x--- root/root",
		"./etc/muster/muster.toml": "-rw-r----- root/root", "./usr/share/doc/muster/copyright": "-rw-r--r-- root/root",
		"./usr/lib/systemd/system/muster.service": "-rw-r--r-- root/root",
	} {
		if listed[path] != want {
			t.Errorf("%s is %q, want %q", path, listed[path], want)
		}
	}
	root := t.TempDir()
	output(t, "dpkg-deb", "--raw-extract", deb, root)
	if got := output(t, "cat", root+"/DEBIAN/conffiles"); got != "/etc/muster/muster.toml\n" {
		t.Errorf("conffiles: %q", got)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		output(t, "sh", "-n", root+"/DEBIAN/"+script)
	}
	output(t, root+"/usr/bin/muster", "config", "--config", root+"/etc/muster/muster.toml")
	checkUnit(t, root)
}

// checkUnit has systemd verify the unit and how exposed it is.
func checkUnit(t *testing.T, root string) {
	unit, err := os.ReadFile(root + "/usr/lib/systemd/system/muster.service")
	check(t, err)
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: systems with systemd have it")
	}
	file := filepath.Join(t.TempDir(), "muster.service") // with a program that is there
	unit = bytes.ReplaceAll(unit, []byte("=/usr/bin/"), []byte("="+root+"/usr/bin/"))
	check(t, os.WriteFile(file, unit, 0o644))
	output(t, "systemd-analyze", "verify", "--man=no", file)
	output(t, "systemd-analyze", "security", "--offline=true", "--threshold=15", file) // 1.5 of 10
}

func checkImage(t *testing.T, path string) {
	image, err := tarball.ImageFromPath(path, nil)
	check(t, err)
	about, err := os.Stat(path)
	check(t, err)
	if about.Size() > maxImageSize {
		t.Errorf("the image has %d bytes, want at most %d", about.Size(), maxImageSize)
	}
	file, err := image.ConfigFile()
	check(t, err)
	c := file.Config
	if c.User != "65532:65532" || c.Healthcheck == nil || file.Architecture != runtime.GOARCH {
		t.Errorf("the configuration is %+v", file)
	}
	compose, err := os.ReadFile("deploy/compose.yaml")
	check(t, err)
	if want := "test: [" + strings.Join(c.Healthcheck.Test, ", ") + "]"; !strings.Contains(string(compose), want) {
		t.Errorf("deploy/compose.yaml lacks %q", want)
	}
	root := t.TempDir()
	unpack(t, image, root)
	certificates, err := os.ReadFile(root + "/etc/ssl/certs/ca-certificates.crt")
	if n := bytes.Count(certificates, []byte("BEGIN")); err != nil || n < 100 {
		t.Errorf("%d certificates, %v", n, err)
	}
	start(t, root, &c)
}

// unpack writes the files of an image, with their owners if it is run by root.
func unpack(t *testing.T, image v1.Image, root string) {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		check(t, err)
		path := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			check(t, os.MkdirAll(path, 0o777))
		} else {
			check(t, os.MkdirAll(filepath.Dir(path), 0o755))
			content, err := io.ReadAll(r)
			check(t, err)
			check(t, os.WriteFile(path, content, 0o666))
		}
		if os.Getuid() == 0 {
			check(t, os.Chown(path, h.Uid, h.Gid))
		}
		check(t, os.Chmod(path, h.FileInfo().Mode()))
	}
}

// start runs the image's command until its health check succeeds, and stops it.
func start(t *testing.T, root string, c *v1.Config) {
	t.Helper()
	// An address of this process, so that no port is taken by another one.
	pid := os.Getpid()
	address := net.IPv4(127, 2, byte(pid>>8), byte(pid)).String() + ":9080"
	environment := append(slices.Clone(c.Env), "MUSTER_LISTEN="+address, "MUSTER_GATEWAY_LISTEN=")
	process := contained(t, root, append(slices.Clone(c.Entrypoint), c.Cmd...), environment)
	var log bytes.Buffer
	process.Stdout, process.Stderr = &log, &log
	check(t, process.Start())
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()

	var health []byte
	for wait := time.After(time.Minute); ; {
		probe := contained(t, root, c.Healthcheck.Test[1:], environment)
		var err error
		if health, err = probe.CombinedOutput(); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the service ended: %v\n%s", err, &log)
		case <-wait:
			_ = process.Process.Kill() // fails if it has ended
			err = errors.Join(err, <-ended)
			t.Fatalf("never healthy: %v\n%s\n%s", err, health, &log)
		case <-time.After(100 * time.Millisecond):
		}
	}
	if string(health) != "ready\n" {
		t.Errorf("health: %q", health)
	}
	check(t, process.Process.Signal(syscall.SIGTERM))
	if err := <-ended; err != nil {
		t.Errorf("the service ended with %v\n%s", err, &log)
	}
}

// contained returns a command with the image's files as root and its user. Without the right to that, it only has the
// image's files.
func contained(t *testing.T, root string, args, environment []string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		c := exec.Command(filepath.Join(root, args[0]), args[1:]...)
		c.Env = append(environment, "MUSTER_DATA="+filepath.Join(root, "var/lib/muster"))
		return c
	}
	for _, d := range []string{root, filepath.Dir(root)} { // those of the test are for root alone
		check(t, os.Chmod(d, 0o755))
	}
	c := exec.Command(args[0], args[1:]...)
	c.Path, c.Err = args[0], nil // in the image
	c.Dir, c.Env = "/", environment
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
	return c
}

func TestVersions(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", strconv.Itoa(int(time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC).Unix())))
	t.Chdir(t.TempDir()) // without Git
	var r release
	if err := r.identify(); err == nil || !strings.Contains(err.Error(), "set -version") {
		t.Errorf("no version: %v", err)
	}
	r.version = "1.2.3"
	if err := r.identify(); err == nil || !strings.Contains(err.Error(), "v1.2.3") {
		t.Errorf("no v: %v", err)
	}
	r.version = "v1.2.3"
	if err := r.identify(); err != nil || r.number() != "1.2.3" || r.at.Year() != 2026 {
		t.Errorf("%+v, %v", r, err)
	}
}
