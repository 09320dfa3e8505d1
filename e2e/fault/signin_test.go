//go:build unix

package fault

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Three nodes are one region for signing in: each answers what another one has begun, also when that one is lost.
func TestSignIn(t *testing.T) {
	r := newSignInRegion(t)
	each := func(name string, f func()) {
		t.Run(name, func(t *testing.T) {
			defer func(outer *testing.T) { r.t = outer }(r.t)
			r.t = t
			f()
		})
	}
	each("a code gives one session", r.testCodesOnce)
	each("a refresh on several nodes", r.testRefresh)
	each("a disabled user", r.testDisabledUser)
	each("a rotated access key", r.testRotatedKey)
	each("a rotated secret", r.testRotatedSecret)
	for i, n := range r.nodes {
		each("node "+n.name+" is killed", func() { r.testLostNode(i) })
	}
	each("a node is stopped", r.testStoppedNode)
}

// race has several clients exchange each code at each of some nodes, all at the same time, and returns the tokens of
// each code that gave some. No code may give two.
func (p *program) race(nodes []*node, codes []*code) (all []*tokens) {
	p.t.Helper()
	const clients = 2 // of each code and node
	var mu sync.Mutex
	var racing sync.WaitGroup
	got := make([][]*tokens, len(codes))
	for i, c := range codes {
		for _, n := range slices.Repeat(nodes, clients) {
			racing.Go(func() {
				one, err := p.redeem(p.t.Context(), n, c)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					p.t.Error(err)
				} else if one != nil {
					got[i] = append(got[i], one)
				}
			})
		}
	}
	racing.Wait()
	for i, c := range codes {
		if len(got[i]) > 1 {
			p.t.Errorf("%s gave tokens to %d clients", c.name, len(got[i]))
		}
		all = append(all, got[i]...)
	}
	return all
}

// allowed returns codes of a person: devices that one node has started and another has allowed, and authorization codes
// of the latter.
func (r *signInRegion) allowed(p *program, b *browser, started, decided *node) (codes []*code) {
	r.t.Helper()
	const each = 2
	for range each {
		device, userCode := p.startDevice(started)
		b.allow(decided, userCode)
		codes = append(codes, device, b.authorize(decided, p))
	}
	return codes
}

// signedIn returns the tokens of a person who has signed in at a node.
func (r *signInRegion) signedIn(n *node, user string) (*program, *tokens) {
	r.t.Helper()
	p := r.register(n)
	b, _ := r.signIn(n, user)
	got, err := p.redeem(r.t.Context(), n, b.authorize(n, p))
	if err != nil || got == nil {
		r.t.Fatalf("no tokens: %v", err)
	}
	return p, got
}

// A code that was issued at one node is exchanged at another one, by one client.
func (r *signInRegion) testCodesOnce() {
	a, b, c := r.nodes[0], r.nodes[1], r.nodes[2]
	r.addUser(a, "ada")
	p := r.register(a)
	browser, _ := r.signIn(c, "ada")
	device, userCode := p.startDevice(a)
	if _, err := p.ask(r.t.Context(), c, device.body); !isRejected(err, "AuthorizationPendingException") {
		r.t.Errorf("before it is allowed: %v", err)
	}
	browser.allow(b, userCode)
	codes := append(r.allowed(p, browser, a, b), device)
	begun := time.Now()
	got := p.race(r.nodes, codes)
	r.t.Logf("%d codes gave %d sessions after %s", len(codes), len(got), time.Since(begun).Round(time.Millisecond))
	if len(got) != len(codes) {
		r.t.Errorf("%d of %d codes gave tokens", len(got), len(codes))
	}
	for _, n := range r.nodes {
		if count := r.signIns(n, "ada"); count != len(got) {
			r.t.Errorf("node %s knows %d sessions, want %d", n.name, count, len(got))
		}
	}
	for _, one := range got {
		for i, n := range r.nodes {
			keys, err := r.roleKeys(r.t.Context(), n, one.AccessToken)
			if err == nil {
				err = r.use(r.t.Context(), r.nodes[(i+1)%len(r.nodes)], keys)
			}
			if err != nil {
				r.t.Errorf("a session at node %s: %v", n.name, err)
			}
		}
	}
}

// One refresh token gives the same tokens on several nodes at once. A token from before the last one ends the session
// on all nodes.
func (r *signInRegion) testRefresh() {
	r.addUser(r.nodes[0], "bob")
	p, first := r.signedIn(r.nodes[0], "bob")
	second := r.refreshTogether(p, first)
	if second.RefreshToken == first.RefreshToken || second.AccessToken == first.AccessToken {
		r.t.Error("a refresh gives the same tokens again")
	}
	third := r.refreshTogether(p, second)
	keys, err := r.roleKeys(r.t.Context(), r.nodes[1], third.AccessToken)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := p.refresh(r.t.Context(), r.nodes[2], first.RefreshToken); !isRejected(err, "InvalidGrantException") {
		r.t.Errorf("a replayed refresh token gives %v", err)
	}
	for _, n := range r.nodes {
		if _, err := p.refresh(r.t.Context(), n, third.RefreshToken); !isRejected(err, "InvalidGrantException") {
			r.t.Errorf("after the replay a refresh at node %s gives %v", n.name, err)
		}
		if _, err := r.roleKeys(r.t.Context(), n, third.AccessToken); !isRejected(err, "UnauthorizedException") {
			r.t.Errorf("after the replay the access token at node %s gives %v", n.name, err)
		}
		if !r.refused(r.t.Context(), n, keys) {
			r.t.Errorf("after the replay node %s accepts the keys of the session", n.name)
		}
	}
}

func isRejected(err error, code string) bool {
	rejected, ok := errors.AsType[*rejection](err)
	return ok && rejected.code == code
}

// refreshTogether refreshes a token several times on all nodes at once.
func (r *signInRegion) refreshTogether(p *program, old *tokens) *tokens {
	r.t.Helper()
	nodes := slices.Repeat(r.nodes, 2)
	got := make([]*tokens, len(nodes))
	var refreshing sync.WaitGroup
	for i, n := range nodes {
		refreshing.Go(func() {
			var err error
			if got[i], err = p.refresh(r.t.Context(), n, old.RefreshToken); err != nil {
				r.t.Errorf("refresh at node %s: %v", n.name, err)
			}
		})
	}
	refreshing.Wait()
	for _, one := range got {
		if one == nil {
			r.t.FailNow()
		}
		if one.RefreshToken != got[0].RefreshToken || one.AccessToken != got[0].AccessToken {
			r.t.Fatal("parallel refreshes of one token give different tokens")
		}
	}
	return got[0]
}

// A stopwatch measures how long keys are accepted from a change on.
type stopwatch struct {
	*signInRegion
	watching sync.WaitGroup
	begun    atomic.Int64 // time of the change, Unix nanoseconds
	slowest  atomic.Int64 // nanoseconds
}

// watch begins to use keys at nodes, until they are refused. All have accepted them when it returns.
func (r *signInRegion) watch(keys aws.Credentials, nodes []*node) *stopwatch {
	r.t.Helper()
	s := &stopwatch{signInRegion: r}
	for _, n := range nodes {
		if err := r.use(r.t.Context(), n, keys); err != nil {
			r.t.Fatalf("the keys at node %s: %v", n.name, err)
		}
		s.watching.Go(func() { s.follow(n, keys) })
	}
	return s
}

// follow uses keys until they are refused.
func (s *stopwatch) follow(n *node, keys aws.Credentials) {
	for end := time.Now().Add(limit); !s.refused(s.t.Context(), n, keys); {
		if time.Now().After(end) {
			s.t.Errorf("node %s accepts the keys %s after the change", n.name, limit)
			return
		}
	}
	took := time.Now().UnixNano() - s.begun.Load()
	for most := s.slowest.Load(); took > most && !s.slowest.CompareAndSwap(most, took); most = s.slowest.Load() {
	}
}

// measure makes the change and returns how long it took until all nodes have refused the keys.
func (s *stopwatch) measure(change func()) time.Duration {
	s.t.Helper()
	s.begun.Store(time.Now().UnixNano())
	change()
	s.watching.Wait()
	return time.Duration(s.slowest.Load())
}

// stopsWithin is how long a change of access may take on a busy machine; a quiet one takes some milliseconds. The
// service promises a second.
const stopsWithin = 5 * time.Second

func (r *signInRegion) stops(what string, keys aws.Credentials, change func()) {
	r.t.Helper()
	took := r.watch(keys, r.nodes).measure(change)
	r.t.Logf("%s: refused on all nodes after %s", what, took.Round(time.Millisecond))
	if took > stopsWithin {
		r.t.Errorf("%s: refused on all nodes after %s", what, took)
	}
}

// Role keys of one node work on all, and stop on all when the user is disabled.
func (r *signInRegion) testDisabledUser() {
	r.addUser(r.nodes[0], "eve")
	p, got := r.signedIn(r.nodes[0], "eve")
	keys, err := r.roleKeys(r.t.Context(), r.nodes[0], got.AccessToken)
	if err != nil {
		r.t.Fatal(err)
	}
	b, _ := r.signIn(r.nodes[2], "eve")
	device, userCode := p.startDevice(r.nodes[0])
	b.allow(r.nodes[1], userCode)
	r.stops("role keys of a disabled user", keys, func() { r.disable(r.nodes[1], "eve") })
	for _, n := range r.nodes {
		if _, err := p.refresh(r.t.Context(), n, got.RefreshToken); !isRejected(err, "InvalidGrantException") {
			r.t.Errorf("the refresh of a disabled user at node %s gives %v", n.name, err)
		}
	}
	if _, err := p.ask(r.t.Context(), r.nodes[2], device.body); !isRejected(err, "AccessDeniedException") {
		r.t.Errorf("a device that was allowed before gives %v", err)
	}
}

// An access key that is rotated, or inactive, stops on all nodes, and its successor works on all.
func (r *signInRegion) testRotatedKey() {
	var made, rotated struct{ ID, Secret string }
	keysOf := func(made struct{ ID, Secret string }) aws.Credentials {
		return aws.Credentials{AccessKeyID: made.ID, SecretAccessKey: made.Secret}
	}
	r.operate(r.nodes[0], http.MethodPost, "/v1/keys", map[string]any{"service": "builder",
		"policies": []string{"GameLiftReadOnly"}}, &made)
	r.stops("a rotated access key", keysOf(made), func() {
		r.operate(r.nodes[1], http.MethodPost, "/v1/keys/"+made.ID+"/rotate", nil, &rotated)
	})
	r.stops("an inactive access key", keysOf(rotated), func() {
		r.operate(r.nodes[2], http.MethodPatch, "/v1/keys/"+rotated.ID, map[string]any{"status": "Inactive"}, nil)
	})
	root := r.root
	r.stops("a rotated root key", root, func() {
		r.operate(r.nodes[0], http.MethodPost, "/v1/root-key/rotate", nil, &made)
		r.root = keysOf(made)
	})
	for _, n := range r.nodes {
		if err := r.use(r.t.Context(), n, r.root); err != nil {
			r.t.Errorf("the new root key at node %s: %v", n.name, err)
		}
	}
}

// muster runs the command line against a node, with the root key.
func (r *signInRegion) muster(n *node, args ...string) {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), n.Path, args...)
	command.Env = append(os.Environ(), "AWS_ENDPOINT_URL=http://"+n.address, "AWS_REGION="+awsRegion,
		"AWS_ACCESS_KEY_ID="+r.root.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+r.root.SecretAccessKey)
	if out, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("muster %v: %v\n%s", args, err, out)
	}
}

// While the region's secret is rotated no call fails, on any node: with old keys, with new ones, or with keys that
// another node has issued a moment ago.
func (r *signInRegion) testRotatedSecret() {
	r.addUser(r.nodes[0], "cat")
	p, got := r.signedIn(r.nodes[0], "cat")
	old, err := r.roleKeys(r.t.Context(), r.nodes[0], got.AccessToken)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	var calling sync.WaitGroup
	var rounds atomic.Int64 // of calls
	for _, n := range r.nodes {
		for _, next := range r.others(n) {
			calling.Go(func() {
				for ctx.Err() == nil {
					r.callAround(n, next, got.AccessToken, old)
					rounds.Add(1)
				}
			})
		}
	}
	const last = 12 // rotations
	for i := range last {
		if n := r.nodes[i%len(r.nodes)]; i < len(r.nodes) {
			r.muster(n, "secret", "rotate")
		} else {
			r.operate(n, http.MethodPost, "/v1/secret/rotate", nil, nil)
		}
		enough := rounds.Load() + 10
		await(r.t, "the clients go on", func() bool { return rounds.Load() > enough })
	}
	for _, n := range r.nodes {
		await(r.t, "node "+n.name+" uses the new secret", func() bool {
			keys, err := r.roleKeys(r.t.Context(), n, got.AccessToken)
			return err == nil && epochOf(keys) == last
		})
	}
	cancel()
	calling.Wait()
	r.t.Logf("%d rounds of 4 calls during %d rotations", rounds.Load(), last)
	for _, n := range r.nodes {
		if got, err = p.refresh(r.t.Context(), n, got.RefreshToken); err != nil {
			r.t.Fatalf("a refresh at node %s: %v", n.name, err)
		}
	}
}

// callAround calls a node, and the next one with what the first has issued.
func (r *signInRegion) callAround(n, next *node, accessToken string, old aws.Credentials) {
	ctx := r.t.Context()
	keys, err := r.roleKeys(ctx, n, accessToken)
	if err == nil {
		err = r.use(ctx, next, keys)
	}
	if err := errors.Join(err, r.use(ctx, n, old), r.use(ctx, next, r.root)); err != nil {
		r.t.Errorf("a call to nodes %s and %s while the secret is rotated: %v", n.name, next.name, err)
	}
}

// epochOf returns the number of the secret that has sealed a session token: its first four bytes.
func epochOf(keys aws.Credentials) uint32 {
	token, err := base64.StdEncoding.DecodeString(keys.SessionToken)
	if err != nil || len(token) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(token)
}

// A node is killed between the person's decision and the exchange of the codes. The others go on.
func (r *signInRegion) testLostNode(lost int) {
	user, dead, rest := "user"+r.nodes[lost].name, r.nodes[lost], r.others(r.nodes[lost])
	r.addUser(r.nodes[0], user)
	p, got := r.signedIn(dead, user)
	keys, err := r.roleKeys(r.t.Context(), dead, got.AccessToken)
	if err != nil {
		r.t.Fatal(err)
	}
	requests := []string{got.id}
	var person *browser
	for _, n := range r.nodes {
		var id string
		person, id = r.signIn(n, user)
		requests = append(requests, id)
	}
	before := r.awaitTrail(rest[0], requests...)
	codes := r.allowed(p, person, r.nodes[0], r.nodes[1])

	dead.Kill()
	r.keysGoOn(rest, keys)
	begun := time.Now()
	all := p.race(rest, codes)
	r.t.Logf("%d codes gave %d sessions after %s", len(codes), len(all), time.Since(begun).Round(time.Millisecond))
	for _, n := range rest {
		if count := r.signIns(n, user) - 1; count < len(all) || count > len(codes) {
			r.t.Errorf("node %s knows %d sessions of %d codes; %d gave tokens", n.name, count, len(codes), len(all))
		}
		r.awaitTrail(n, requests...).keeps(r, n, before)
	}
	begun = time.Now()
	r.disable(rest[0], user)
	took := time.Since(begun)
	for _, n := range rest {
		if !r.refused(r.t.Context(), n, keys) {
			r.t.Errorf("node %s accepts keys of a disabled user", n.name)
		}
	}
	r.t.Logf("the user was disabled after %s", took.Round(time.Millisecond))

	r.cluster.start(r.t.Context(), dead)
	if !r.refused(r.t.Context(), dead, keys) {
		r.t.Errorf("node %s accepts keys of a user who was disabled while it was down", dead.name)
	}
	r.awaitTrail(dead, requests...).keeps(r, dead, before)
}

// keysGoOn checks that nodes accept keys at once, or do not answer for a while.
func (r *signInRegion) keysGoOn(nodes []*node, keys aws.Credentials) {
	r.t.Helper()
	begun := time.Now()
	for _, n := range nodes {
		await(r.t, "the keys work at node "+n.name, func() bool {
			err := r.use(r.t.Context(), n, keys)
			if err != nil {
				r.t.Logf("the keys at node %s: %v", n.name, err)
			}
			if r.refused(r.t.Context(), n, keys) {
				r.t.Fatalf("node %s refuses the keys of a lost node: %v", n.name, err)
			}
			return err == nil
		})
	}
	r.t.Logf("the keys worked on the other nodes after %s", time.Since(begun).Round(time.Millisecond))
}

// A node that is stopped stores what it has recorded.
func (r *signInRegion) testStoppedNode() {
	r.addUser(r.nodes[0], "dan")
	for _, n := range r.nodes[1:] {
		before := r.awaitTrail(r.nodes[0])
		_, id := r.signIn(n, "dan")
		n.Stop()
		n.AwaitEnd()
		r.awaitTrail(r.nodes[0], id).keeps(r, r.nodes[0], before)
		r.cluster.start(r.t.Context(), n)
	}
}
