package catalog

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func started(id, user string, at event.Time) *SignInStarted {
	return &SignInStarted{SignIn{ID: id, User: user, Kind: SignInSSO, Created: at, Used: at, Ends: at + day,
		IdleEnds: at + day, Generation: 1, Rotated: at}}
}

func TestStartSignIn(t *testing.T) {
	start := func(change ...func(*SignIn)) StartSignIn {
		c := StartSignIn{SignIn{ID: "new", User: "ada", Kind: SignInSSO, Created: t0 - 1, IdleEnds: t0 - 1 + day,
			Ends: t0 - 1 + day}}
		for _, f := range change {
			f(&c.SignIn)
		}
		return c
	}
	user := userMade("ada")
	invalid := func(name string, change func(*SignIn)) scene {
		return scene{name: name, given: []Event{user}, when: start(change), fault: fault.InvalidRequest}
	}
	two := []Event{user, started("a", "ada", t0-5), started("b", "ada", t0-6)}
	used := append(two, &SignInRotated{"b", 2, t0 - 4, t0 + day})
	play(t, []scene{
		{name: "start", given: []Event{user}, when: start(), then: []Event{started("new", "ada", t0-1)}},
		{name: "fields of the event", given: []Event{user}, when: start(func(si *SignIn) {
			si.Used, si.Generation, si.Rotated, si.Thumbprint = 5, 5, 5, []byte{}
		}), then: []Event{started("new", "ada", t0-1)}},
		{name: "start again", given: []Event{user, started("new", "ada", t0)}, when: start()},
		{name: "the oldest ends", given: two, when: start(),
			then: []Event{&SignInEnded{"b", "ada", ReplacedReason}, started("new", "ada", t0-1)}},
		{name: "the one that was used last stays", given: used, when: start(),
			then: []Event{&SignInEnded{"a", "ada", ReplacedReason}, started("new", "ada", t0-1)}},
		{name: "too many of all", given: []Event{user, userMade("bob"), started("a", "bob", t0), started("b", "bob",
			t0),
			started("c", "bob", t0)}, when: start(), fault: fault.LimitExceeded,
			text: "The limit of 3 sign-ins is reached"},
		{name: "one for another at the limit", given: append(two, userMade("bob"), started("c", "bob", t0)),
			when: start(),
			then: []Event{&SignInEnded{"b", "ada", ReplacedReason}, started("new", "ada", t0-1)}},
		{name: "nobody", when: start(), fault: fault.NotFound, text: "User ada not found"},
		{name: "a service", given: []Event{userMade("ada", func(u *User) { u.Service = true })}, when: start(),
			fault: fault.InvalidRequest, text: errServiceUser.Message},
		{name: "disabled", given: []Event{userMade("ada", func(u *User) { u.Disabled = true })}, when: start(),
			fault: fault.AccessDenied, text: "User ada is disabled"},
		{name: "signed out meanwhile", given: []Event{userMade("ada", func(u *User) { u.NotBefore = t0 })},
			when:  start(),
			fault: fault.AccessDenied},
		invalid("no id", func(si *SignIn) { si.ID = "" }),
		invalid("no kind", func(si *SignIn) { si.Kind = "" }),
		invalid("no time", func(si *SignIn) { si.Created = 0 }),
		invalid("no end", func(si *SignIn) { si.Ends = 0 }),
		invalid("no idle end", func(si *SignIn) { si.IdleEnds = 0 }),
		invalid("idle before", func(si *SignIn) { si.IdleEnds = si.Created }),
		invalid("client", func(si *SignIn) { si.Client = strings.Repeat("x", 1001) }),
	})
	s := given(t, Limits{SignIns: 5}, user)
	_, err := s.Decide(t0, start())
	wantFault(t, err, fault.LimitExceeded, "The limit of 0 sign-ins of a user is reached")
}

func TestRotateSignIn(t *testing.T) {
	window := event.Time(RefreshWindow.Milliseconds())
	base := []Event{userMade("ada"), started("s", "ada", t0-minute)}
	rotated := append(base, &SignInRotated{"s", 2, t0 - window, t0 + minute})
	replay := []Event{&SignInEnded{"s", "ada", ReplayReason}}
	play(t, []scene{
		{name: "rotate", given: base, when: RotateSignIn{"s", 1, t0, t0 + minute},
			then: []Event{&SignInRotated{"s", 2, t0, t0 + minute}}},
		{name: "rotate again", given: rotated, when: RotateSignIn{ID: "s", From: 2, IdleEnds: t0 + day},
			then: []Event{&SignInRotated{"s", 3, t0, t0 + day}}},
		{name: "in parallel", given: rotated, when: RotateSignIn{"s", 1, t0, t0 + day}},
		{name: "repeated", given: rotated, when: RotateSignIn{"s", 1, t0 - window, t0 + day}},
		{name: "replayed", given: rotated, when: RotateSignIn{"s", 1, t0 + 1, t0 + day}, then: replay},
		{name: "replayed of long ago", given: append(rotated, &SignInRotated{"s", 3, t0, t0 + day}),
			when: RotateSignIn{"s", 1, t0, t0 + day}, then: replay},
		{name: "from the future", given: base, when: RotateSignIn{"s", 2, t0, t0 + day}, then: replay},
		{name: "no generation", given: base, when: RotateSignIn{"s", 0, t0, t0 + day}, fault: fault.InvalidRequest},
		{name: "idle before", given: base, when: RotateSignIn{"s", 1, t0, t0}, fault: fault.InvalidRequest},
		{name: "unknown", when: RotateSignIn{"s", 1, t0, t0 + day}, fault: fault.NotFound,
			text: "The sign-in has ended. Sign in again."},
		{name: "expired", given: []Event{userMade("ada"), started("s", "ada", t0-day)},
			when: RotateSignIn{"s", 1, t0, t0 + day}, fault: fault.NotFound},
		{name: "disabled", given: append(base, &UserDisabledSet{Name: "ada", Disabled: true}),
			when: RotateSignIn{"s", 1, t0, t0 + day}, fault: fault.AccessDenied, text: "User ada is disabled"},

		{name: "touch", given: base, when: TouchSignIn{ID: "s", IdleEnds: t0 + minute},
			then: []Event{&SignInTouched{"s", t0, t0 + minute}}},
		{name: "touch again", given: append(base, &SignInTouched{"s", t0, t0 + minute}),
			when: TouchSignIn{"s", t0 - 1, t0 + day}},
		{name: "touch unknown", when: TouchSignIn{ID: "s", IdleEnds: t0 + minute}, fault: fault.NotFound},

		{name: "end", given: base, when: EndSignIn{"s", "sign-out"}, then: []Event{&SignInEnded{"s", "ada",
			"sign-out"}}},
		{name: "end again", when: EndSignIn{"s", "sign-out"}},
		{name: "end with a long reason", given: base, when: EndSignIn{"s", strings.Repeat("x", 1001)},
			fault: fault.InvalidRequest},
	})
	s := given(t, smallLimits(), append(rotated, &SignInTouched{"s", t0, t0 + 2*minute},
		&SignInTouched{ID: "unknown"})...)
	if si, ok := s.SignIn("s"); !ok || si.Generation != 2 || si.Used != t0 || si.Rotated != t0-window ||
		si.IdleEnds != t0+2*minute || si.Created != t0-minute {
		t.Errorf("sign-in %+v", si)
	}
}

func TestSignInsExpire(t *testing.T) {
	s := given(t, DefaultLimits(), userMade("ada"), started("a", "ada", t0), started("b", "ada", t0),
		started("unknown", "bob", t0), &SignInRotated{"b", 2, t0, t0 + minute}, &SignInRotated{"unknown", 2, t0, t0})
	for _, want := range []struct {
		at event.Time
		id string
	}{{t0 + minute, "b"}, {t0 + day, "a"}} {
		if s.Deadline() != want.at || s.Expire(want.at-1) != nil {
			t.Fatalf("deadline %d, want %d", s.Deadline(), want.at)
		}
		events := s.Expire(want.at)
		if got := dump(events); got != dump([]Event{&SignInEnded{want.id, "ada", ExpiredReason}}) {
			t.Fatalf("got %s", got)
		}
		s.Apply(events[0])
		checkDerived(t, s)
	}
	if s.SignIns() != 0 || s.Deadline() != 0 || s.SignInsOf("ada") != nil {
		t.Error("sign-ins are left")
	}
}
