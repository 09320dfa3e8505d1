// Package muster is the whole service: Run starts it, and any Go program or test can embed it.
package muster

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/server"
)

type (
	// Config configures a service. Start from DefaultConfig or Load, and hand it to Run.
	Config = config.Config
	// GatewayConfig configures the session gateway.
	GatewayConfig = config.Gateway
	// ClusterConfig makes a service one node of a cluster.
	ClusterConfig = config.Cluster
	// Endpoints are the addresses of a running service.
	Endpoints = config.Endpoints
	// Sources are where Load reads settings: flags, the environment and a file.
	Sources = config.Sources
	// Origins maps the name of each setting to the source of its value.
	Origins = config.Origins

	// StandaloneGateway configures a session gateway in front of a service elsewhere.
	StandaloneGateway = config.StandaloneGateway
	// GatewayHandler is such a gateway as an http.Handler, without a port.
	GatewayHandler = server.GatewayHandler

	// Restored describes a backup that was restored.
	Restored = server.Restored
)

// DefaultConfig returns the default settings of a service.
func DefaultConfig() Config { return config.Default() }

// DefaultClusterConfig returns the default settings of a node.
func DefaultClusterConfig() ClusterConfig { return config.DefaultCluster() }

// DefaultStandaloneGateway returns the default settings of a gateway on its own.
func DefaultStandaloneGateway() StandaloneGateway { return config.DefaultStandaloneGateway() }

// Load changes defaults to what the sources say and validates the result. The error joins everything that is wrong.
func Load(defaults Config, from Sources) (Config, Origins, error) { return config.Load(defaults, from) }

// Run runs a service until ctx is done or it cannot go on.
//
// It ends by itself when the journal can no longer write, because the disk is full or fails, and does not begin when
// the stored state is incomplete. The error says what to do then.
func Run(ctx context.Context, c Config) error { return server.Run(ctx, c) }

// RunGateway runs a session gateway until ctx is done or it cannot go on.
func RunGateway(ctx context.Context, c StandaloneGateway) error { return server.RunGateway(ctx, c) }

// NewGatewayHandler returns a session gateway for a program that receives requests in its own way. The settings of
// ports and certificates have no effect. The caller closes it.
func NewGatewayHandler(ctx context.Context, c StandaloneGateway) (*GatewayHandler, error) {
	return server.NewGatewayHandler(ctx, c)
}

// InitCluster prepares the data directory out/NODE of each node of a cluster, and returns the directories that it wrote
// to. All nodes get the same secret and the same certificate authority; directories that have these stay as they are.
// It refuses directories that disagree, and then writes nothing.
func InitCluster(out string, nodes []string, now time.Time) (made []string, err error) {
	return server.InitCluster(out, nodes, now)
}

// Restore makes a data directory from a backup. The directory must be empty or not exist. The whole backup is
// checked before anything is written. An encrypted one is decrypted as file is read. log may be nil.
func Restore(ctx context.Context, data string, file io.ReadSeeker, log *slog.Logger) (Restored, error) {
	return server.Restore(ctx, data, file, log)
}

// RestoreCluster prepares the data directory out/NODE of each node of a new cluster from a backup. The first node
// restores it when the nodes start for the first time.
func RestoreCluster(out string, nodes []string, file io.ReadSeeker, now time.Time) (Restored, error) {
	return server.RestoreCluster(out, nodes, file, now)
}
