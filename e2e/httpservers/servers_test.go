// Package httpservers measures the HTTP server of the API beside net/http and fasthttp.
package httpservers

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/fxamacker/cbor/v2"
	"github.com/jonboulle/clockwork"
	"github.com/valyala/fasthttp"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/wire"
)

// BenchmarkServers measures what each of three HTTP servers costs below the same
// endpoint, and below nothing but the codec: net/http, fasthttp and package listen. The calls
// are CreatePlayerSessions of 25 players and of one, signed, over 64 connections
// that stay open; nothing is stored. Processor time is that of client and
// server together; the client's part is alike. Results: docs/decisions/0010-http-server.md.
func BenchmarkServers(b *testing.B) {
	for _, players := range []int{1, 25} {
		for _, p := range []wire.Protocol{wire.JSON, wire.CBOR} {
			request := signedRequest(b, p, players)
			for _, s := range servers {
				b.Run(fmt.Sprintf("players=%d/%s/%s", players, p, s.name), func(b *testing.B) {
					l, err := net.Listen("tcp", "127.0.0.1:0")
					if err != nil {
						b.Fatal(err)
					}
					operation := wire.OpCreatePlayerSessions.Handle(createPlayerSessions)
					stop := s.serve(b, l, newEndpoint(b, operation), bareCall{p, operation})
					defer stop()
					callOver(b, l.Addr().String(), request, 2000) // fills the pools
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					cpu := bench.OwnCPU()
					b.ResetTimer()
					callOver(b, l.Addr().String(), request, b.N)
					b.StopTimer()
					cpu = bench.OwnCPU() - cpu
					runtime.ReadMemStats(&after)
					b.ReportMetric(float64(cpu.Nanoseconds())/1000/float64(b.N), "cpu-µs/call")
					b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(b.N), "allocs/call")
				})
			}
		}
	}
}

// TestServers makes a few calls through each server of the benchmark.
func TestServers(t *testing.T) {
	request := signedRequest(t, wire.JSON, 25)
	for _, s := range servers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		operation := wire.OpCreatePlayerSessions.Handle(createPlayerSessions)
		stop := s.serve(t, l, newEndpoint(t, operation), bareCall{wire.JSON, operation})
		callOver(t, l.Addr().String(), request, 200)
		stop()
	}
}

// A server serves either the endpoint or the bare call, until stop.
type server struct {
	name  string
	serve func(t testing.TB, l net.Listener, d *api.Endpoint, bare bareCall) (stop func())
}

var servers = []server{
	{"net-http", func(t testing.TB, l net.Listener, d *api.Endpoint, _ bareCall) func() { return serveHTTP(t, l, d) }},
	{"fasthttp", func(t testing.TB, l net.Listener, d *api.Endpoint, _ bareCall) func() {
		return serveFast(t, l, fastEndpoint(d))
	}},
	{"listen", func(t testing.TB, l net.Listener, d *api.Endpoint, _ bareCall) func() { return servePlain(t, l, d) }},
	{"net-http-bare", func(t testing.TB, l net.Listener, _ *api.Endpoint, c bareCall) func() {
		return serveHTTP(t, l, c)
	}},
	{"fasthttp-bare", func(t testing.TB, l net.Listener, _ *api.Endpoint, c bareCall) func() {
		return serveFast(t, l, c.fast)
	}},
	{"listen-bare", func(t testing.TB, l net.Listener, _ *api.Endpoint, c bareCall) func() {
		return servePlain(t, l, c)
	}},
}

// running runs serve until stop, which must end it without an error.
func running(t testing.TB, serve, stop func() error) func() {
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	return func() {
		if err := errors.Join(stop(), <-ended); err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}
}

func serveHTTP(t testing.TB, l net.Listener, h http.Handler) func() {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 20 * time.Second, IdleTimeout: 5 * time.Minute}
	return running(t, func() error { return s.Serve(l) }, s.Close)
}

func servePlain(t testing.TB, l net.Listener, h listen.Handler) func() {
	s := listen.NewServer(listen.ServerConfig{Handler: h})
	return running(t, func() error { return s.Serve(l) }, s.Close)
}

func serveFast(t testing.TB, l net.Listener, h fasthttp.RequestHandler) func() {
	s := &fasthttp.Server{
		Handler: h, ReadTimeout: 20 * time.Second, IdleTimeout: 5 * time.Minute, MaxRequestBodySize: 2 * api.MaxBody,
		Logger:                        log.New(io.Discard, "", 0),
		DisableHeaderNamesNormalizing: true, NoDefaultServerHeader: true, NoDefaultDate: true,
		NoDefaultContentType: true, DisablePreParseMultipartForm: true,
	}
	return running(t, func() error { return s.Serve(l) }, s.Shutdown)
}

// fastEndpoint serves an endpoint below fasthttp. Its texts are valid for as long as the
// request only, which would not do for a service.
func fastEndpoint(d *api.Endpoint) fasthttp.RequestHandler {
	text := func(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
	views := sync.Pool{New: func() any { return new(listen.Request) }}
	return func(ctx *fasthttp.RequestCtx) {
		r, a := views.Get().(*listen.Request), listen.TakeAnswer()
		h := &ctx.Request.Header
		*r = listen.Request{
			Method: text(h.Method()), Target: text(h.RequestURI()), Host: text(h.Host()), Header: r.Header[:0],
			ContentLength: int64(h.ContentLength()), Body: ctx.Request.Body(),
		}
		r.Path, _, _ = strings.Cut(r.Target, "?")
		for name, value := range h.All() {
			r.Header = append(r.Header, listen.Field{Name: text(name), Value: text(value)})
		}
		d.Answer(context.Background(), r, a)
		ctx.SetStatusCode(a.Status)
		for _, f := range a.Header {
			ctx.Response.Header.Set(f.Name, f.Value)
		}
		ctx.Response.SetBody(a.Body())
		a.Release()
		views.Put(r)
	}
}

// A bareCall answers with nothing but the codec and the handler.
type bareCall struct {
	protocol  wire.Protocol
	operation wire.Handler
}

func (c bareCall) append(dst *[]byte, body []byte) {
	if err := c.operation.Serve(context.Background(), c.protocol, body, dst); err != nil {
		panic(err) // no request of ours is refused
	}
}

var bodies = sync.Pool{New: func() any { return &[2][]byte{make([]byte, 0, 4<<10), make([]byte, 0, 16<<10)} }}

func (c bareCall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := bodies.Get().(*[2][]byte)
	defer bodies.Put(b)
	b[0], b[1] = b[0][:r.ContentLength], b[1][:0]
	if _, err := io.ReadFull(r.Body, b[0]); err != nil {
		return
	}
	c.append(&b[1], b[0])
	w.Header()["Content-Type"] = []string{"application/cbor"}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(b[1]))}
	_, _ = w.Write(b[1])
}

func (c bareCall) Answer(_ context.Context, r *listen.Request, a *listen.Answer) {
	a.Add("Content-Type", "application/cbor")
	c.append(a.Buffer(), r.Body)
}

func (c bareCall) fast(ctx *fasthttp.RequestCtx) {
	b := bodies.Get().(*[2][]byte)
	defer bodies.Put(b)
	b[1] = b[1][:0]
	c.append(&b[1], ctx.Request.Body())
	ctx.Response.Header.SetContentType("application/cbor")
	ctx.Response.SetBody(b[1])
}

const (
	accessKey = "AKIDEXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// theKey is a key source of one access key.
type theKey struct{}

func (theKey) Secret(id, _ string) (sigv4.Credential, bool) {
	return sigv4.Credential{Secret: secretKey, Principal: "alice"}, id == accessKey
}

// newEndpoint makes a endpoint of one operation, whose clock stops at now.
func newEndpoint(t testing.TB, operation wire.Handler) *api.Endpoint {
	t.Helper()
	c := api.Config{Keys: theKey{}, Clock: clockwork.NewFakeClockAt(now), Handlers: []wire.Handler{operation}}
	endpoint, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint
}

func createPlayerSessions(
	_ context.Context, in *wire.CreatePlayerSessionsInput,
) (*wire.CreatePlayerSessionsOutput, error) {
	out := &wire.CreatePlayerSessionsOutput{PlayerSessions: make([]wire.PlayerSession, len(in.PlayerIds))}
	for i, p := range in.PlayerIds {
		out.PlayerSessions[i] = wire.PlayerSession{
			PlayerSessionId: "psess-3f0e6a1c-1111-4222-8333-444455556666", PlayerId: p, GameSessionId: in.GameSessionId,
			FleetId:   "fleet-3f0e6a1c-1111-4222-8333-444455556666",
			FleetArn:  "arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-3f0e6a1c",
			IpAddress: "192.0.2.1", Port: wire.Some(int32(7777)), Status: wire.PlayerSessionStatusReserved,
			CreationTime: time.UnixMilli(1767323045123), PlayerData: in.PlayerDataMap[p],
		}
	}
	return out, nil
}

// signedRequest is a call for so many players, as the SDK for Go sends it.
func signedRequest(t testing.TB, p wire.Protocol, players int) []byte {
	t.Helper()
	input := map[string]any{
		"GameSessionId": "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-home/x", "PlayerIds": names(players),
	}
	body, _ := json.Marshal(input)
	path, header := "/", http.Header{
		"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"GameLift.CreatePlayerSessions"},
	}
	if p == wire.CBOR {
		body, _ = cbor.Marshal(input)
		path, header = "/service/GameLift/operation/CreatePlayerSessions", http.Header{
			"Content-Type": {"application/cbor"}, "Smithy-Protocol": {"rpc-v2-cbor"},
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:9080"+path,
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	r.Header.Set("User-Agent",
		"aws-sdk-go-v2/1.41.0 ua/2.1 os/linux lang/go#1.26.8 md/GOOS#linux md/GOARCH#amd64 api/gamelift#1.55.0")
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Amz-Sdk-Invocation-Id", "3f0e6a1c-1111-4222-8333-444455556666")
	r.Header.Set("Amz-Sdk-Request", "attempt=1; max=3")
	sum := sha256.Sum256(body)
	key := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}
	err = v4.NewSigner().SignHTTP(t.Context(), key, r, hex.EncodeToString(sum[:]), "gamelift", "us-west-2", now)
	if err != nil {
		t.Fatal(err)
	}
	var sent bytes.Buffer
	if err := r.Write(&sent); err != nil {
		t.Fatal(err)
	}
	return sent.Bytes()
}

func names(players int) (ids []string) {
	for i := range players {
		ids = append(ids, fmt.Sprintf("player-%012d", i))
	}
	return ids
}

// callOver sends a request n times over 64 connections, each of which waits for
// an answer before it goes on. It makes no garbage to speak of.
func callOver(t testing.TB, address string, request []byte, n int) {
	var next atomic.Int64
	var clients sync.WaitGroup
	for range 64 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		clients.Go(func() {
			defer c.Close()
			in := bufio.NewReaderSize(c, 16<<10)
			for next.Add(1) <= int64(n) {
				if _, err := c.Write(request); err != nil {
					t.Error(err)
					return
				}
				if err := readAnswer(in); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
}

// readAnswer reads an answer, which must be a success.
func readAnswer(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return errors.Join(fmt.Errorf("answered with %q", line), err)
	}
	length := 0
	for len(line) > len("\r\n") {
		if line, err = in.ReadSlice('\n'); err != nil {
			return err
		}
		if digits, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(digits))); err != nil {
				return err
			}
		}
	}
	_, err = in.Discard(length)
	return err
}
