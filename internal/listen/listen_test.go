package listen_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newListener listens on a free port with a certificate made for tests.
func newListener(t *testing.T, c listen.Config) (l *listen.Listener, roots *x509.CertPool) {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	roots = x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	c.TLS = &tls.Config{Certificates: certified.TLS.Certificates}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = listen.New(inner, c)
	t.Cleanup(func() { _ = l.Close() })
	return l, roots
}

// serve answers with "plain" or "tls", as the request came.
func serve(t *testing.T, l net.Listener) {
	t.Helper()
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(
		w http.ResponseWriter, r *http.Request,
	) {
		body, _ := io.ReadAll(r.Body)
		kind := "plain"
		if r.TLS != nil {
			kind = "tls"
		}
		_, _ = io.WriteString(w, kind+" "+r.Proto+" "+string(body))
	})}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
}

// post sends body and returns the answer.
func post(t *testing.T, url, body string, config *tls.Config) string {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func TestBothOnOnePort(t *testing.T) {
	l, roots := newListener(t, listen.Config{})
	serve(t, l)
	addr := l.Addr().String()
	large := strings.Repeat("x", 1<<20)
	if got := post(t, "http://"+addr, large, nil); got != "plain HTTP/1.1 "+large {
		t.Errorf("plain text: got %.40q", got)
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := &tls.Config{RootCAs: roots, MinVersion: version, MaxVersion: version}
		if got := post(t, "https://"+addr, large, config); got != "tls HTTP/1.1 "+large {
			t.Errorf("%s: got %.40q", tls.VersionName(version), got)
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	l, roots := newListener(t, listen.Config{})
	serve(t, l)
	c, err := tls.Dial("tcp", l.Addr().String(),
		&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if err == nil {
		_ = c.Close()
		t.Error("TLS 1.1 was accepted")
	}
}

func TestRefusePlain(t *testing.T) {
	l, roots := newListener(t, listen.Config{RefusePlain: true})
	serve(t, l)
	got := post(t, "http://"+l.Addr().String(), strings.Repeat("x", 100_000), nil)
	if !strings.Contains(got, "TLS only") {
		t.Errorf("got %q", got)
	}
	if got := post(t, "https://"+l.Addr().String(), "", &tls.Config{RootCAs: roots}); got != "tls HTTP/1.1 " {
		t.Errorf("got %q", got)
	}
}

func TestSilentClientIsDropped(t *testing.T) {
	l, _ := newListener(t, listen.Config{FirstByte: 50 * time.Millisecond})
	serve(t, l)
	silent := dial(t, l)
	if got := post(t, "http://"+l.Addr().String(), "", nil); got != "plain HTTP/1.1 " { // not held up
		t.Errorf("got %q", got)
	}
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("a silent client got an answer")
	}
}

// Those who say nothing are closed for those who come, the oldest first.
func TestSilentClientsKeepNobodyOut(t *testing.T) {
	for range 3 { // each with a listener: the last connections of a round may hold their slots a little longer
		l, _ := newListener(t, listen.Config{FirstByte: time.Hour, MaxPending: 2})
		serve(t, l)
		oldest, younger := dial(t, l), dial(t, l)
		if got := post(t, "http://"+l.Addr().String(), "", nil); got != "plain HTTP/1.1 " {
			t.Errorf("got %q", got)
		}
		for _, silent := range []net.Conn{oldest, younger} {
			_, err := io.WriteString(silent, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if silent == younger && err != nil {
				t.Error(err)
			}
			answer, err := io.ReadAll(silent)
			if kept := err == nil && len(answer) > 0; kept != (silent == younger) {
				t.Errorf("the answer is %q, %v", answer, err)
			}
		}
	}
}

func TestGarbage(t *testing.T) {
	l, _ := newListener(t, listen.Config{})
	serve(t, l)
	for _, garbage := range []string{
		"\x16garbage, not a handshake", "\x16\x03\x01\xff\xff", "\x00\x00\x00", "\xff", "GET", "NONSENSE\r\n\r\n",
	} {
		c := dial(t, l)
		if _, err := io.WriteString(c, garbage); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c) // ends: the server gives up
	}
	if got := post(t, "http://"+l.Addr().String(), "", nil); got != "plain HTTP/1.1 " {
		t.Errorf("got %q", got)
	}
}

func TestCloseEndsAll(t *testing.T) {
	l, _ := newListener(t, listen.Config{FirstByte: time.Hour})
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				return
			}
			_, _ = io.WriteString(c, "hello")
			_ = c.Close()
		}
	})
	silent, spoken := dial(t, l), dial(t, l)
	_, _ = io.WriteString(spoken, "x")
	if got, _ := bufio.NewReader(spoken).ReadString('o'); got != "hello" {
		t.Errorf("got %q", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	accepting.Wait()
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("the silent client is still connected")
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Connections that have spoken but were never accepted are closed too.
func TestCloseWithoutAccept(t *testing.T) {
	l, _ := newListener(t, listen.Config{})
	first := dial(t, l)
	_, _ = io.WriteString(first, "x")
	if c, err := l.Accept(); err != nil {
		t.Error(err)
	} else {
		_ = c.Close()
	}
	waiting := dial(t, l)
	_, _ = io.WriteString(waiting, "x")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := waiting.Read(make([]byte, 1)); err == nil {
		t.Error("the waiting client is still connected")
	}
}

func TestCloseBeforeAccept(t *testing.T) {
	l, _ := newListener(t, listen.Config{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// failing gives errors that a listener may give and recover from.
type failing struct {
	net.Listener
	errs chan error
}

func (f failing) Accept() (net.Conn, error) {
	select {
	case err := <-f.errs:
		return nil, err
	default:
		return f.Listener.Accept()
	}
}

func TestErrorsOfTheInnerListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	want := errors.New("too many open files")
	errs := make(chan error, 1)
	errs <- want
	l := listen.New(failing{inner, errs}, listen.Config{TLS: &tls.Config{}})
	defer l.Close()
	if _, err := l.Accept(); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	c := dial(t, l)
	_, _ = io.WriteString(c, "x")
	if c, err := l.Accept(); err != nil {
		t.Error(err)
	} else {
		_ = c.Close()
	}
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
