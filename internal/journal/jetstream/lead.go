package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// leadPause is the time between two checks of the leader, leadAgain that between two requests.
	leadPause = 10 * time.Millisecond
	leadAgain = 500 * time.Millisecond

	// leadAsk is the timeout of a request to the leader. There may be none.
	leadAsk = 100 * time.Millisecond
)

// Lead makes this node the leader of a shard's stream. If there is no leader it waits for the election, since an append
// would too, and then at most limit for the transfer. Records are then appended with one hop less, and the loss of this
// node stops no other node's streams.
//
// It is for the owner before its first append: an append during the transfer may be lost without an answer. After a
// failure another node leads, which works as well. Lead does nothing for a node alone or an external NATS.
func (e *Engine) Lead(ctx context.Context, shard int, limit time.Duration) error {
	if e.cfg.Cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience+limit)
	defer cancel()
	if err := e.lead(ctx, streamName(shard), limit); err != nil {
		return fmt.Errorf("lead shard %d: %w", shard, err)
	}
	return nil
}

func (e *Engine) lead(ctx context.Context, stream string, limit time.Duration) error {
	var found, asked time.Time // a leader; and to step down
	for !e.server.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
		if !found.IsZero() && time.Since(found) > limit {
			return fmt.Errorf("%w: stream %s has another leader", context.DeadlineExceeded, stream)
		}
		if time.Since(asked) > leadAgain {
			group, err := e.group(ctx, stream)
			if err != nil {
				return err
			}
			if found.IsZero() && group.Leader != "" {
				found = time.Now()
			}
			if e.mayLead(group) {
				asked = time.Now()
				if err := e.stepDown(ctx, stream); err != nil && (!passes(err) || ctx.Err() != nil) {
					return err
				}
			}
		}
		if err := pause(ctx, leadPause); err != nil {
			return err
		}
	}
	return nil
}

// mayLead reports whether this node can lead a group now. It cannot right after its start; the leader would then be
// succeeded by another node.
func (e *Engine) mayLead(group *jetstream.ClusterInfo) bool {
	return slices.ContainsFunc(group.Replicas, func(r *jetstream.PeerInfo) bool {
		return r.Name == e.cfg.Cluster.Node && r.Current && !r.Offline
	})
}

// group returns the members of a stream's group, without a leader if there is none.
func (e *Engine) group(ctx context.Context, stream string) (*jetstream.ClusterInfo, error) {
	asking, cancel := context.WithTimeout(ctx, leadAsk)
	defer cancel()
	s, err := e.js.Stream(asking, stream)
	if passes(err) && ctx.Err() == nil {
		return &jetstream.ClusterInfo{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("stream info: %w", err)
	}
	if info := s.CachedInfo(); info.Cluster != nil {
		return info.Cluster, nil
	}
	return &jetstream.ClusterInfo{}, nil
}

// stepDown asks the leader of a stream to transfer leadership to this node. Source: NATS JetStream API,
// $JS.API.STREAM.LEADER.STEPDOWN.
func (e *Engine) stepDown(ctx context.Context, stream string) error {
	type placement struct {
		Preferred string `json:"preferred"`
	}
	request, err := json.Marshal(struct {
		Placement placement `json:"placement"`
	}{placement{e.cfg.Cluster.Node}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, leadAsk)
	defer cancel()
	answer, err := e.conn.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, request)
	if err != nil {
		return fmt.Errorf("ask the leader to step down: %w", err)
	}
	var said struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &said); err != nil {
		return fmt.Errorf("ask the leader to step down: %w", err)
	}
	if said.Error != nil {
		return fmt.Errorf("ask the leader to step down: %w", said.Error)
	}
	return nil
}
