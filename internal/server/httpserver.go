package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/listen"
)

// maxHead is the largest head of a request that net/http reads, in bytes.
const maxHead = 32 << 10

// newServer makes a server for requests of anybody, each part of which has a limit: its
// head, and the time in which it arrives and its answer is written. Whoever needs more time
// for an answer sets its own deadlines, as event streams do for each write.
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
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // what strangers send is not worth more
	}
}

const (
	// keptFiles are those that a process needs besides its connections, and keptPerShard
	// those for each shard: of the journal, snapshots, other nodes and clients of its own.
	// At rest a service alone has 13 open, and 3 for each shard.
	keptFiles    = 192
	keptPerShard = 12

	// fewestConnections are allowed when there are hardly any files.
	fewestConnections = 64
)

// connectionLimits bounds the connections of all ports of a process that may open so many
// files, of which it keeps some for other use. most and mostEach are the settings
// max-connections and max-connections-per-address.
func connectionLimits(most, mostEach, files, kept int, log *slog.Logger) *listen.Limits {
	room := max(fewestConnections, min(files-kept, config.MostConnections))
	if most > room {
		log.Warn("max-connections lowered", "max_connections", most, "to", room, "open_files", files, "kept", kept, "fix", "raise the limit of open files")
	}
	if most == 0 || most > room {
		most = room
	}
	if mostEach == 0 {
		mostEach = (most + 1) / 2
	}
	return listen.NewLimits(most, mostEach, log)
}
