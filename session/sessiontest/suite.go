package sessiontest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/muster-gg/muster/session"
)

// A Subject is a provider to check. Its service must have no other users.
type Subject struct {
	Provider session.Provider
	// Region is the argument for Configure.
	Region string
	// FleetID and Location are where sessions are created, with capacity for at least three.
	FleetID, Location string
	// Activate activates a created session, or waits until it is active; nil if it is when CreateSession returns.
	Activate func(t *testing.T, sessionID string)
	// Manual means that only Activate activates sessions. Then Host is not checked, because it would wait for ever.
	Manual bool
}

// Provider checks the contract of session.Provider. Calls that return ErrUnsupported with a reason are not checked any
// further. subject returns a new Subject for each part.
func Provider(t *testing.T, subject func(t *testing.T) Subject) {
	t.Helper()
	for name, part := range map[string]func(*suite){
		"sessions are created, found, joined and full": (*suite).life,
		"a token gives the same session":               (*suite).token,
		"pages":                                        (*suite).pages,
		"what does not exist is not found":             (*suite).missing,
		"hosted sessions are found":                    (*suite).hosted,
		"placements":                                   (*suite).placements,
		"a context that is over":                       (*suite).over,
		"tickets":                                      (*suite).tickets,
	} {
		t.Run(name, func(t *testing.T) {
			s := &suite{t, subject(t)}
			if err := s.Provider.Configure(t.Context(), s.Region); err != nil {
				t.Fatal("Configure:", err)
			}
			part(s)
		})
	}
}

type suite struct {
	*testing.T
	Subject
}

// can reports whether a call was possible, and fails the test if it has failed.
func (s *suite) can(op string, err error) bool {
	s.Helper()
	if s.unsupported(op, err) {
		return false
	}
	if err != nil {
		s.Fatalf("%s: %v", op, err)
	}
	return true
}

// unsupported reports whether a call is not supported. Its error must have a message then.
func (s *suite) unsupported(op string, err error) bool {
	s.Helper()
	if !errors.Is(err, session.ErrUnsupported) {
		return false
	}
	if ours, ok := errors.AsType[*session.Error](err); !ok || ours.Message == "" {
		s.Errorf("%s is not supported, and does not say why: %v", op, err)
	}
	return true
}

// wants checks that an error is of one of these kinds.
func (s *suite) wants(op string, err error, kinds ...error) {
	s.Helper()
	if !s.unsupported(op, err) && !slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) }) {
		s.Errorf("%s: the error is %v, which should be %v", op, err, errors.Join(kinds...))
	}
}

// create makes an active session for two; false if the provider cannot.
func (s *suite) create(token string) (string, bool) {
	s.Helper()
	id, err := s.Provider.CreateSession(s.Context(), session.CreateSessionRequest{
		FleetID: s.FleetID, Location: s.Location, MaxPlayer: 2, SessionName: "suite",
		SessionProperties: map[string]string{"mode": "duel"}, IdempotencyToken: token,
	})
	if !s.can("CreateSession", err) {
		return "", false
	}
	if id == "" {
		s.Fatal("CreateSession: the id is empty")
	}
	if s.Activate != nil {
		s.Activate(s.T, id)
	}
	return id, true
}

func (s *suite) search(size int, next string) (session.SearchSessionsResponse, bool) {
	s.Helper()
	page, err := s.Provider.SearchSessions(s.Context(), session.SearchSessionsRequest{
		FleetID: s.FleetID, SortExpression: "creationTimeMillis ASC", MaxResult: size, NextToken: next,
	})
	return page, s.can("SearchSessions", err)
}

func (s *suite) life() {
	id, ok := s.create("")
	if !ok {
		return
	}
	if page, ok := s.search(0, ""); ok {
		if len(page.SessionConfigs) != 1 {
			s.Fatalf("SearchSessions: found %d sessions, not one", len(page.SessionConfigs))
		}
		c := page.SessionConfigs[0]
		if c.SessionID != id || c.SessionName != "suite" || c.MaxPlayer != 2 || c.Status != session.StatusActive ||
			c.SessionProperties["mode"] != "duel" || c.CreationTime.IsZero() {
			s.Errorf("SearchSessions: the session is %+v", c)
		}
	}
	s.fill(id)
}

// fill reserves both slots of a session, and tries a third.
func (s *suite) fill(id string) {
	seen := make(map[string]bool)
	for _, player := range []string{"ada", "bob"} {
		r, err := s.Provider.Reserve(s.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: player})
		if !s.can("Reserve", err) {
			return
		}
		if r.SessionID != id || r.PlayerID != player || r.PlayerSessionID == "" || r.IPAddress == "" &&
			r.DNSName == "" || r.Port == 0 || seen[r.PlayerSessionID] {
			s.Errorf("Reserve: the place of %s is %+v", player, r)
		}
		seen[r.PlayerSessionID] = true
	}
	_, err := s.Provider.Reserve(s.Context(), session.JoinSessionRequest{SessionID: id, PlayerID: "eve"})
	s.wants("Reserve in a full session", err, session.ErrFull)
	found, err := s.Provider.Find(s.Context(), session.FindRequest{})
	if s.can("Find", err) &&
		slices.ContainsFunc(found, func(r session.SearchResult) bool { return r.SessionID == id }) {
		s.Error("Find: it lists a session that is full")
	}
}

func (s *suite) token() {
	first, ok := s.create("suite-token")
	if !ok {
		return
	}
	if second, _ := s.create("suite-token"); second != first {
		s.Errorf("CreateSession: the same token gives %s and %s", first, second)
	}
	if other, _ := s.create("suite-token-2"); other == first {
		s.Error("CreateSession: another token gives the same session")
	}
}

func (s *suite) pages() {
	made := make(map[string]bool)
	for range 3 {
		id, ok := s.create("")
		if !ok {
			return
		}
		made[id] = true
	}
	next := ""
	for n := 0; n == 0 || next != ""; n++ {
		page, ok := s.search(2, next)
		if !ok {
			return
		}
		if len(page.SessionConfigs) > 2 || n > 3 {
			s.Fatalf("SearchSessions: page %d has %d sessions", n, len(page.SessionConfigs))
		}
		for _, c := range page.SessionConfigs {
			if !made[c.SessionID] {
				s.Errorf("SearchSessions: %s comes twice, or was never made", c.SessionID)
			}
			delete(made, c.SessionID)
		}
		next = page.NextToken
	}
	if len(made) != 0 {
		s.Errorf("SearchSessions: not on any page: %v", made)
	}
}

func (s *suite) missing() {
	missing := s.FleetID + "-missing"
	if id, ok := s.create(""); ok {
		missing = id + "-missing"
	}
	_, err := s.Provider.Reserve(s.Context(), session.JoinSessionRequest{SessionID: missing, PlayerID: "ada"})
	s.wants("Reserve in a session that does not exist", err, session.ErrNotFound)
	_, err = s.Provider.Placement(s.Context(), "missing")
	// A service may have no queues.
	s.wants("Placement that does not exist", err, session.ErrNotFound, session.ErrInvalid)
}

func (s *suite) hosted() {
	if s.Manual {
		return
	}
	r, err := s.Provider.Host(s.Context(), session.HostRequest{SessionName: "hosted", OwnerID: "ada", BuildID: 7,
		Connections: 2})
	if !s.can("Host", err) {
		return
	}
	if r.SessionID == "" || r.PlayerSessionID == "" || r.PlayerID != "ada" || r.IPAddress == "" && r.DNSName == "" ||
		r.Port == 0 {
		s.Fatalf("Host: the place is %+v", r)
	}
	found, err := s.Provider.Find(s.Context(), session.FindRequest{BuildID: 7})
	if !s.can("Find", err) {
		return
	}
	if len(found) != 1 || found[0].SessionID != r.SessionID || found[0].Name != "hosted" || found[0].LAN ||
		found[0].Connections != 2 || found[0].OpenConnections != 1 {
		s.Errorf("Find: found %+v", found)
	}
}

func (s *suite) placements() {
	id, err := s.Provider.CreateSessionOnQueue(s.Context(),
		session.CreateSessionOnQueueRequest{QueueName: "suite-no-such-queue", PlacementID: "suite-1", MaxPlayer: 2})
	if err != nil {
		s.wants("CreateSessionOnQueue on a queue that does not exist", err, session.ErrNotFound, session.ErrInvalid)
		return
	}
	p, err := s.Provider.Placement(s.Context(), id)
	if id != "suite-1" || err != nil || p.PlacementID != id || p.Status == "" {
		s.Errorf("Placement: %s is %+v, %v", id, p, err)
	}
}

// over checks that calls end when their context does, and leave nothing behind.
func (s *suite) over() {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	_, create := s.Provider.CreateSession(ctx, session.CreateSessionRequest{FleetID: s.FleetID,
		Location: s.Location, MaxPlayer: 2})
	_, search := s.Provider.SearchSessions(ctx, session.SearchSessionsRequest{FleetID: s.FleetID})
	_, host := s.Provider.Host(ctx, session.HostRequest{SessionName: "over", OwnerID: "ada", Connections: 2})
	_, find := s.Provider.Find(ctx, session.FindRequest{})
	for op, err := range map[string]error{
		"CreateSession": create, "SearchSessions": search, "Host": host, "Find": find,
	} {
		s.wants(op+" with a context that is over", err, session.ErrCanceled, session.ErrTimeout, session.ErrTransport)
	}
	if found, err := s.Provider.Find(s.Context(), session.FindRequest{}); s.can("Find", err) && len(found) != 0 {
		s.Errorf("Find: calls that have failed have left %+v", found)
	}
}

func (s *suite) tickets() {
	m, ok := s.Provider.(session.Matchmaker)
	if !ok {
		return
	}
	_, err := m.Ticket(s.Context(), "missing")
	s.wants("Ticket that does not exist", err, session.ErrNotFound)
	if w, ok := m.(session.TicketWatcher); ok {
		err := w.WatchTicket(s.Context(), "missing",
			func(session.Ticket) { s.Error("WatchTicket: there is no such ticket") })
		s.wants("WatchTicket that does not exist", err, session.ErrNotFound)
	}
	s.wants("StopMatchmaking of a ticket that does not exist",
		m.StopMatchmaking(s.Context(), session.StopMatchmakingRequest{TicketID: "missing"}), session.ErrNotFound)
}
