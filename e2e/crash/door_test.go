//go:build unix

package crash

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/e2e/child"
)

// doorCompute is the compute of the processes that knock at a starting service.
const doorCompute = "knocker"

// watchDoor makes calls, and opens sockets, while the service starts: one that
// does not know its own state yet must not say that a thing does not exist, or
// that a key or a token is wrong. The function that it returns waits until the
// service has let both in.
func (t *trial) watchDoor() (wait func()) {
	ctx, cancel := context.WithTimeout(t.ctx, child.StartLimit)
	var knocking sync.WaitGroup
	for name, knock := range map[string]func(context.Context) error{
		"call": t.knockWithCall, "socket": t.knockWithSocket,
	} {
		knocking.Go(func() {
			pause := time.NewTicker(2 * time.Millisecond)
			defer pause.Stop()
			for ; ctx.Err() == nil; <-pause.C {
				err := knock(ctx)
				if result, _ := calls.OutcomeOf(err); result == calls.Refused {
					t.found.Lost("a %s was refused while the service started: %v", name, err)
					return
				} else if result == calls.Acknowledged {
					return
				}
			}
		})
	}
	return func() {
		knocking.Wait()
		cancel()
	}
}

func (t *trial) knockWithCall(ctx context.Context) error {
	_, err := t.client.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{t.fleet}})
	return err
}

// knockWithSocket asks for a socket, and closes the one that it gets.
func (t *trial) knockWithSocket(ctx context.Context) error {
	query := url.Values{
		"pID": {fmt.Sprint("knocker-", t.ledger.number())}, "sdkVersion": {"5.6.0"}, "sdkLanguage": {"Go"},
		"ComputeId": {doorCompute},
		"FleetId":   {t.fleet}, "Authorization": {t.tokens[doorCompute]},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.service.address+"/?"+query.Encode(),
		nil)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	} {
		request.Header.Set(name, value)
	}
	response, err := t.http.RoundTrip(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return &calls.DoorError{Status: response.StatusCode}
	}
	return nil
}
