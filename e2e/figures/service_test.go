package figures

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/muster-gg/muster"
)

// start runs the whole service on a data directory and a port of its own, and
// returns when it answers.
func start(tb testing.TB, dir string) (e muster.Endpoints, stop func()) {
	tb.Helper()
	return startWith(tb, dir, figureConfig())
}

// startWith runs it with other settings.
func startWith(tb testing.TB, dir string, config muster.Config) (e muster.Endpoints, stop func()) {
	tb.Helper()
	config.Data = dir
	ready, ended := make(chan muster.Endpoints, 1), make(chan error, 1)
	config.Ready = func(e muster.Endpoints) { ready <- e }
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	go func() { ended <- muster.Run(ctx, config) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("the service ended with: %v", err)
		}
	})
	select {
	case e = <-ready:
		tb.Cleanup(stop)
	case err := <-ended:
		cancel()
		tb.Fatalf("the service did not start: %v", err)
	}
	return e, stop
}

// figureConfig is how a service runs that is measured: nothing runs out meanwhile.
func figureConfig() muster.Config {
	config := muster.DefaultConfig()
	config.Listen, config.Gateway.Listen = "127.0.0.1:0", ""
	config.Gateway.AddressRate, config.Gateway.PlayerRate, config.Gateway.MaxUnused = 0, 0, 0 // tests share one address
	config.Region, config.Account, config.Shards = testRegion, testAccount, shards
	config.ProcessGrace, config.ReservationTimeout = long, long
	config.MaxConnectionsPerAddress = 1_000_000 // all come from this one
	return config
}

// counters reads what a service has counted, by the name of the metric.
func counters(tb testing.TB, e muster.Endpoints) map[string]float64 {
	tb.Helper()
	response, err := http.Get(e.HTTP + "/metrics")
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	values := map[string]float64{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			values[name] = value
		}
	}
	if len(values) == 0 {
		tb.Fatal(fmt.Errorf("%s: no metrics in the answer", response.Status))
	}
	return values
}
