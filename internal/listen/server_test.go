package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestPlainRequests(t *testing.T) {
	c := start(t, echo).dial(t)
	large := strings.Repeat("x", MaxBody)
	for range 2 { // on one connection
		c.expect(post("/", "body"), "plain", "POST / h:9080 body")
		c.expect(post("/a/b?x=%20&y", ""), "plain", "POST /a/b?x=%20&y h:9080 ")
		c.expect(post("/", large), "plain", "POST / h:9080 "+large)
		c.expect("POST / HTTP/1.1\r\nhOST:\t h \t\r\nConnection: Keep-Alive\r\n\r\n", "plain", "POST / h ")
	}
}

// The heads of the clients that matter most are plain.
func TestHeadsOfClients(t *testing.T) {
	for client, head := range map[string]string{
		"SDK for Go": "POST /service/GameLift/operation/ListFleets HTTP/1.1\r\nHost: " +
			"127.0.0.1:9080\r\nUser-Agent: aws-sdk-go-v2/1.41.0 ua/2.1 md/GOOS#linux api/gamelift#1.55.0 m/E,Z,e\r\n" +
			"Content-Length: 1\r\nAccept: application/cbor\r\nAmz-Sdk-Invocation-Id: " +
			"3f0e6a1c-1111-4222-8333-444455556666\r\nAmz-Sdk-Request: attempt=1; max=3\r\nAuthorization: " +
			"AWS4-HMAC-SHA256 " +
			"Credential=A/20260304/us-west-2/gamelift/aws4_request, SignedHeaders=host;x-amz-date, " +
			"Signature=00\r\nContent-Type: application/cbor\r\nSmithy-Protocol: rpc-v2-cbor\r\n" +
			"X-Amz-Date: 20260304T050607Z\r\nAccept-Encoding: gzip\r\n\r\n",
		"boto3, AWS CLI": "POST / HTTP/1.1\r\nHost: 127.0.0.1:9080\r\nAccept-Encoding: identity\r\nX-Amz-Target: " +
			"GameLift.ListFleets\r\nContent-Type: application/x-amz-json-1.1\r\n" +
			"User-Agent: Boto3/1.44.5 md/Botocore#1.44.5 ua/2.1 md/arch#x86_64 m/E,N,Z,b,g " +
			"cfg/retry-mode#standard Botocore/1.44.5\r\nX-Amz-Date: 20260304T050607Z\r\n" +
			"amz-sdk-request: attempt=1; max=1\r\nContent-Length: 1\r\n\r\n",
		"SDK for JavaScript": "POST / HTTP/1.1\r\ncontent-type: application/x-amz-json-1.1\r\nx-amz-target: " +
			"GameLift.ListFleets\r\ncontent-length: 1\r\nuser-agent: aws-sdk-js/3.1132.0 ua/2.1 md/nodejs#20.20.2\r\n" +
			"host: 127.0.0.1:9080\r\nConnection: keep-alive\r\n\r\n",
	} {
		var r Request
		if !r.parse(head) || r.Host != "127.0.0.1:9080" || r.ContentLength != 1 {
			t.Errorf("the head of %s is not plain: %+v", client, r)
		}
	}
}

// Requests that come in pieces, of whatever size.
func TestPieces(t *testing.T) {
	p := start(t, echo)
	request := post("/piece", "some body")
	for _, size := range []int{1, 3, 7, len(request) - 1} {
		c := p.dial(t)
		for rest := request; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			c.send(piece)
		}
		if from, _, body := c.answer(); from != "plain" || body != "POST /piece h:9080 some body" {
			t.Errorf("in pieces of %d: %q by %q", size, body, from)
		}
	}
}

// A client that does not wait for answers gets them in order.
func TestPipelining(t *testing.T) {
	c := start(t, echo).dial(t)
	large := strings.Repeat("x", 100_000)
	c.send(post("/1", "one") + post("/2", large) + post("/3", "") +
		"POST /4 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + post("/5", "five"))
	for _, want := range []struct{ from, body string }{
		{"plain", "POST /1 h:9080 one"}, {"plain", "POST /2 h:9080 " + large}, {"plain", "POST /3 h:9080 "},
		{"net/http", "POST /4 h abc"}, {"net/http", "POST /5 h:9080 five"},
	} {
		if from, _, body := c.answer(); from != want.from || body != want.body {
			t.Errorf("got %.40q by %s, want %.40q by %s", body, from, want.body, want.from)
		}
	}
}

// Other requests are answered by net/http, as the first request of a connection and after a plain one, and so are all
// after them.
func TestPassedOn(t *testing.T) {
	p := start(t, echo)
	head := strings.Repeat("X-Pad: "+strings.Repeat("y", 1000)+"\r\n", 17)
	for name, tt := range map[string]struct{ request, body string }{
		"GET": {"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", "GET /metrics h "},
		"chunked": {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
			"POST / h abc"},
		"escaped path":    {post("/a%20b", "x"), "POST /a%20b h:9080 x"},
		"absolute target": {post("http://other/p", "x"), "POST http://other/p other x"},
		"large body": {post("/", strings.Repeat("x", MaxBody+1)),
			"POST / h:9080 " + strings.Repeat("x", MaxBody+1)},
		"large head": {"POST / HTTP/1.1\r\nHost: h\r\n" + head + "Content-Length: 1\r\n\r\nx", "POST / h x"},
		"many fields": {"POST / HTTP/1.1\r\nHost: h\r\n" + strings.Repeat("A: b\r\n", maxFields+1) + "\r\n",
			"POST / h "},
		"folded line":      {"POST / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", "POST / h "},
		"LF":               {"POST / HTTP/1.1\nHost: h\nContent-Length: 1\n\nx", "POST / h x"},
		"LF in the middle": {"POST / HTTP/1.1\r\nHost: h\nContent-Length: 1\r\n\r\nx", "POST / h x"},
		"one length twice": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
			"POST / h x"},
		"no ASCII": {"POST / HTTP/1.1\r\nHost: h\r\nA: \xc3\xa9\r\n\r\n", "POST / h "},
	} {
		t.Run(name, func(t *testing.T) {
			c := p.dial(t)
			c.expect(tt.request, "net/http", tt.body)
			c.expect(post("/later", "x"), "net/http", "POST /later h:9080 x")
			c = p.dial(t)
			c.expect(post("/before", ""), "plain", "POST /before h:9080 ")
			c.expect(tt.request, "net/http", tt.body)
			c.expect(post("/later", "x"), "net/http", "POST /later h:9080 x")
		})
	}
}

// Requests that are invalid, or can be read in two ways, are rejected by net/http.
func TestRefused(t *testing.T) {
	p := start(t, func(_ context.Context, r *Request, _ *Answer) { t.Errorf("answered %+v", r) })
	for name, tt := range map[string]struct {
		request string
		status  int
	}{
		"two lengths":       {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", 400},
		"negative length":   {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400},
		"signed length":     {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\nx", 400},
		"other encoding":    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
		"no host":           {"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400},
		"two hosts":         {"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		"host with a slash": {"POST / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
		"space in a name":   {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 1\r\n\r\nx", 400},
		"no name":           {"POST / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400},
		"NUL":               {"POST / HTTP/1.1\r\nHost: h\r\nA: \x00\r\n\r\n", 400},
		"CR in a value":     {"POST / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n", 400},
		"no version":        {"POST /\r\nHost: h\r\n\r\n", 400},
		"two spaces":        {"POST  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		"expectation":       {"POST / HTTP/1.1\r\nHost: h\r\nExpect: a miracle\r\n\r\n", 417},
	} {
		t.Run(name, func(t *testing.T) {
			c := p.dial(t)
			c.send(tt.request)
			if _, status, body := c.answer(); status != tt.status {
				t.Errorf("got %d %q, want %d", status, body, tt.status)
			}
		})
	}
}

func TestExpectContinue(t *testing.T) {
	c := start(t, echo).dial(t)
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
	if _, status, _ := c.answer(); status != http.StatusContinue {
		t.Errorf("got %d", status)
	}
	c.expect("abc", "net/http", "POST / h abc")
}

// A request that stops half-way is net/http's, which knows what to say.
func TestCutShort(t *testing.T) {
	p := start(t, echo)
	for _, request := range []string{"POST / HT", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nab"} {
		c := p.dial(t)
		c.send(request)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		if _, status, body := c.answer(); status != http.StatusBadRequest {
			t.Errorf("%q: got %d %q", request, status, body)
		}
	}
}

func TestSlowRequestIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, echo).dial(t)
		c.send("POST / HTTP/1.1\r\n")
		time.Sleep(patience + time.Millisecond)
		c.expect("Host: h\r\n\r\n", "net/http", "POST / h ")
	})
}

func TestCloseIsHonoured(t *testing.T) {
	c := start(t, echo).dial(t)
	c.expect("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "net/http", "POST / h ")
	c.ended()
}

func TestIdleConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startInBubble(t, echo)
		silent, spoken := p.dial(t), p.dial(t)
		opened := time.Now()
		for range 5 {
			time.Sleep(DefaultIdle * 8 / 10)
			spoken.expect(post("/", ""), "plain", "POST / h:9080 ")
		}
		silent.ended()
		asked := time.Now()
		spoken.ended()
		if waited := time.Since(asked); waited < DefaultIdle*9/10 || waited > DefaultIdle {
			t.Errorf("closed after %v, %v after the connection was opened", waited, time.Since(opened))
		}
	})
}

// A client that goes away during a long answer cancels it; one that sends the
// next request meanwhile loses nothing.
func TestLongAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan error, 1)
		p := startInBubble(t, func(ctx context.Context, r *Request, a *Answer) {
			switch r.Target {
			case "/hang":
				<-ctx.Done()
				cancelled <- ctx.Err()
			case "/slow":
				time.Sleep(time.Minute)
			}
			echo(ctx, r, a)
		})
		c := p.dial(t)
		c.expect(post("/slow", ""), "plain", "POST /slow h:9080 ")
		c.send(post("/slow", "1"))
		time.Sleep(2 * watchAfter)
		var sending sync.WaitGroup
		sending.Go(func() { // the first bytes are read at once, the others when their time has come
			if _, err := io.WriteString(c, post("/slow", "2")); err != nil {
				t.Error(err)
			}
		})
		for _, want := range []string{"POST /slow h:9080 1", "POST /slow h:9080 2"} {
			if from, _, body := c.answer(); body != want || from != "plain" {
				t.Errorf("got %q by %s, want %q", body, from, want)
			}
		}
		sending.Wait()
		c.expect(post("/", "3"), "plain", "POST / h:9080 3")
		c.send(post("/hang", ""))
		_ = c.Close()
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestPanic(t *testing.T) {
	p := start(t, func(context.Context, *Request, *Answer) { panic("a defect") })
	c := p.dial(t)
	c.send(post("/", ""))
	c.ended()
}

// Shutdown lets running requests finish, announces to their clients that the connection closes, and closes idle
// connections.
func TestShutdown(t *testing.T) {
	running, finish := make(chan struct{}), make(chan struct{})
	p := start(t, func(ctx context.Context, r *Request, a *Answer) {
		if r.Target == "/run" {
			close(running)
			<-finish
		}
		echo(ctx, r, a)
	})
	idle, busy := p.dial(t), p.dial(t)
	idle.expect(post("/", ""), "plain", "POST / h:9080 ")
	busy.send(post("/run", ""))
	<-running
	var stopped sync.WaitGroup
	stopped.Go(func() {
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
	idle.ended()
	if _, err := p.connect(); err == nil {
		t.Error("a new connection was let in")
	}
	close(finish)
	r, err := http.ReadResponse(busy.in, nil)
	if err != nil || !r.Close || r.StatusCode != http.StatusOK {
		t.Fatalf("got %+v, %v", r, err)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	busy.ended()
	stopped.Wait()
}

// With Linger it leaves idle connections open for that time: a request that was in transit is answered as the last one
// of its connection.
func TestShutdownLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startInBubble(t, echo)
		p.linger = time.Second
		idle, late := p.dial(t), p.dial(t)
		idle.expect(post("/", ""), "plain", "POST / h:9080 ")
		synctest.Wait()
		begin := time.Now()
		done := make(chan error)
		go func() { done <- p.Shutdown(t.Context()) }()
		synctest.Wait()
		time.Sleep(p.linger / 2)
		late.send(post("/", ""))
		r, err := http.ReadResponse(late.in, nil)
		if err != nil || !r.Close || r.StatusCode != http.StatusOK {
			t.Fatalf("got %+v, %v", r, err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		late.ended()
		idle.ended()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != p.linger {
			t.Errorf("it took %s, want %s", took, p.linger)
		}
	})
}

func TestShutdownGivesUp(t *testing.T) {
	running := make(chan struct{})
	p := start(t, func(ctx context.Context, _ *Request, _ *Answer) {
		close(running)
		<-ctx.Done()
	})
	p.dial(t).send(post("/", ""))
	<-running
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A connection that the other server does not accept does not keep the server from stopping.
func TestCloseWithoutRest(t *testing.T) {
	l := freePort(t)
	s := NewServer(ServerConfig{Handler: handle(echo)})
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(l); err != nil {
			t.Error(err)
		}
	})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	first, _ := s.Rest().Accept()
	_ = first.Close()
	other, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, _ = io.WriteString(other, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := other.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	serving.Wait()
}

// Half a request behind a slow one has time of its own.
func TestTimeOfEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, echo).dial(t)
		for i := range 3 {
			next := post("/", strconv.Itoa(i))
			c.send(next[:10])
			time.Sleep(patience * 9 / 10)
			c.expect(next[10:], "plain", "POST / h:9080 "+strconv.Itoa(i))
		}
	})
}

func TestServeAfterShutdown(t *testing.T) {
	s := NewServer(ServerConfig{Handler: handle(echo)})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	l := freePort(t)
	if err := s.Serve(l); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the listener is open")
	}
}

// Both servers speak TLS when the listener does.
func TestTLS(t *testing.T) {
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	p := startOn(t, echo, tls.NewListener(freePort(t), &tls.Config{Certificates: certified.TLS.Certificates}))
	c := p.dial(t)
	secure := tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true})
	c.Conn = secure
	c.in.Reset(secure)
	c.expect(post("/", "body"), "plain", "POST / h:9080 body")
	c.expect("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "net/http", "GET / h ")
	stranger := p.dial(t)
	stranger.send("no handshake, and long enough to be read as one")
	stranger.ended()
}

// flaky fails to accept for a while.
type flaky struct {
	net.Listener
	errs chan error
}

func (f flaky) Accept() (net.Conn, error) {
	select {
	case err := <-f.errs:
		return nil, err
	default:
		return f.Listener.Accept()
	}
}

func TestAcceptErrors(t *testing.T) {
	errs := make(chan error, 2)
	errs <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
	errs <- &net.OpError{Op: "accept", Err: syscall.ECONNABORTED}
	p := startOn(t, echo, flaky{freePort(t), errs})
	p.dial(t).expect(post("/", ""), "plain", "POST / h:9080 ")

	l := freePort(t)
	_ = l.Close()
	if err := NewServer(ServerConfig{Handler: handle(echo)}).Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A client that does not read its answer is cut, however many it has read before.
func TestAnswerThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startInBubble(t, echo).dial(t)
		for range 5 {
			c.expect(post("/", ""), "plain", "POST / h:9080 ")
			time.Sleep(writeTime / 3)
		}
		c.send(post("/", ""))
		time.Sleep(2 * writeTime)
		c.ended()
	})
}

// Memory for bodies is bounded over all connections; what it has no room for is
// net/http's.
func TestBodiesInMemory(t *testing.T) {
	large := strings.Repeat("x", MaxBody)
	request := post("/", large)
	bodies := NewBudget(MaxBody)
	l := freePort(t)
	p := &pair{connect: func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }}
	p.start(t, ServerConfig{Handler: handle(echo), Bodies: bodies}, l)
	for range 3 { // nothing is held between requests
		c := p.dial(t)
		c.expect(request, "plain", "POST / h:9080 "+large)
		c.expect(post("/", "x"), "plain", "POST / h:9080 x")
	}
	if !bodies.Take(MaxBody) {
		t.Fatal("connections that have been answered hold memory")
	}
	c := p.dial(t)
	c.expect(post("/", strings.Repeat("x", 10_000)), "plain", "POST / h:9080 "+strings.Repeat("x", 10_000))
	c.expect(request, "net/http", "POST / h:9080 "+large)
	bodies.Give(MaxBody)
	p.dial(t).expect(request, "plain", "POST / h:9080 "+large)
}
