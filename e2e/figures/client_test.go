package figures

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/wire"
)

const (
	// connections is how many keep-alive connections a load on nodes comes over.
	connections = 64

	// manyConnections is how many a load on the service and on its bare peer comes over:
	// enough that both keep the processors busy, which shows in that the ratio of their rates
	// is the one by processor time. Of the service's callers most wait for the disk: with 64
	// of them it used 1.5 of two fast processors, and the peer, which waits for nothing, 1.9.
	manyConnections = 256
)

// A load is calls of one operation over HTTP, signed as the SDKs sign. Its
// client makes no garbage, so that allocations are those of who answers.
type load struct {
	protocol          wire.Protocol
	operation         string
	addresses         []string // host:port of each node; the connections are spread over them
	accessKey, secret string
	body              func(dst []byte, call int) []byte // appends the body of a call
	first             int                               // the number of the first call of the next run
}

// reach has the load go to the nodes of a region.
func (l *load) reach(nodes ...muster.Endpoints) {
	l.accessKey, l.secret, l.addresses = nodes[0].AccessKey, nodes[0].SecretKey, nil
	for _, e := range nodes {
		l.addresses = append(l.addresses, strings.TrimPrefix(e.HTTP, "http://"))
	}
}

// A measure is what a load came to.
type measure struct {
	times  []time.Duration // of each call
	took   time.Duration
	allocs uint64
	cpu    time.Duration // of client and server together; 0 where the system does not tell
}

func (m *measure) calls() float64         { return float64(len(m.times)) }
func (m *measure) rate() float64          { return m.calls() / m.took.Seconds() }
func (m *measure) allocsPerCall() float64 { return float64(m.allocs) / m.calls() }
func (m *measure) cpuPerCall() float64    { return float64(m.cpu.Nanoseconds()) / 1000 / m.calls() }

func (m *measure) sample() sample {
	return sample{
		rate: m.rate(), allocs: m.allocsPerCall(), cpu: m.cpuPerCall(),
		p50: m.quantile(0.5) / 1000, p99: m.quantile(0.99) / 1000,
	}
}

// quantile is the time, in microseconds, within which the share q of the calls was answered.
func (m *measure) quantile(q float64) float64 {
	slices.Sort(m.times)
	return float64(m.times[int(q*m.calls())].Microseconds())
}

// run makes n calls over many connections, each of which must succeed.
func (l *load) run(tb testing.TB, n int) measure {
	tb.Helper()
	return l.over(tb, manyConnections, n)
}

// over is run with so many connections.
func (l *load) over(tb testing.TB, connections, n int) measure {
	tb.Helper()
	var next atomic.Int64
	var clients sync.WaitGroup
	errs := make(chan error, connections)
	times := make([]time.Duration, n)
	all := make([]*client, connections)
	for i := range all {
		address := l.addresses[i%len(l.addresses)]
		conn, err := net.Dial("tcp", address)
		if err != nil {
			tb.Fatal(err)
		}
		defer conn.Close()
		all[i] = l.newClient(address, conn)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu, begin := bench.OwnCPU(), time.Now()
	for _, c := range all {
		clients.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				start := time.Now()
				if err := c.call(l.first + int(i)); err != nil {
					errs <- err
					return
				}
				times[i] = time.Since(start)
			}
		})
	}
	clients.Wait()
	m := measure{times: times, took: time.Since(begin), cpu: bench.OwnCPU() - cpu}
	runtime.ReadMemStats(&after)
	select {
	case err := <-errs:
		tb.Fatal(err)
	default:
	}
	m.allocs = after.Mallocs - before.Mallocs
	return m
}

// A client makes one call after the other over one connection.
type client struct {
	*load
	address string
	conn    net.Conn
	read    *bufio.Reader
	mac     hash.Hash // keyed for today
	sha     hash.Hash
	sum     [sha256.Size]byte
	hexSum  [2 * sha256.Size]byte
	payload []byte
	scratch []byte
	request []byte
	date    string // of the signature, written down once
	scope   string
}

// newClient makes a client of a connection to an address, or without one a client that
// only composes requests.
func (l *load) newClient(address string, conn net.Conn) *client {
	now := time.Now().UTC()
	c := &client{load: l, address: address, conn: conn, sha: sha256.New(), date: now.Format("20060102T150405Z")}
	if conn != nil {
		c.read = bufio.NewReaderSize(conn, 16<<10)
	}
	key := []byte("AWS4" + l.secret)
	for _, part := range []string{c.date[:8], testRegion, "gamelift", "aws4_request"} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	c.mac = hmac.New(sha256.New, key)
	c.scope = c.date[:8] + "/" + testRegion + "/gamelift/aws4_request"
	return c
}

// invocation stands for the header by which the SDKs tell retries apart. It is
// always the same: nothing looks at it in the calls that are measured.
const invocation = "3f0e6a1c-1111-4222-8333-444455556666"

// call makes one call and reads its answer.
func (c *client) call(i int) error {
	c.compose(i)
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	return c.answer()
}

// compose leaves the request of a call in c.request.
func (c *client) compose(i int) {
	c.payload = c.body(c.payload[:0], i)
	path, kind, protocol := "/", "application/x-amz-json-1.1", ""
	if c.protocol == wire.CBOR {
		path, kind = "/service/GameLift/operation/"+c.operation, "application/cbor"
		protocol = "rpc-v2-cbor"
	}
	c.sign(path, kind, protocol)
	r := append(c.request[:0], "POST "...)
	r = append(r, path...)
	r = append(r, " HTTP/1.1\r\nHost: "...)
	r = append(r, c.address...)
	r = append(r, "\r\nUser-Agent: aws-sdk-go-v2/1.41.0 ua/2.1 os/linux lang/go#1.26.8 md/GOOS#linux "+
		"md/GOARCH#amd64 api/gamelift#1.55.0\r\nContent-Length: "...)
	r = strconv.AppendInt(r, int64(len(c.payload)), 10)
	r = append(r, "\r\nContent-Type: "...)
	r = append(r, kind...)
	r = append(r, "\r\nAmz-Sdk-Invocation-Id: "+invocation+"\r\nAmz-Sdk-Request: attempt=1; max=3\r\nX-Amz-Date: "...)
	r = append(r, c.date...)
	if c.protocol == wire.CBOR {
		r = append(r, "\r\nSmithy-Protocol: rpc-v2-cbor"...)
	} else {
		r = append(r, "\r\nX-Amz-Target: GameLift."...)
		r = append(r, c.operation...)
	}
	r = append(r, "\r\nAuthorization: AWS4-HMAC-SHA256 Credential="...)
	r = append(r, c.accessKey...)
	r = append(r, '/')
	r = append(r, c.scope...)
	r = append(r, ", SignedHeaders="...)
	r = append(r, c.signedHeaders()...)
	r = append(r, ", Signature="...)
	r = append(r, c.hexSum[:]...)
	r = append(r, "\r\nAccept-Encoding: gzip\r\n\r\n"...)
	r = append(r, c.payload...)
	c.request = r
}

// signedHeaders are those that the SDK for Go signs.
func (c *client) signedHeaders() string {
	if c.protocol == wire.CBOR {
		return "amz-sdk-invocation-id;amz-sdk-request;content-length;content-type;host;smithy-protocol;x-amz-date"
	}
	return "amz-sdk-invocation-id;amz-sdk-request;content-length;content-type;host;x-amz-date;x-amz-target"
}

// sign leaves the signature of the call in c.hexSum.
func (c *client) sign(path, kind, protocol string) {
	s := append(c.scratch[:0], "POST\n"...)
	s = append(s, path...)
	s = append(s, "\n\namz-sdk-invocation-id:"+invocation+"\namz-sdk-request:attempt=1; max=3\ncontent-length:"...)
	s = strconv.AppendInt(s, int64(len(c.payload)), 10)
	s = append(s, "\ncontent-type:"...)
	s = append(s, kind...)
	s = append(s, "\nhost:"...)
	s = append(s, c.address...)
	if c.protocol == wire.CBOR {
		s = append(s, "\nsmithy-protocol:"...)
		s = append(s, protocol...)
	}
	s = append(s, "\nx-amz-date:"...)
	s = append(s, c.date...)
	if c.protocol == wire.JSON {
		s = append(s, "\nx-amz-target:GameLift."...)
		s = append(s, c.operation...)
	}
	s = append(s, "\n\n"...)
	s = append(s, c.signedHeaders()...)
	s = append(s, '\n')
	c.hash(c.payload)
	s = append(s, c.hexSum[:]...)
	c.hash(s)
	s = append(s[:0], "AWS4-HMAC-SHA256\n"...)
	s = append(s, c.date...)
	s = append(s, '\n')
	s = append(s, c.scope...)
	s = append(s, '\n')
	s = append(s, c.hexSum[:]...)
	c.mac.Reset()
	c.mac.Write(s)
	hex.Encode(c.hexSum[:], c.mac.Sum(c.sum[:0]))
	c.scratch = s
}

func (c *client) hash(data []byte) {
	c.sha.Reset()
	c.sha.Write(data)
	hex.Encode(c.hexSum[:], c.sha.Sum(c.sum[:0]))
}

var (
	lengthHeader = []byte("Content-Length: ")
	goodStatus   = []byte("HTTP/1.1 200 ")
)

// answer reads an answer, which must be a success.
func (c *client) answer() error {
	line, err := c.read.ReadSlice('\n')
	if err != nil {
		return err
	}
	good, length := bytes.HasPrefix(line, goodStatus), -1
	for len(line) > 2 {
		if line, err = c.read.ReadSlice('\n'); err != nil {
			return err
		}
		if text, ok := bytes.CutPrefix(line, lengthHeader); ok {
			length = 0
			for _, digit := range bytes.TrimSpace(text) {
				length = 10*length + int(digit-'0')
			}
		}
	}
	if length < 0 {
		return errors.New("the answer does not say how long it is")
	}
	if !good {
		body := make([]byte, length)
		_, err := io.ReadFull(c.read, body)
		return errors.Join(fmt.Errorf("not a success: %s", body), err)
	}
	_, err = c.read.Discard(length)
	return err
}
