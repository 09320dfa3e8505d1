package access

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/crypto/argon2"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestWeakPasswords(t *testing.T) {
	for _, weak := range []string{
		"short", "password1234", "passwordpassword", "P@ssw0rd2026!", "qwertyuiop123", "aaaaaaaaaaaa", "123456789012",
		"iloveyou1234", "administrator", "Adalovelace12", "qazwsxedc123", "abababababab",
	} {
		if checkNewPassword("adalovelace12", weak) == nil {
			t.Errorf("%q is accepted", weak)
		}
	}
	for _, fine := range []string{goodPassword, "njGk2,_pw81xT", "zwölf Boxkämpfer", "this is my new boat"} {
		if err := checkNewPassword("ada", fine); err != nil {
			t.Errorf("%q: %v", fine, err)
		}
	}
}

// TestWrongPassword has the same answer whatever is wrong, and later attempts wait.
func TestWrongPassword(t *testing.T) {
	w := newWorld(t)
	w.person("ada", "developer")
	disabled := true
	w.person("bob")
	_, err := w.UpdateUser(t.Context(), nil, "bob", UserPatch{Disabled: &disabled})
	w.ok(err)
	_, err = w.CreateUser(t.Context(), nil, UserInput{Name: "robot", Service: true})
	w.ok(err)
	for _, c := range [][2]string{
		{"ada", "wrong"}, {"nobody", goodPassword}, {"bob", goodPassword}, {"robot", goodPassword}, {"ada", ""},
	} {
		_, err := w.CheckPassword(t.Context(), c[0], c[1], w.from)
		w.is(err, ErrWrong)
	}
	for range 3 {
		w.is(errOf(w.CheckPassword(t.Context(), "ada", "wrong", w.from)), ErrWrong)
	}
	wait, ok := errors.AsType[*WaitError](errOf(w.CheckPassword(t.Context(), "ada", goodPassword, w.from)))
	if !ok || wait.After != time.Second {
		t.Fatalf("after 5 failures: %v", wait)
	}
	w.clock.Advance(time.Second)
	for range 2 {
		w.is(errOf(w.CheckPassword(t.Context(), "ada", "wrong", w.from)), ErrWrong)
		w.clock.Advance(4 * time.Second)
	}
	_, err = w.CheckPassword(t.Context(), "ada", goodPassword, w.from)
	w.ok(err) // the right one works after the delay
	for range 5 {
		_, _ = w.CheckPassword(t.Context(), "ada", "wrong", w.from)
	}
	w.Unlock("ada")
	_, err = w.CheckPassword(t.Context(), "ada", goodPassword, w.from)
	w.ok(err)
}

func errOf[T any](_ T, err error) error { return err }

// TestGuessingFromOneAddress makes the address wait, and no other one.
func TestGuessingFromOneAddress(t *testing.T) {
	w := newWorld(t)
	w.person("ada")
	for i := range addressFailures {
		w.delays.failed("user"+itoa(i), w.from.Address, w.clock.Now())
	}
	_, err := w.CheckPassword(t.Context(), "ada", goodPassword, w.from)
	if _, ok := errors.AsType[*WaitError](err); !ok {
		t.Errorf("got %v", err)
	}
	elsewhere := w.from
	elsewhere.Address = netip.MustParseAddr("198.51.100.1")
	_, err = w.CheckPassword(t.Context(), "ada", goodPassword, elsewhere)
	w.ok(err)
}

func TestDelaysAreBounded(t *testing.T) {
	var d delays
	d.init()
	now := time.Now()
	for i := range 2 * maxDelays {
		d.failed("u"+itoa(i), netip.Addr{}, now)
	}
	if len(d.failures) > maxDelays+1 {
		t.Errorf("%d entries", len(d.failures))
	}
}

func TestInvitation(t *testing.T) {
	w := newWorld(t)
	created, err := w.CreateUser(t.Context(), nil, UserInput{Name: "ada", Invite: true})
	w.ok(err)
	if u, err := w.other.Invited(created.Invite); err != nil || u.Name != "ada" {
		t.Fatal(err)
	}
	_, err = w.AcceptInvite(t.Context(), created.Invite, "password1234", w.from)
	w.kind(err, fault.InvalidRequest)
	_, err = w.AcceptInvite(t.Context(), created.Invite, goodPassword, w.from)
	w.ok(err)
	_, err = w.AcceptInvite(t.Context(), created.Invite, "another good one", w.from)
	w.is(err, ErrInvite)
	w.clock.Advance(time.Second)
	w.signIn("ada")
	again, err := w.UpdateUser(t.Context(), nil, "ada", UserPatch{Invite: true})
	w.ok(err)
	w.clock.Advance(inviteTime)
	_, err = w.Invited(again.Invite)
	w.is(err, ErrInvite)
}

func TestPasswordsOff(t *testing.T) {
	w := newWorld(t)
	w.person("ada")
	w.kind(w.SetLocalPasswords(t.Context(), false), fault.InvalidRequest)
	_, err := w.PutProvider(t.Context(), nil, ProviderInput{Name: "dex", Issuer: "https://dex.example.com",
		ClientID: "muster", SignIn: true})
	w.ok(err)
	w.ok(w.SetLocalPasswords(t.Context(), false))
	_, err = w.CheckPassword(t.Context(), "ada", goodPassword, w.from)
	w.is(err, ErrWrong)
	w.ok(w.SetLocalPasswords(t.Context(), true))
	w.signIn("ada")
}

// TestRehash: a password that was hashed at a lower cost is hashed again at the next sign-in, and at no other time.
func TestRehash(t *testing.T) {
	w := newWorld(t)
	w.Access.hashMemory = 32 // as an earlier release
	first := w.person("ada", "developer")
	w.Access.hashMemory = 64
	hash := func() string {
		u, _ := w.state().User("ada")
		return u.Password
	}
	old := hash()
	_, err := w.CheckPassword(t.Context(), "ada", "wrong", w.from)
	w.is(err, ErrWrong)
	if hash() != old {
		t.Error("a wrong password is stored")
	}
	u, err := w.CheckPassword(t.Context(), "ada", goodPassword, w.from)
	w.ok(err)
	raised := hash()
	if !strings.HasPrefix(raised, "$argon2id$v=19$m=64,t=2,p=1$") || u.Password != raised {
		t.Errorf("%s after %s", raised, old)
	}
	if _, err := w.Bearer(w.Tokens(first.SignIn).Access); err != nil {
		t.Error("the session before ended:", err)
	}
	w.signIn("ada")
	w.Access.hashMemory = 32 // a cheaper one is no reason
	w.signIn("ada")
	if hash() != raised {
		t.Error("it was hashed again without a reason")
	}
	w.Access.hashMemory = 128
	set := false
	w.race(func(catalog.Command) bool { // the password is changed at the same moment
		set = true
		w.ok(errOf(w.other.UpdateUser(t.Context(), nil, "ada", UserPatch{Password: text("another good one")})))
		return true
	})
	_, err = w.CheckPassword(t.Context(), "ada", goodPassword, w.from)
	w.ok(err)
	if !set {
		t.Fatal("it was not hashed again")
	}
	_, err = w.CheckPassword(t.Context(), "ada", goodPassword, w.from)
	w.is(err, ErrWrong)
	_, err = w.CheckPassword(t.Context(), "ada", "another good one", w.from)
	w.ok(err)
}

// TestRehashThatFails: the sign-in succeeds all the same.
func TestRehashThatFails(t *testing.T) {
	w := newWorld(t)
	w.Access.hashMemory = 32
	w.person("ada")
	w.Access.hashMemory = 64
	w.Access.cfg.Catalog = &failingCatalog{w.catalog, func(catalog.Command) error { return errors.New("no quorum") }}
	u, err := w.CheckPassword(t.Context(), "ada", goodPassword, w.from)
	w.ok(err)
	if !strings.Contains(u.Password, "m=32,") {
		t.Errorf("%s", u.Password)
	}
}

// TestHashSlots: few passwords are hashed at once; others wait for 2 s. A slot rests after its use.
func TestHashSlots(t *testing.T) {
	defer leaktest.Check(t)()
	t.Run("slots", func(t *testing.T) {
		w := newWorld(t)
		w.person("ada")
		config, clock := w.cfg, clockwork.NewFakeClockAt(w.clock.Now()) // on which nobody else waits
		config.Clock = clock
		node := New(config)
		node.hashMemory = 64
		free, err := node.takeSlot(t.Context(), w.from)
		w.ok(err)
		result := make(chan error)
		check := func(ctx context.Context) {
			go func() {
				_, err := node.CheckPassword(ctx, "ada", goodPassword, w.from)
				result <- err
			}()
			w.ok(clock.BlockUntilContext(t.Context(), 1))
		}
		check(t.Context())
		clock.Advance(hashWait - 1)
		select {
		case err := <-result:
			t.Fatal("it did not wait:", err)
		default:
		}
		clock.Advance(1)
		w.kind(<-result, fault.Throttling)
		ctx, cancel := context.WithCancel(t.Context())
		check(ctx)
		cancel()
		w.is(<-result, context.Canceled)
		check(t.Context())
		free()
		select {
		case err := <-result:
			t.Fatal("the slot did not rest:", err)
		default:
		}
		clock.Advance(node.slot.most)
		w.ok(<-result)
		// A user who must wait meanwhile is refused before the password is hashed.
		clock.Advance(node.slot.most)
		done, err := node.takeSlot(t.Context(), w.from)
		w.ok(err)
		check(t.Context())
		for range userFailures {
			node.delays.failed("ada", w.from.Address, clock.Now())
		}
		done() // in no time, so that it need not rest
		if _, ok := errors.AsType[*WaitError](<-result); !ok {
			t.Error("attempts in parallel are not counted")
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		node.slot.taken <- struct{}{}
		_, err = node.CreateUser(ctx, nil, UserInput{Name: "eve", Password: goodPassword})
		w.is(err, context.Canceled)
		err = node.setPassword(ctx, &catalog.User{Name: "ada"}, goodPassword, nil)
		w.is(err, context.Canceled)
	})
}

// TestSuspectSlot: an address that has failed of late waits for those that have too, and others do not wait for them.
func TestSuspectSlot(t *testing.T) {
	w := newWorld(t)
	guesser := Origin{Address: netip.MustParseAddr("203.0.113.9")}
	if w.slotFor(guesser) != &w.slot {
		t.Error("an address that has not failed is suspected")
	}
	w.is(errOf(w.CheckPassword(t.Context(), "ada", "wrong", guesser)), ErrWrong)
	if w.slotFor(guesser) != &w.suspectSlot || w.slotFor(w.from) != &w.slot {
		t.Error("a failure does not count, or counts for others")
	}
	w.clock.Advance(failureWindow + 1)
	if w.slotFor(guesser) != &w.slot {
		t.Error("a failure counts for ever")
	}
}

// TestStoredHashes: a hash of another form matches nothing and costs little.
func TestStoredHashes(t *testing.T) {
	w := newWorld(t)
	right, err := w.hashPassword(t.Context(), goodPassword)
	w.ok(err)
	h, err := parseHash(right)
	w.ok(err)
	if h.String() != right || !w.matches(h, goodPassword) || w.matches(h, goodPassword+"x") || w.weak(h) {
		t.Errorf("%+v of %s", h, right)
	}
	long := strings.Repeat("Ab3!x", 60)[:maxPassword]
	other, err := w.hashPassword(t.Context(), long)
	w.ok(err)
	if h, err := parseHash(other); err != nil || !w.matches(h, long) || w.matches(h, long+"x") {
		t.Error("a password is compared in part:", err)
	}
	for _, c := range [][2]string{
		{"$argon2id$", "$argon2i$"}, {"v=19", "v=16"}, {"m=64", "m=2097152"}, {"t=2", "t=0"}, {"t=2", "t=17"},
		{"p=1", "p=4"}, {"m=64", "m=x"}, {"$m=", "m="}, {right[strings.LastIndexByte(right, '$'):], "$"},
		{right[strings.LastIndexByte(right, '$'):], "$%"}, {"p=1$", "p=1$%"},
	} {
		bad := strings.Replace(right, c[0], c[1], 1)
		if _, err := parseHash(bad); !errors.Is(err, errHash) {
			t.Errorf("%s is read", bad)
		}
		w.ok(w.catalog.Change(t.Context(), catalog.PutUser{User: catalog.User{Name: "ada", ID: "AIDA"}, Create: true}))
		if err := w.catalog.Change(t.Context(), catalog.SetPassword{Name: "ada", Password: bad}); err != nil {
			continue // the catalog knows better
		}
		_, err := w.CheckPassword(t.Context(), "ada", goodPassword, w.from)
		w.is(err, errHash)
	}
}

// TestGuessableIsQuick: the time grows with the length of a password, whatever it repeats.
func TestGuessableIsQuick(t *testing.T) {
	if isGuessable(strings.Repeat("qazwsxedc", 28) + "k") {
		t.Error("it is no sequence of common parts")
	}
	if !isGuessable(strings.Repeat("qazwsxedc", 28)) {
		t.Error("it is a sequence of common parts")
	}
}

// TestGuessing1000: what guessing costs is bounded, it stores nothing but its audit records, and it locks nobody out.
func TestGuessing1000(t *testing.T) {
	const passwords, addresses = 1000, 50
	w := newWorld(t)
	known := []string{"ada", "bob"}
	for _, name := range known {
		w.person(name, "developer")
	}
	w.ok(w.trail.Flush(t.Context()))
	before := len(w.events())
	changes := 0
	w.Access.cfg.Catalog = &failingCatalog{w.catalog, func(catalog.Command) error {
		changes++
		return nil
	}}
	var hashed, running, most atomic.Int64
	w.Access.argon2id = func(password, salt []byte, times, memory uint32, lanes uint8, size uint32) []byte {
		hashed.Add(1)
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		return argon2.IDKey(password, salt, times, memory, lanes, size)
	}
	version := w.state().AccessVersion()
	names := append([]string{"nobody", "no one"}, known...)
	byName := map[string]int64{}
	for i := range passwords { // of each name in turn, from each address in turn
		from := w.from
		from.Address = netip.AddrFrom4([4]byte{127, 0, 0, byte(1 + i%addresses)})
		name, before := names[i%len(names)], hashed.Load()
		err := errOf(w.CheckPassword(t.Context(), name, "wrong "+itoa(i), from))
		if _, waits := errors.AsType[*WaitError](err); !waits {
			w.is(err, ErrWrong)
		}
		byName[name] += hashed.Load() - before
		w.clock.Advance(10 * time.Millisecond)
	}
	for _, name := range names {
		if byName[name] != byName["ada"] {
			t.Errorf("of %s %d passwords were hashed, of ada %d", name, byName[name], byName["ada"])
		}
	}
	if n := byName["ada"]; n < userFailures || n > userFailures+5 { // 1 s, 2 s, 4 s and 8 s later
		t.Errorf("%d passwords of a user were hashed in 10 s", n)
	}
	if changes > 0 || w.state().AccessVersion() != version {
		t.Errorf("the catalog was changed %d times", changes)
	}
	// Of an address and a name: the first that was wrong, the first that was too early, and the count of each.
	if n := len(w.events()) - before; n > addresses*len(names)*2*2 {
		t.Errorf("%d audit records", n)
	}

	wait, ok := errors.AsType[*WaitError](errOf(w.CheckPassword(t.Context(), "ada", goodPassword, w.from)))
	if !ok || wait.After > longestDelay {
		t.Errorf("behind %d failures the right password has to wait: %v", passwords, wait)
	} else {
		w.clock.Advance(wait.After)
	}
	w.signIn("ada")

	// At the same time, of as many names: each is hashed, or refused because others are.
	hashed.Store(0)
	var guessers sync.WaitGroup
	for i := range addresses {
		guessers.Go(func() {
			from := w.from
			from.Address = netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i)})
			for n := range passwords / addresses {
				_ = errOf(w.CheckPassword(t.Context(), "user"+itoa(i*addresses+n), "wrong", from))
			}
		})
	}
	guessers.Wait()
	if hashed.Load() == 0 || hashed.Load() > passwords || most.Load() > 2 {
		t.Errorf("%d hashes, %d at once", hashed.Load(), most.Load())
	}
}
