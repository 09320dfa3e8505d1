// Release builds the files of a release from the source around it: an archive and an SBOM for each platform, for Linux
// also a Debian package and a container image, and SHA256SUMS. It needs Go and Git, no daemon and no other program. The
// same source and the same version of Go give the same bytes, wherever they are built.
package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const allPlatforms = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"

func main() {
	version := flag.String("version", "", "version, such as v1.2.3 (default: that of the tag, or of the commit)")
	platforms := flag.String("platforms", allPlatforms, "platforms to build for, separated by spaces")
	dist := flag.String("dist", "dist", "directory for the files, from the root of the repository")
	flag.Parse()
	err := os.Chdir("..") // from tools, where Go has to be run for its modules
	if err == nil {
		err = build(*dist, *version, strings.Fields(*platforms))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A release is what its files have in common.
type release struct {
	dist    string    // directory of the files; absolute
	version string    // with the v
	at      time.Time // of all files in archives
}

// A target is a platform of a release.
type target struct {
	*release
	os, arch string
	binary   string // path
}

// build writes the files of a release of the source in the working directory, and replaces dist. An empty version is
// taken from Git.
func build(dist, version string, platforms []string) error {
	dist, err := filepath.Abs(dist)
	if err != nil {
		return err
	}
	r := &release{dist: dist, version: version}
	if err := r.identify(); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(dist), os.MkdirAll(dist, 0o777)); err != nil {
		return err
	}
	for _, platform := range platforms {
		goos, arch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("platform %q: want OS/ARCHITECTURE", platform)
		}
		t := &target{release: r, os: goos, arch: arch}
		if err := t.build(); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	return r.sums()
}

// identify fills in version and time: those of the commit, if they are not given.
func (r *release) identify() error {
	seconds, err := git("log", "-1", "--format=%ct")
	if given := os.Getenv("SOURCE_DATE_EPOCH"); given != "" { // source: reproducible-builds.org
		seconds, err = given, nil
	}
	if err != nil {
		return fmt.Errorf("time of the commit: %w; without Git set SOURCE_DATE_EPOCH", err)
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.at = time.Unix(unix, 0).UTC()
	if r.version == "" {
		r.version, err = r.describe()
	}
	if err == nil && !strings.HasPrefix(r.version, "v") {
		err = fmt.Errorf("version %q: want one such as v1.2.3", r.version)
	}
	return err
}

// describe returns the tag of the commit, or without one a version as Go has for commits.
func (r *release) describe() (string, error) {
	if tag, err := git("describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
		return tag, nil
	}
	commit, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", fmt.Errorf("version of the commit: %w; without Git set -version", err)
	}
	return "v0.0.0-" + r.at.Format("20060102150405") + "-" + commit, nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	return strings.TrimSpace(string(out)), err
}

// number returns the version without its v, as in names of files and tags of images.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// base returns the path of a file of this platform without its ending.
func (t *target) base() string {
	return filepath.Join(t.dist, fmt.Sprintf("muster_%s_%s_%s", t.number(), t.os, t.arch))
}

// build writes all files of a platform.
func (t *target) build() (err error) {
	work, err := os.MkdirTemp("", "muster-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	t.binary = filepath.Join(work, "muster")
	steps := []func() error{t.compile, t.sbom, t.archive}
	switch t.os {
	case "windows":
		t.binary += ".exe"
	case "linux":
		steps = append(steps, t.deb, t.image)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, t.base())
	return nil
}

// compile builds the binary. The version is set by the linker, too: Go records none in a linked work tree, and that of
// the tag alone elsewhere.
func (t *target) compile() error {
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags",
		"-s -w -X github.com/muster-gg/muster/internal/release.version="+t.version, "-o", t.binary, "./cmd/muster")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
	return run(command)
}

// sbom lists the modules that the binary has, in CycloneDX's form.
func (t *target) sbom() error {
	command := exec.Command("go", "tool", "cyclonedx-gomod", "bin", "-json", "-noserial", "-notimestamp", "-std",
		"-version", t.version, "-output", t.base()+".cdx.json", t.binary)
	command.Dir = "tools"
	command.Env = append(os.Environ(), "GOFLAGS=-trimpath") // the SBOM has the hash of its tool
	return run(command)
}

func run(command *exec.Cmd) error {
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command.Args[:2], " "), err, out)
	}
	return nil
}

// sums writes SHA256SUMS, for sha256sum -c.
func (r *release) sums() error {
	files, err := os.ReadDir(r.dist)
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b os.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	var lines strings.Builder
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(r.dist, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return os.WriteFile(filepath.Join(r.dist, "SHA256SUMS"), []byte(lines.String()), 0o666)
}
