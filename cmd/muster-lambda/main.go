// Command muster-lambda is the session gateway as an AWS Lambda function, behind a REST API, an HTTP API or a function
// URL. Build it for the runtime provided.al2023:
//
//	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -tags lambda.norpc -o bootstrap ./cmd/muster-lambda
//
// Give it a timeout of 15 s, and route everything to it ($default, or /{proxy+}). Its role needs, of GameLift,
// CreateGameSession, DescribeGameSessions, SearchGameSessions, TerminateGameSession, CreatePlayerSessions and
// DescribePlayerSessions; ListFleets, DescribeFleetAttributes, DescribeFleetLocationAttributes,
// DescribeFleetLocationUtilization, DescribeFleetUtilization and ResolveAlias to choose fleet and location and for
// /readyz; UpdateGameSession with MUSTER_GATEWAY_REUSE; and the operations of placements or matchmaking where those are
// used.
//
// The settings are those of "muster gateway", as environment variables; see docs/reference/configuration.md. Those
// about ports have no effect. Besides:
//
//	MUSTER_GATEWAY_KEYS       name:key,name:key of API keys, one of which a request must carry
//	MUSTER_GATEWAY_SECRET     keys the hashes in ids; the same for all gateways of a service
//	MUSTER_GATEWAY_BASE_PATH  what a custom domain puts before the paths
//
// Rates hold for each instance of the function by itself. Streams of events cannot be had from a function; their paths
// answer with status 501.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	runtime "github.com/aws/aws-lambda-go/lambda"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/gateway/lambda"
)

func main() {
	if err := run(context.Background(), os.Environ()); err != nil {
		fmt.Fprintln(os.Stderr, "muster-lambda:", err)
		os.Exit(1)
	}
}

// run answers events until Lambda ends the process. It returns only with an error: then nothing was answered.
func run(ctx context.Context, environ []string) error {
	handler, err := newFunction(ctx, environ, os.Stderr)
	if err != nil {
		return err
	}
	runtime.StartWithOptions(handler.Invoke, runtime.WithContext(ctx))
	return nil
}

// newFunction makes the gateway. It calls nobody.
func newFunction(ctx context.Context, environ []string, log io.Writer) (*lambda.Handler, error) {
	config, _, err := config.Load(config.DefaultStandaloneGateway(), config.Sources{
		Environ: environ, Elsewhere: []string{"gateway-keys", "gateway-secret", "gateway-base-path"},
	})
	if err != nil {
		return nil, err
	}
	if config.Gateway.Keys, err = parseKeys(variable(environ, "MUSTER_GATEWAY_KEYS")); err != nil {
		return nil, err
	}
	config.Secret = []byte(variable(environ, "MUSTER_GATEWAY_SECRET"))
	config.LogFormat = "json" // which CloudWatch can search
	config.Log = config.Logger(log)
	handler, err := muster.NewGatewayHandler(ctx, config)
	if err != nil {
		return nil, err
	}
	return lambda.New(lambda.Config{
		Handler: handler, BasePath: variable(environ, "MUSTER_GATEWAY_BASE_PATH"),
		NoStream: func(w http.ResponseWriter, _ *http.Request) {
			gateway.WriteError(w, gateway.NotSupported,
				"Streams of events cannot be had from this gateway. Ask for the state instead.")
		},
	})
}

// variable is the value of an environment variable, given as NAME=value.
func variable(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// parseKeys reads API keys by name. What is wrong is said without showing a key.
func parseKeys(text string) (map[string]string, error) {
	keys := map[string]string{}
	for i, entry := range strings.Split(text, ",") {
		if text == "" {
			break
		}
		name, key, ok := strings.Cut(strings.TrimSpace(entry), ":")
		if _, again := keys[name]; !ok || again {
			return nil, fmt.Errorf("MUSTER_GATEWAY_KEYS: entry %d is not name:key with a name of its own", i+1)
		}
		keys[name] = key
	}
	return keys, nil
}
