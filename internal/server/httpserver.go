package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/listen"
)

// maxHead is the maximum size of a request's head for net/http, in bytes.
const maxHead = 32 << 10

// newServer returns a server for unauthenticated clients, with limits for the head, for receiving a request and for
// writing its answer. Handlers that need more time set their own deadlines, as event streams do for each write.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	const (
		head = 20 * time.Second
		rest = 30 * time.Second // to arrive, beyond the time for an answer
	)
	return &http.Server{
		Handler:           handler,
		MaxHeaderBytes:    maxHead - 4<<10, // the server reads 4 KiB more
		ReadHeaderTimeout: head,
		ReadTimeout:       api.Deadline + rest, // ends the request's context, too
		WriteTimeout:      api.Deadline + rest,
		IdleTimeout:       listen.DefaultIdle,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // errors of unauthenticated clients
	}
}

const (
	// keptFiles are open files besides connections, and keptPerShard those per shard: journal, snapshots, other nodes
	// and internal clients. An idle service without a cluster has 13 open, and 3 per shard.
	keptFiles    = 192
	keptPerShard = 12

	// fewestConnections are allowed in any case.
	fewestConnections = 64
)

// connectionLimits limits the connections of all ports of a process with so many open files, of which some are kept for
// other uses. most and mostEach are the settings max-connections and max-connections-per-address.
func connectionLimits(most, mostEach, files, kept int, log *slog.Logger) *listen.Limits {
	room := max(fewestConnections, min(files-kept, config.MostConnections))
	if most > room {
		log.Warn("max-connections lowered", "max_connections", most, "to", room, "open_files", files, "kept", kept,
			"fix", "raise the limit of open files")
	}
	if most == 0 || most > room {
		most = room
	}
	if mostEach == 0 {
		mostEach = (most + 1) / 2
	}
	return listen.NewLimits(most, mostEach, log)
}
