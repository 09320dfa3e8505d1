package figures

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/bench"
)

// A callersOrder is the first order of the callers: where the service is, and how
// many game servers shall wait.
type callersOrder struct {
	Endpoints muster.Endpoints
	Pool      int
}

// A turnOrder is to call one gateway.
type turnOrder struct {
	Gateway string // base URL
	Calls   int
	Rate    float64 // calls a second, at fixed times; 0: one after the other
}

// called is what the callers answer to an order.
type called struct {
	Rate, P50, P99 float64 // calls a second, ms
	CPU            float64 // µs a call, of callers and game servers
	Error          string
}

// callers call create_session as game clients do.
type callers struct {
	servers *gameServers
	http    *http.Client
	players int // so far
}

// callGateways plays the callers. They have the game servers too.
func callGateways(orders *json.Decoder, answer func(any) error) error {
	var first callersOrder
	if err := orders.Decode(&first); err != nil {
		return err
	}
	ctx := context.Background()
	servers, err := openGameServers(ctx, first.Endpoints, first.Pool)
	if err != nil {
		return errors.Join(err, answer(called{Error: err.Error()}))
	}
	defer servers.close()
	c := &callers{servers: servers, http: pooled()}
	err = answer(called{})
	for err == nil {
		var t turnOrder
		if err = orders.Decode(&t); err == nil {
			err = answer(c.turn(ctx, t))
		}
	}
	return ignoring(err, io.EOF)
}

// turn calls one gateway. It returns when the game servers that had a game session
// are replaced.
func (c *callers) turn(ctx context.Context, t turnOrder) called {
	calls := make([]gatewayCall, t.Calls)
	for i := range calls {
		c.players++
		calls[i].player = playerID(uint64(c.players))
	}
	cpu, begin := bench.OwnCPU(), time.Now()
	if t.Rate > 0 {
		c.offer(ctx, t, calls)
	} else {
		c.oneByOne(ctx, t, calls)
	}
	spent := bench.OwnCPU() - cpu
	return newCalled(t, calls, begin, spent)
}

// offer begins each call at its time, however long those before take.
func (c *callers) offer(ctx context.Context, t turnOrder, calls []gatewayCall) {
	var all sync.WaitGroup
	begin := time.Now()
	for i := range calls {
		due := begin.Add(time.Duration(float64(i) / t.Rate * float64(time.Second)))
		pause(ctx, time.Until(due))
		all.Go(func() { calls[i].make(ctx, c, t.Gateway, due) })
	}
	all.Wait()
}

// pause waits for a while, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (c *callers) oneByOne(ctx context.Context, t turnOrder, calls []gatewayCall) {
	for i := range calls {
		calls[i].make(ctx, c, t.Gateway, time.Now())
	}
}

// A gatewayCall is one request of a game client.
type gatewayCall struct {
	player string
	took   time.Duration // from when it was due to the end of the answer
	done   time.Time     // when the answer was there
	err    error
}

// make makes the call and then replaces the game server.
func (c *gatewayCall) make(ctx context.Context, by *callers, gateway string, due time.Time) {
	body, err := by.post(ctx, gateway, c.player)
	c.done = time.Now()
	c.took = c.done.Sub(due)
	var session string
	if err == nil {
		session, err = reservedFor(body, c.player)
	}
	if err == nil {
		err = by.servers.replace(ctx, session)
	}
	c.err = err
}

// post asks for a game session for a player.
func (c *callers) post(ctx context.Context, gateway, player string) ([]byte, error) {
	body, err := json.Marshal(creation{SessionName: "a game", BuildID: 1234, UUID: player, Connections: 4})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+"/create_session", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return answer, err
}

// reservedFor reads an answer, which must hold a place that is reserved for the
// player, and returns the id of the game session.
func reservedFor(answer []byte, player string) (session string, err error) {
	var place struct {
		GameSessionID   string `json:"GameSessionId"`
		PlayerSessionID string `json:"PlayerSessionId"`
		PlayerID        string `json:"PlayerId"`
		Status          string
		Port            int
	}
	if err := json.Unmarshal(answer, &place); err != nil {
		return "", fmt.Errorf("%w: %s", err, answer)
	}
	if place.PlayerSessionID == "" || place.PlayerID != player || place.Status != "RESERVED" || place.Port != 7777 {
		return "", fmt.Errorf("no place for %s: %s", player, answer)
	}
	return place.GameSessionID, nil
}

// newCalled sums calls up.
func newCalled(t turnOrder, calls []gatewayCall, begin time.Time, spent time.Duration) (c called) {
	took := make([]time.Duration, len(calls))
	var elapsed, last time.Duration
	for i := range calls {
		if calls[i].err != nil {
			return called{Error: fmt.Sprintf("call %d of %d at %s: %v", i+1, len(calls), t.Gateway, calls[i].err)}
		}
		took[i] = calls[i].took
		elapsed += took[i]
		last = max(last, calls[i].done.Sub(begin))
	}
	if t.Rate > 0 {
		elapsed = last // else they came one after the other, with the replacing in between
	}
	n := float64(len(calls))
	return called{
		Rate: n / elapsed.Seconds(), P50: quantile(took, 0.5), P99: quantile(took, 0.99),
		CPU: float64(spent.Nanoseconds()) / 1000 / n,
	}
}
