package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// handle is a Handler of a function.
type handle func(ctx context.Context, r *Request, a *Answer)

func (h handle) Answer(ctx context.Context, r *Request, a *Answer) { h(ctx, r, a) }

// echo answers with what it was asked.
func echo(_ context.Context, r *Request, a *Answer) {
	a.Add("From", "plain")
	body := a.Buffer()
	*body = fmt.Appendf(*body, "%s %s %s %s", r.Method, r.Target, r.Host, r.Body)
}

// echoHTTP answers as echo does, by net/http.
func echoHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("From", "net/http")
	fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, r.Host, body)
}

// A pair is a server and the net/http server behind it.
type pair struct {
	*Server
	behind  *http.Server
	connect func() (net.Conn, error)
}

// start serves on a free port until the test ends.
func start(t testing.TB, h handle) *pair {
	t.Helper()
	return startOn(t, h, freePort(t))
}

func freePort(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func startOn(t testing.TB, h handle, l net.Listener) *pair {
	t.Helper()
	addr := l.Addr().String()
	p := &pair{connect: func() (net.Conn, error) { return net.Dial("tcp", addr) }}
	p.start(t, ServerConfig{Handler: h}, l)
	return p
}

// start serves on l until the test ends.
func (p *pair) start(t testing.TB, c ServerConfig, l net.Listener) {
	t.Helper()
	p.Server, p.behind = NewServer(c), &http.Server{Handler: http.HandlerFunc(echoHTTP), ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := p.Serve(l); err != nil {
			t.Error(err)
		}
	})
	serving.Go(func() {
		if err := p.behind.Serve(p.Rest()); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		_ = p.behind.Close()
		_ = p.Close()
		serving.Wait()
	})
}

// A pipes is a listener of connections that are no sockets, so that a bubble of
// testing/synctest can turn their clocks.
type pipes struct {
	conns  chan net.Conn
	close  sync.Once
	closed chan struct{}
}

// startInBubble serves connections of net.Pipe until the test ends.
func startInBubble(t testing.TB, h handle) *pair {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p := startOn(t, h, l)
	p.connect = func() (net.Conn, error) {
		client, server := net.Pipe()
		l.conns <- server
		return client, nil
	}
	return p
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A peer is the client's end of a connection.
type peer struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func (p *pair) dial(t testing.TB) *peer {
	t.Helper()
	c, err := p.connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Hour))
	return &peer{t, c, bufio.NewReader(c)}
}

func (c *peer) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads an answer and returns who gave it, its status and its body.
func (c *peer) answer() (from string, status int, body string) {
	c.t.Helper()
	r, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodPost})
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return r.Header.Get("From"), r.StatusCode, string(b)
}

// expect sends a request and checks its answer.
func (c *peer) expect(request, from, body string) {
	c.t.Helper()
	c.send(request)
	if f, status, b := c.answer(); f != from || status != http.StatusOK || b != body {
		c.t.Errorf("%q was answered with %d %q by %q, want %q by %q", request, status, b, f, body, from)
	}
}

// ended checks that the server has closed the connection.
func (c *peer) ended() {
	c.t.Helper()
	if b, err := c.in.ReadByte(); err == nil {
		c.t.Errorf("got %q, want the end of the connection", b)
	}
}

// post is a plain request.
func post(target, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h:9080\r\nContent-Length: %d\r\nX-Amz-Target: "+
		"GameLift.ListFleets\r\n\r\n%s", target, len(body), body)
}
