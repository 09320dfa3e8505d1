// Package objects_test calls the endpoint of objects with the clients that people use, over the listener of the
// service, with TLS and without.
package objects_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/objects/objectstest"
	"github.com/muster-gg/muster/internal/objects/s3"

	"github.com/muster-gg/muster/e2e/clients"
)

const (
	region    = "us-west-2"
	accessKey = "AKIDEXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	tempKey   = "ASIAEXAMPLE"
	token     = "FwoGZXIvYXdzE/EXAMPLE+TOKEN=="
	bucket    = "builds"
)

// A server is the endpoint on a port of its own.
type server struct {
	testing.TB
	address string
	ca      string // a file
	web     *http.Client
	catalog *objectstest.Catalog
	store   *objects.Store
}

// start serves until the end of the test.
func start(t testing.TB) *server {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	clock := clockwork.NewRealClock()
	store, err := objects.Open(objects.Config{Dir: filepath.Join(t.TempDir(), "blobs"), Clock: clock, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{TB: t, catalog: objectstest.New(clock, bucket), store: store}
	keys := objectstest.Keys{accessKey: {Secret: secretKey}, tempKey: {Secret: secretKey, Token: token}}
	handler := s3.New(s3.Config{Store: store, Catalog: s.catalog, Keys: keys, Region: region,
		Ready: func(context.Context) bool { return true }, Clock: clock, Log: log})
	s.listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s3.Is(r) {
			http.Error(w, "not for S3", http.StatusTeapot)
			return
		}
		handler.ServeHTTP(w, r)
	}), log)
	return s
}

// listen serves a handler as the service does: the fast reader of calls first, then net/http.
func (s *server) listen(handler http.Handler, log *slog.Logger) {
	s.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	s.ca = filepath.Join(s.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certified.Certificate().Raw})
	if err := os.WriteFile(s.ca, block, 0o600); err != nil {
		s.Fatal(err)
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.address = port.Addr().String()
	limits := listen.NewLimits(100, 100, log)
	listener := listen.New(limits.Listen(port), listen.Config{TLS: &tls.Config{
		Certificates: certified.TLS.Certificates}})
	calls := listen.NewServer(listen.ServerConfig{Accepts: func(*listen.Request) bool { return false }, Log: log})
	rest := &http.Server{Handler: handler, ReadTimeout: 80 * time.Second, WriteTimeout: 80 * time.Second,
		ConnContext: listen.Proxies(nil).ConnContext}
	var running errgroup.Group
	running.Go(func() error { return calls.Serve(listener) })
	running.Go(func() error { return rest.Serve(listen.Unambiguous(rest, calls.Rest())) })
	transport := certified.Client().Transport.(*http.Transport)
	s.web = &http.Client{Transport: transport}
	s.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := errors.Join(rest.Close(), calls.Close()); err != nil {
			s.Error(err)
		}
		if err := running.Wait(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.Error(err)
		}
	})
}

// url returns the endpoint of a scheme.
func (s *server) url(scheme string) string { return scheme + "://" + s.address }

// environ points a client at the server.
func (s *server) environ(scheme string, more ...string) []string {
	environ := append(clients.Environ(s.url(scheme), region, accessKey, secretKey), more...)
	if scheme == "https" {
		environ = append(environ, "AWS_CA_BUNDLE="+s.ca)
	}
	return environ
}

// schemes runs a test with each scheme.
func schemes(t *testing.T, test func(t *testing.T, s *server, scheme string)) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			test(t, start(t), scheme)
		})
	}
}

// expectBytes checks what an object has.
func (s *server) expectBytes(key string, want []byte, etag string) {
	s.Helper()
	o, err := s.catalog.Object(s.Context(), bucket, key)
	if err != nil {
		s.Errorf("%s: %v", key, err)
		return
	}
	path := filepath.Join(s.store.Dir, "sha256", o.Hash[:2], o.Hash)
	got, err := os.ReadFile(path)
	if err != nil || string(got) != string(want) {
		s.Errorf("%s: %d bytes, %v; want %d", key, len(got), err, len(want))
	}
	if o.Size != int64(len(want)) || etag != "" && strings.Trim(etag, `"`) != o.ETag {
		s.Errorf("%s: %+v, not of %d bytes and ETag %s", key, o, len(want), etag)
	}
}
