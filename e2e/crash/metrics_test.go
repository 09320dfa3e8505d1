//go:build unix

package crash

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// startedCounter is the counter of placements that were requested.
const startedCounter = `muster_queue_placements_total{outcome="started",queue="arena"}`

// counter reads a counter. ok is false while the service does not show it.
func (w *wreck) counter(name string) (value int, ok bool) {
	response, err := (&http.Client{Transport: w.http}).Get("http://" + w.service.address + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		w.t.Fatalf("GET /metrics: %s", response.Status)
	}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), name+" "); found {
			value, err = strconv.Atoi(text)
			return value, err == nil
		}
	}
	return 0, false
}

// place requests a placement.
func (w *wreck) place(id string) {
	w.t.Helper()
	_, err := w.client.StartGameSessionPlacement(w.ctx, &gamelift.StartGameSessionPlacementInput{
		PlacementId: &id, GameSessionQueueName: aws.String("arena"), MaximumPlayerSessionCount: aws.Int32(2),
	})
	w.must(err)
}

// A counter that Prometheus has seen is never less after a kill, and lacks at most what was counted since the last
// sample.
func TestKillKeepsCounters(t *testing.T) {
	t.Parallel()
	w := newWreck(t, 1000)
	w.makeQueue()
	made, lost, seen := 0, 0, 0
	for kill := range share(2) {
		until := time.Now().Add(time.Duration(11+w.random.IntN(9)) * time.Second)
		sampled := made // at least 10 s before the kill, and some time to store the frame
		for time.Now().Before(until) {
			if time.Until(until) > 12*time.Second {
				sampled = made
			}
			w.place(fmt.Sprintf("placement-%d", made))
			made++
			time.Sleep(25 * time.Millisecond) // a load, not a wait
			if now, ok := w.counter(startedCounter); ok {
				if now < seen {
					t.Errorf("kill %d: the counter was %d, and is %d", kill, seen, now)
				}
				seen = now
			}
		}
		w.service.Kill()
		w.http.CloseIdleConnections()
		w.service.start(w.ctx)
		w.connect()
		w.service.Await(w.ctx, func() bool { _, ok := w.counter(startedCounter); return ok })
		now, _ := w.counter(startedCounter)
		if now < seen || now < sampled-lost || now > made-lost {
			t.Errorf("kill %d: the counter is %d, and was %d; of %d placements %d are lost, and %d must not be",
				kill, now, seen, made, lost, sampled-lost)
		}
		lost = made - now
		seen = now
	}
	if seen == 0 {
		t.Error("the counter never increased")
	}
	t.Logf("%d placements, %d of them are not in the counter", made, lost)
}

func (w *wreck) makeQueue() {
	w.t.Helper()
	_, err := w.client.CreateLocation(w.ctx, &gamelift.CreateLocationInput{LocationName: aws.String("custom-here")})
	w.must(err)
	fleet, err := w.client.CreateFleet(w.ctx, &gamelift.CreateFleetInput{
		Name: aws.String("lab"), ComputeType: types.ComputeTypeAnywhere,
		Locations: []types.LocationConfiguration{{Location: aws.String("custom-here")}},
	})
	w.must(err)
	_, err = w.client.CreateGameSessionQueue(w.ctx, &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("arena"), Destinations: []types.GameSessionQueueDestination{
			{DestinationArn: fleet.FleetAttributes.FleetArn},
		},
	})
	w.must(err)
}
