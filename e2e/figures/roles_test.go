package figures

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/listen/sigv4"
)

// serveMuster plays the service. Its only order is the data directory; it
// answers with its endpoints.
func serveMuster(orders *json.Decoder, answer func(any) error) error {
	config := figureConfig()
	return serveConfigured(&config, &config.Data, orders, answer)
}

// serveGateway plays the service with its session gateway.
func serveGateway(orders *json.Decoder, answer func(any) error) error {
	config := figureConfig()
	config.Gateway.Listen, config.Gateway.AccessLog = "127.0.0.1:0", "off"
	return serveConfigured(&config, &config.Data, orders, answer)
}

// A nodeOrder says which node of a region a service is, or that it is alone.
type nodeOrder struct {
	Data    *string
	Cluster *muster.ClusterConfig
}

// serveNode plays a node of a region. It answers its only order with its endpoints.
func serveNode(orders *json.Decoder, answer func(any) error) error {
	config := figureConfig()
	config.Shards = nodeShards
	return serveConfigured(&config, &nodeOrder{&config.Data, &config.Cluster}, orders, answer)
}

// serveConfigured plays a service. Its only order fills in what the configuration lacks.
func serveConfigured(config *muster.Config, lacking any, orders *json.Decoder, answer func(any) error) error {
	config.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := orders.Decode(lacking); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ready, ended := make(chan muster.Endpoints, 1), make(chan error, 1)
	config.Ready = func(e muster.Endpoints) { ready <- e }
	go func() { ended <- muster.Run(ctx, *config) }()
	select {
	case e := <-ready:
		err := answer(e)
		if err == nil {
			err = untilNoMoreFootprints(orders, answer)
		}
		cancel()
		return errors.Join(err, <-ended)
	case err := <-ended:
		return err
	}
}

// An assignment is the first order of a load generator.
type assignment struct {
	Of          string // what is told with the progress
	Profile     string // of package bench
	Endpoints   muster.Endpoints
	Connections int
	InFlight    int // on each connection
	Pool        int
	Waiting     int // tickets, of profile matchmaking
	Rate        float64
	Progress    bool
}

// A turn is what a load generator answers to an order.
type turn struct {
	Result *bench.Result // nil when it has only prepared
	Error  string
}

// roundLimit is how long a round of a load generator may take.
const roundLimit = 2 * time.Minute

// generate plays the load generator. After its assignment each order is a number
// of operations, to be made in one round.
func generate(orders *json.Decoder, answer func(any) error) error {
	var a assignment
	if err := orders.Decode(&a); err != nil {
		return err
	}
	profile, ok := bench.Lookup(a.Profile)
	if !ok {
		return fmt.Errorf("there is no profile %q", a.Profile)
	}
	rounds := false
	b, err := bench.Open(context.Background(), profile, a.config(&rounds))
	if err != nil {
		return errors.Join(err, answer(turn{Error: err.Error()}))
	}
	err = answer(turn{})
	rounds = true
	for err == nil {
		var n int64
		if err = orders.Decode(&n); err == nil {
			err = answer(turn{Result: b.Round(context.Background(), n)})
		}
	}
	rounds = false
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, b.Close(context.Background()))
}

// config is that of the load. What is being done is not told during rounds.
func (a *assignment) config(rounds *bool) bench.Config {
	c := bench.DefaultConfig()
	e := a.Endpoints
	c.Endpoint, c.WebSocketURL, c.MetricsURL = e.HTTP, e.WS, e.HTTP+"/metrics"
	c.Credentials = sigv4.ClientCredentials{AccessKey: e.AccessKey, SecretKey: e.SecretKey, Region: e.Region}
	c.Connections, c.InFlight, c.Pool, c.Rate, c.Duration = a.Connections, a.InFlight, a.Pool, a.Rate, roundLimit
	c.Waiting = a.Waiting
	if a.Progress {
		c.Note = func(text string) {
			if !*rounds {
				fmt.Fprintf(os.Stderr, "%s: %s\n", a.Of, text)
			}
		}
		c.Progress = func(p bench.Progress) {
			fmt.Fprintf(os.Stderr, "%s: %3.0f s %9.0f operations/s, %d errors\n", a.Of, p.Elapsed.Seconds(),
				p.Operations, p.Failures)
		}
	}
	return c
}
