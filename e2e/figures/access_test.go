package figures

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire"
)

// accessSlice is how many calls are made with one key before the next key's turn, so that what else the machine does
// weighs on all keys alike.
const accessSlice = 2000

// A keyed load makes the calls of one kind of key.
type keyed struct {
	name string
	*load
	calls *int // made so far to the service, by all keys
}

// A keyring is two services with the keys to be compared: they differ in which calls their audit trails have.
type keyring struct {
	keys []keyed // the root key of the service without a trail of the calls comes first
	stop func()
	all  muster.Endpoints // the service whose trail has all calls
}

// openKeyring prepares for n calls with each key.
func openKeyring(tb testing.TB, n int) *keyring {
	tb.Helper()
	quiet := openKeyed(tb, "management", 3*n)
	audited := openKeyed(tb, "all", n)
	return &keyring{
		keys: []keyed{
			{"root", quiet.with(quiet.root), &quiet.made},
			{"allowed", quiet.with(quiet.allowed), &quiet.made},
			{"limited", quiet.with(quiet.limited), &quiet.made},
			{"recorded", audited.with(audited.root), &audited.made},
		},
		all: audited.Endpoints,
		stop: func() {
			quiet.stop()
			audited.stop()
		},
	}
}

// A keyedService is a service with three keys.
type keyedService struct {
	muster.Endpoints
	load                   *load
	root, allowed, limited *access.KeyCreated
	made                   int // calls
	stop                   func()
}

// openKeyed starts a service whose trail has these calls, with game sessions for n calls.
func openKeyed(tb testing.TB, calls string, n int) *keyedService {
	tb.Helper()
	tell("access: preparing for %d calls", n)
	dir := tb.TempDir()
	r := reservation{wire.JSON, 1}
	s := &keyedService{}
	var sessions []string
	s.load, sessions = r.prepare(tb, dir, n+3*warm)
	p := openPlane(tb, dir, shard.SnapshotEvery{})
	s.allowed = newKey(tb, p, access.KeyInput{Service: "allowed", Policies: []string{"GameLiftBackend"}})
	s.limited = newKey(tb, p, access.KeyInput{Service: "limited", Document: limitedTo(fleetOf(sessions[0]))})
	p.stop()
	config := figureConfig()
	config.AuditCalls = calls
	s.Endpoints, s.stop = startWith(tb, dir, config)
	s.root = &access.KeyCreated{KeyView: access.KeyView{ID: s.AccessKey}, Secret: s.SecretKey}
	return s
}

// with returns the load of a key.
func (s *keyedService) with(k *access.KeyCreated) *load {
	l := *s.load
	l.reach(s.Endpoints)
	l.accessKey, l.secret = k.ID, k.Secret
	return &l
}

func newKey(tb testing.TB, p *plane, in access.KeyInput) *access.KeyCreated {
	tb.Helper()
	k, err := p.CreateKey(tb.Context(), nil, in)
	must(tb, err)
	return k
}

// fleetOf is the ARN of the fleet of a game session.
func fleetOf(session string) string {
	_, path, _ := strings.Cut(session, ":gamesession/")
	id, _, _ := strings.Cut(path, "/")
	return fleetARN + id
}

const fleetARN = "arn:aws:gamelift:" + testRegion + ":" + testAccount + ":fleet/"

// limitedTo is a policy for the game sessions of one fleet.
func limitedTo(fleet string) json.RawMessage {
	return json.RawMessage(`{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": ["gamelift:Describe*", "gamelift:List*"], "Resource": "*"},
		{"Effect": "Allow", "Action": "gamelift:CreatePlayerSession", "Resource": "` + fleet + `"}]}`)
}

// round makes n calls with each key, in turns, of which each begins with another key.
func (k *keyring) round(tb testing.TB, n int) []measure {
	tb.Helper()
	all := make([]measure, len(k.keys))
	for done := 0; done < n; done += accessSlice {
		slice := min(accessSlice, n-done)
		for turn := range k.keys {
			i := (turn + done/accessSlice) % len(k.keys)
			key := k.keys[i]
			key.first = *key.calls
			m := key.run(tb, slice)
			*key.calls += slice
			all[i].add(&m)
		}
	}
	return all
}

// add joins two measures of the same.
func (m *measure) add(more *measure) {
	m.times = append(m.times, more.times...)
	m.took += more.took
	m.allocs += more.allocs
	m.cpu += more.cpu
}

// dropped is the metric that counts records for which the audit trail was too slow.
const dropped = "muster_audit_dropped_total"

// BenchmarkAccess makes calls with the root key, with a key whose policy allows them all, with one whose policy allows
// one fleet, and with the root key of a service whose audit trail has each call.
func BenchmarkAccess(b *testing.B) {
	var k *keyring
	b.Run("calls", func(leaf *testing.B) {
		if k == nil {
			k = openKeyring(b, operations(b))
			k.round(leaf, warm)
		}
		before := counters(leaf, k.all)
		all := k.round(leaf, leaf.N)
		root := &all[0]
		root.sample().report(leaf, "root-")
		for i := range all[1:] {
			m, name := &all[i+1], k.keys[i+1].name+"-"
			m.sample().report(leaf, name)
			leaf.ReportMetric(m.rate()/root.rate(), name+"of-root")
			leaf.ReportMetric(root.cpuPerCall()/m.cpuPerCall(), name+"of-root-by-cpu")
			if leaf.N > 1 {
				tell("%s%.0f calls/s, %.2f µs CPU, the root key %.0f, %.2f", name, m.rate(), m.cpuPerCall(),
					root.rate(), root.cpuPerCall())
			}
		}
		leaf.ReportMetric((counters(leaf, k.all)[dropped]-before[dropped])/float64(leaf.N), "dropped/op")
	})
	if k != nil {
		k.stop()
	}
}

// decisionsEach is how many times an operation of BenchmarkDecisions makes a decision.
const decisionsEach = 1000

// BenchmarkDecisions measures what is decided about a call, without the call. Each operation is 1,000 decisions, so
// that the clock does not count.
func BenchmarkDecisions(b *testing.B) {
	d := openDecisions(b, operations(b)*decisionsEach)
	for _, s := range d.steps() {
		b.Run(s.name, func(b *testing.B) {
			begin := bench.OwnCPU()
			for range b.N * decisionsEach {
				s.do()
			}
			spent := float64((bench.OwnCPU() - begin).Nanoseconds()) / float64(b.N*decisionsEach)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(spent, "cpu-ns/decision")
			if b.N > 1 {
				tell("%s: %.0f ns", s.name, spent)
			}
		})
	}
}

// decisions are a control plane and whom it knows.
type decisions struct {
	testing.TB
	*plane
	allowed, limited *access.KeyCreated
	cold             []*access.Temporary // that the plane has not seen
	fleet            string              // ARN
}

func openDecisions(tb testing.TB, keys int) *decisions {
	tb.Helper()
	d := &decisions{TB: tb, plane: openPlane(tb, tb.TempDir(), never),
		fleet: fleetARN + stepFleet}
	d.allowed = newKey(tb, d.plane, access.KeyInput{Service: "allowed", Policies: []string{"GameLiftBackend"}})
	d.limited = newKey(tb, d.plane, access.KeyInput{Service: "limited", Document: limitedTo(d.fleet)})
	person := d.person()
	for range keys {
		t, err := d.RoleKeys(tb.Context(), person, "developer", 0, access.Origin{})
		must(tb, err)
		d.cold = append(d.cold, t)
	}
	return d
}

// person returns somebody who has signed in.
func (d *decisions) person() *access.Person {
	_, err := d.CreateUser(d.Context(), nil, access.UserInput{Name: "ada", Password: "correct horse battery"})
	must(d, err)
	must(d, d.Assign(d.Context(), nil, "ada", "developer"))
	user, err := d.CheckPassword(d.Context(), "ada", "correct horse battery", access.Origin{})
	must(d, err)
	s, err := d.StartSignIn(d.Context(), access.Start{User: user.Name, Client: "figures", Kind: access.KindSSO})
	must(d, err)
	return &access.Person{User: user, SignIn: s}
}

// identity returns whom a key authenticates.
func (d *decisions) identity(keyID, token string) *access.Identity {
	c, ok := d.Secret(keyID, token)
	if !ok {
		d.Fatal("the key is refused")
	}
	return c.Identity.(*access.Identity)
}

// steps are the decisions that are made for a call.
func (d *decisions) steps() []step {
	action, _ := policy.ActionOf("gamelift:CreatePlayerSession")
	allowed, limited := d.identity(d.allowed.ID, ""), d.identity(d.limited.ID, "")
	from := access.Origin{Address: netip.MustParseAddr("192.0.2.7"), RequestID: "r"}
	resources := []string{d.fleet}
	next := 0
	return []step{
		{"always", func() { must(d, d.Allow(allowed, from, action, resources...)) }},
		{"one-fleet", func() { must(d, d.Allow(limited, from, action, resources...)) }},
		{"temporary-key-first", func() {
			t := d.cold[next%len(d.cold)]
			next++
			d.identity(t.AccessKeyID, t.SessionToken)
		}},
		{"temporary-key-again", func() {
			t := d.cold[(next-1+len(d.cold))%len(d.cold)]
			d.identity(t.AccessKeyID, t.SessionToken)
		}},
	}
}
