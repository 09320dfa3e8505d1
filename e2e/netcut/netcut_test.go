package netcut

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long what must happen may take.
const patience = 20 * time.Second

// echo answers each line with the same line.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					fmt.Fprintln(c, lines.Text())
				}
			})
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return listener.Addr().String()
}

// A talk is a connection to an echo.
type talk struct {
	t     *testing.T
	conn  net.Conn
	lines chan string // what has come; closed at the end
}

func dial(t *testing.T, address string) *talk {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{t: t, conn: c, lines: make(chan string, 10)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(k.lines)
		for lines := bufio.NewScanner(c); lines.Scan(); {
			k.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() { c.Close(); <-ended })
	return k
}

func (k *talk) say(line string) {
	k.t.Helper()
	if _, err := fmt.Fprintln(k.conn, line); err != nil {
		k.t.Fatal(err)
	}
}

// hear waits for a line; "" is the end.
func (k *talk) hear(want string) {
	k.t.Helper()
	select {
	case line := <-k.lines:
		if line != want {
			k.t.Fatalf("heard %q, want %q", line, want)
		}
	case <-time.After(patience):
		k.t.Fatalf("heard nothing, want %q", want)
	}
}

// silent checks that nothing has come, after another connection has been served.
func (k *talk) silent(other *talk) {
	k.t.Helper()
	other.say("?")
	other.hear("?")
	if len(k.lines) > 0 {
		k.t.Fatalf("heard %q through a wire that is cut", <-k.lines)
	}
}

// A wire lets through what is not cut, holds back what is, and loses nothing when it is
// mended.
func TestWire(t *testing.T) {
	for _, way := range []Way{Forth, Back, Both} {
		to := echo(t)
		direct, w := dial(t, to), NewWire(t, to)
		through := dial(t, w.Addr())
		through.say("one")
		through.hear("one")
		w.Cut(way)
		through.say("two")
		through.silent(direct)
		meanwhile := dial(t, w.Addr())
		meanwhile.say("three")
		meanwhile.silent(direct)
		w.Mend(Both)
		through.hear("two")
		meanwhile.hear("three")
	}
}

// Only one way is cut, if so told: what one end says comes, the answers do not.
func TestOneWay(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w := NewWire(t, listener.Addr().String())
	near := dial(t, w.Addr())
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	w.Cut(Back)
	near.say("hello")
	line, err := bufio.NewReader(far).ReadString('\n')
	if err != nil || line != "hello\n" {
		t.Fatalf("%q, %v", line, err)
	}
	fmt.Fprintln(far, "answer")
	near.silent(dial(t, echo(t)))
	w.Mend(Back)
	near.hear("answer")
}

// The end of a connection is not seen through a wire that is cut.
func TestCutEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w := NewWire(t, listener.Addr().String())
	near := dial(t, w.Addr())
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	w.Cut(Back)
	far.Close()
	near.silent(dial(t, echo(t)))
	select {
	case <-near.lines:
		t.Fatal("the end came through a wire that is cut")
	default:
	}
	w.Mend(Back)
	near.hear("")
}

// A front is a node: it is ready or not, and says its name.
type front struct {
	*httptest.Server
	ready atomic.Bool
}

func newFront(t *testing.T, name string) *front {
	f := &front{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && !f.ready.Load() {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(rw, name)
	}))
	f.ready.Store(true)
	t.Cleanup(f.Close)
	return f
}

func (f *front) address() string { return strings.TrimPrefix(f.URL, "http://") }

// A balancer leads to the nodes that are ready, and cuts the connections of those that
// are so no longer.
func TestBalancer(t *testing.T) {
	a, b := newFront(t, "a"), newFront(t, "b")
	balancer := NewBalancer(t, a.address(), b.address())
	until(t, func() bool { return len(balancer.Ready()) == 2 })
	seen := map[string]bool{}
	var held []*talk
	for range 4 {
		k := dial(t, balancer.Addr())
		k.say("GET / HTTP/1.1\r\nHost: x\r\n\r") // the answer's last line has no end
		k.hear("HTTP/1.1 200 OK")
		held = append(held, k)
	}
	a.ready.Store(false)
	until(t, func() bool { return slices.Equal(balancer.Ready(), []string{b.address()}) })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 4 {
		response, err := client.Get("http://" + balancer.Addr())
		if err != nil {
			t.Fatal(err)
		}
		name := make([]byte, 1)
		_, _ = response.Body.Read(name) // the name tells
		response.Body.Close()
		seen[string(name)] = true
	}
	if len(seen) != 1 || !seen["b"] {
		t.Errorf("answers of %v, want b alone", seen)
	}
	until(t, func() bool { // half of those that were held have ended
		ended := 0
		for _, k := range held {
			for len(k.lines) > 0 {
				<-k.lines
			}
			select {
			case _, open := <-k.lines:
				if !open {
					ended++
				}
			default:
			}
		}
		return ended == len(held)/2
	})
}

func until(t *testing.T, condition func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(time.Millisecond), time.NewTimer(patience)
	defer tick.Stop()
	defer limit.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatal("it never happened")
		}
	}
}
