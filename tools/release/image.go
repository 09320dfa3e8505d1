package main

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	imageName = "ghcr.io/muster-gg/muster"
	imageUser = 65532 // user and group "nonroot", as in other images without a distribution
)

// image writes a container image, for docker load, podman load and crane push.
func (t *target) image() error {
	binary, err := os.ReadFile(t.binary)
	if err != nil {
		return err
	}
	users := "root:x:0:0::/:/sbin/nologin\nmuster:x:" + strconv.Itoa(imageUser) + ":" + strconv.Itoa(imageUser) +
		"::/var/lib/muster:/sbin/nologin\n"
	files := []file{
		{name: "etc/passwd", mode: 0o644, content: []byte(users)},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: rootCertificates()},
		{name: "tmp/", mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{name: "usr/bin/muster", mode: 0o755, content: binary},
		{name: "var/lib/muster/", mode: fs.ModeDir | 0o700, owner: imageUser},
	}
	var layer bytes.Buffer
	if err := writeTar(&layer, files, t.at); err != nil {
		return err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil }
	compressed, err := tarball.LayerFromOpener(opener, tarball.WithCompressionLevel(gzip.BestCompression),
		tarball.WithCompressedCaching)
	if err != nil {
		return err
	}
	configured, err := mutate.ConfigFile(empty.Image, t.imageConfig())
	if err != nil {
		return err
	}
	history := v1.History{Created: v1.Time{Time: t.at}, CreatedBy: "make release"}
	image, err := mutate.Append(configured, mutate.Addendum{Layer: compressed, History: history})
	if err != nil {
		return err
	}
	tag, err := name.NewTag(imageName + ":" + t.number())
	if err != nil {
		return err
	}
	return tarball.WriteToFile(t.base()+".image.tar", tag, image)
}

func (t *target) imageConfig() *v1.ConfigFile {
	return &v1.ConfigFile{
		Architecture: t.arch, OS: t.os, Created: v1.Time{Time: t.at}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/usr/bin/muster"}, Cmd: []string{"serve"},
			Env:          []string{"PATH=/usr/bin", "MUSTER_DATA=/var/lib/muster"},
			User:         strconv.Itoa(imageUser) + ":" + strconv.Itoa(imageUser),
			Volumes:      map[string]struct{}{"/var/lib/muster": {}},
			ExposedPorts: map[string]struct{}{"9080/tcp": {}, "3000/tcp": {}},
			StopSignal:   "SIGTERM",
			Healthcheck: &v1.HealthConfig{
				Test: []string{"CMD", "/usr/bin/muster", "health"}, Interval: 10 * time.Second,
				Timeout: 6 * time.Second, StartPeriod: time.Minute, Retries: 3,
			},
			Labels: map[string]string{
				"org.opencontainers.image.title":    "muster",
				"org.opencontainers.image.version":  t.number(),
				"org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.source":   "https://github.com/muster-gg/muster",
			},
		},
	}
}

// rootCertificates returns Mozilla's root certificates in PEM, without those that are trusted only for certificates up
// to some date: PEM has no field for that.
func rootCertificates() (out []byte) {
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})...)
		}
	}
	return out
}
