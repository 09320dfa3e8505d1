package figures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire"
)

const (
	// pacedRate is how many calls a second are due: a tenth of what two processors can do, so that a call waits for
	// nothing but what is measured.
	pacedRate        = 500
	pacedConnections = 64

	// guessRate is how many wrong passwords a second are sent, from guessers addresses: several times as many as a
	// node hashes.
	guessRate = 200
	guessers  = 50
)

// paced makes n calls, each at its time, which its duration begins at: what delays one call delays the next too.
func (l *load) paced(tb testing.TB, n int) measure {
	tb.Helper()
	var next atomic.Int64
	var clients sync.WaitGroup
	errs := make(chan error, pacedConnections)
	m := measure{times: make([]time.Duration, n)}
	cpu, begin := bench.OwnCPU(), time.Now()
	for range pacedConnections {
		conn, err := net.Dial("tcp", l.addresses[0])
		must(tb, err)
		defer conn.Close()
		c := l.newClient(l.addresses[0], conn)
		clients.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				due := begin.Add(time.Duration(i) * time.Second / pacedRate)
				time.Sleep(time.Until(due))
				if err := c.call(l.first + int(i)); err != nil {
					errs <- err
					return
				}
				m.times[i] = time.Since(due)
			}
		})
	}
	clients.Wait()
	m.took, m.cpu = time.Since(begin), bench.OwnCPU()-cpu
	select {
	case err := <-errs:
		tb.Fatal(err)
	default:
	}
	l.first += n
	return m
}

// A guessing sends wrong passwords to the sign-in page. No two are for the same name: else only the first few are
// hashed.
type guessing struct {
	target string
	rounds int
	sent   int // in all rounds
}

// A guessed is how many wrong passwords were sent, and how they were answered.
type guessed struct{ sent, hashed, refused int64 }

// start sends passwords, each with ask, until stop, which waits for the answers. Each round comes from other addresses,
// because those of an earlier one must wait.
func (g *guessing) start(tb testing.TB, ask func(_ *http.Client, target, name string) (int, error)) (
	stop func() guessed) {
	tb.Helper()
	g.rounds++
	var clients [guessers]*http.Client
	for i := range clients {
		from := &net.TCPAddr{IP: net.IPv4(127, 1, byte(g.rounds), byte(i+1))}
		clients[i] = &http.Client{Transport: &http.Transport{
			DialContext: (&net.Dialer{LocalAddr: from}).DialContext, MaxIdleConnsPerHost: guessRate}}
	}
	ctx, cancel := context.WithCancel(tb.Context())
	var total guessed
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Second / guessRate)
		defer tick.Stop()
		for ctx.Err() == nil {
			name, client := fmt.Sprint("user", g.sent), clients[g.sent%guessers]
			g.sent++
			total.sent++
			running.Go(func() {
				switch status, err := ask(client, g.target, name); {
				case err != nil:
					tb.Error(err)
				case status == http.StatusForbidden:
					atomic.AddInt64(&total.hashed, 1)
				default:
					atomic.AddInt64(&total.refused, 1)
				}
			})
			<-tick.C
		}
	})
	return func() guessed {
		cancel()
		running.Wait()
		for _, c := range clients {
			c.CloseIdleConnections()
		}
		return total
	}
}

// guess sends a wrong password.
func guess(client *http.Client, target, name string) (status int, err error) {
	form := url.Values{"name": {name}, "password": {"not the right one"}}
	response, err := client.Post(target, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	return statusOf(response, err)
}

// knock asks for the page that a password is entered in.
func knock(client *http.Client, target, name string) (status int, err error) {
	response, err := client.Get(target + "?" + name)
	return statusOf(response, err)
}

// statusOf reads an answer to its end.
func statusOf(response *http.Response, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// A siege is a service that answers calls while passwords are guessed.
type siege struct {
	load     *load
	guessing guessing
	stop     func()
}

// openSiege prepares for n calls.
func openSiege(tb testing.TB, n int) *siege {
	tb.Helper()
	dir := tb.TempDir()
	l, _ := reservation{wire.JSON, 1}.prepare(tb, dir, n)
	var e muster.Endpoints
	s := &siege{load: l}
	config := figureConfig()
	program, err := os.Executable()
	must(tb, err)
	config.PasswordHasher = []string{program, hashPasswords}
	e, s.stop = startWith(tb, dir, config)
	l.reach(e)
	s.guessing.target = e.HTTP + "/signin/in"
	return s
}

// A besieged is what a round has measured.
type besieged struct {
	quiet   measure // calls with nothing beside them
	visited measure // beside requests for the sign-in page, as many as passwords
	guessed measure // beside wrong passwords
	sent    guessed
}

// round makes n calls of each kind.
func (s *siege) round(tb testing.TB, n int) (r besieged) {
	tb.Helper()
	r.quiet = s.load.paced(tb, n)
	stop := s.guessing.start(tb, knock)
	r.visited = s.load.paced(tb, n)
	stop()
	stop = s.guessing.start(tb, guess)
	r.guessed = s.load.paced(tb, n)
	r.sent = stop()
	return r
}

// BenchmarkGuesses makes calls while passwords are guessed from many addresses. Its peer has as many requests beside
// the calls, without a password: what they and their clients cost is not the cost of checking.
func BenchmarkGuesses(b *testing.B) {
	var s *siege
	b.Run("calls", func(leaf *testing.B) {
		if s == nil {
			s = openSiege(b, 3*operations(b)+warm)
			s.load.paced(leaf, warm)
		}
		r := s.round(leaf, leaf.N)
		own, peer, quiet := r.guessed.sample(), r.visited.sample(), r.quiet.sample()
		leaf.ReportMetric(0, "ns/op")
		leaf.ReportMetric(own.p50, "p50-ms")
		leaf.ReportMetric(own.p99, "p99-ms")
		leaf.ReportMetric(peer.p50, "peer-p50-ms")
		leaf.ReportMetric(peer.p99, "peer-p99-ms")
		leaf.ReportMetric(quiet.p50, "quiet-p50-ms")
		leaf.ReportMetric(quiet.p99, "quiet-p99-ms")
		leaf.ReportMetric(peer.p50/own.p50, "of-peer-by-p50")
		leaf.ReportMetric(peer.p99/own.p99, "of-peer-by-p99")
		leaf.ReportMetric(float64(r.sent.sent), "passwords")
		leaf.ReportMetric(float64(r.sent.hashed)/r.guessed.took.Seconds(), "hashed/s")
		if leaf.N > 1 {
			tell("p50 %.2f ms, peer %.2f, quiet %.2f; p99 %.2f ms, peer %.2f, quiet %.2f; %d passwords, %d hashed",
				own.p50, peer.p50, quiet.p50, own.p99, peer.p99, quiet.p99, r.sent.sent, r.sent.hashed)
		}
	})
	if s != nil {
		s.stop()
	}
}

// A guessedPlane is a control plane whose passwords are guessed, and how often.
type guessedPlane struct {
	*plane
	guesses int
}

// BenchmarkPasswords checks wrong passwords of a known user and of names that nobody has, in turns.
func BenchmarkPasswords(b *testing.B) {
	p := &guessedPlane{plane: openPlane(b, b.TempDir(), shard.SnapshotEvery{})}
	defer p.stop()
	_, err := p.CreateUser(b.Context(), nil, access.UserInput{Name: "ada", Password: "correct horse battery"})
	must(b, err)
	b.Run("wrong", func(leaf *testing.B) {
		known, unknown := checks(leaf, p, leaf.N)
		leaf.ReportMetric(0, "ns/op")
		leaf.ReportMetric(known.quantile(0.5)/1000, "p50-ms")
		leaf.ReportMetric(unknown.quantile(0.5)/1000, "unknown-p50-ms")
		leaf.ReportMetric(unknown.quantile(0.5)/known.quantile(0.5), "of-unknown")
		if leaf.N > 1 {
			tell("known %.2f ms, unknown %.2f ms", known.quantile(0.5)/1000, unknown.quantile(0.5)/1000)
		}
	})
}

// checks checks n wrong passwords of each kind.
func checks(tb testing.TB, p *guessedPlane, n int) (known, unknown measure) {
	tb.Helper()
	for i := range 2 * n {
		name, m := "ada", &known
		if i%2 != i/2%2 { // either is the first of every other pair
			name, m = fmt.Sprint("nobody", i), &unknown
		}
		p.guesses++ // each from another address: none has to wait
		from := access.Origin{Address: netip.AddrFrom4([4]byte{10, byte(p.guesses >> 16), byte(p.guesses >> 8),
			byte(p.guesses)})}
		begin := time.Now()
		if _, err := p.CheckPassword(tb.Context(), name, "not the right one", from); !errors.Is(err, access.ErrWrong) {
			tb.Fatalf("a wrong password of %s: %v", name, err)
		}
		m.times = append(m.times, time.Since(begin))
		p.Unlock(name)
	}
	return known, unknown
}
