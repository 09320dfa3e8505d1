package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// operate asks for a page of operators, signed with a secret key.
func (s *service) operate(t testing.TB, path, secret string) *http.Response {
	t.Helper()
	return s.operateWith(t, http.MethodGet, path, secret)
}

func (s *service) operateWith(t testing.TB, method, path, secret string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.HTTP+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	nothing := sha256.Sum256(nil)
	keys := aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(t.Context(), keys, request, hex.EncodeToString(nothing[:]),
		"gamelift", s.Region, time.Now()); err != nil {
		t.Fatal(err)
	}
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// inspect reads a page of operators.
func (s *service) inspect(t testing.TB, path string) (status int, body string) {
	t.Helper()
	return read(t, s.operate(t, path, s.SecretKey))
}

func read(t testing.TB, answer *http.Response) (status int, body string) {
	t.Helper()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

// TestOperatorPages looks at what operators are told of placements, tickets and events.
func TestOperatorPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	s.newMatchmaker(t, fleet, types.BackfillModeManual)
	call(t, s.client().StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
		PlacementId: new("waiting"), GameSessionQueueName: new("duel"), MaximumPlayerSessionCount: new(int32(2)),
	})
	s.seek(t, "ada")
	s.awaitTicket(t, "ada", types.MatchmakingConfigurationStatusSearching)
	for path, want := range map[string]struct {
		status int
		words  []string
	}{
		"/v1/placements/waiting":      {http.StatusOK, []string{fleet, home, `"PENDING"`}},
		"/v1/placements/nothing":      {http.StatusNotFound, []string{`"NotFoundException"`, "nothing"}},
		"/v1/tickets/ada/explain":     {http.StatusOK, []string{"ada"}},
		"/v1/tickets/nothing/explain": {http.StatusNotFound, []string{`"NotFoundException"`, "nothing"}},
		"/v1/events":                  {http.StatusOK, nil},
		"/v1/events?limit=none":       {http.StatusBadRequest, []string{`"InvalidRequestException"`, "limit"}},
		"/v1/nothing":                 {http.StatusNotFound, []string{"/v1/events"}},
	} {
		status, body := s.inspect(t, path)
		for _, word := range want.words {
			if !strings.Contains(body, word) {
				t.Errorf("%s has no %s: %s", path, word, body)
			}
		}
		if status != want.status {
			t.Errorf("%s: status %d, want %d: %s", path, status, want.status, body)
		}
	}
	if answer := s.operate(t, "/v1/events", "of somebody else"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a stranger reads the events: %s", answer.Status)
	}
	if status, body := s.get(t, "/v1/events"); status != http.StatusForbidden {
		t.Errorf("without a signature: status %d: %s", status, body)
	}
}

// TestFollowEvents hears of an event while it waits for it.
func TestFollowEvents(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.newMatchmaker(t, s.newFleet(t), types.BackfillModeManual)
	lines := json.NewDecoder(s.operate(t, "/v1/events?follow=true", s.SecretKey).Body)
	positions := map[string]bool{}
	for _, player := range []string{"ada", "bob\u00e9", "cy"} {
		ticket := call(t, s.client().StartMatchmaking, &gamelift.StartMatchmakingInput{
			ConfigurationName: new("duel"),
			Players: []types.Player{{PlayerId: &player,
				PlayerAttributes: map[string]types.AttributeValue{"skill": {N: new(float64(100 * len(positions)))}}}},
		}).MatchmakingTicket
		var line struct {
			Position string
			Event    struct {
				Detail struct {
					Type    string
					Tickets []struct{ TicketID string }
				}
			}
		}
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		positions[line.Position] = true
		if d := line.Event.Detail; d.Type != "MatchmakingSearching" || len(d.Tickets) != 1 ||
			d.Tickets[0].TicketID != *ticket.TicketId {
			t.Errorf("heard %+v, want that ticket %s is searching", d, *ticket.TicketId)
		}
	}
	if len(positions) != 3 {
		t.Errorf("three events have the positions %v", positions)
	}
}
