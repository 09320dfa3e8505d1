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
	// leadPause lies between two looks at who leads, leadAgain between two requests.
	leadPause = 10 * time.Millisecond
	leadAgain = 500 * time.Millisecond

	// leadAsk is how long the leader has to answer. There may be none just now.
	leadAsk = 100 * time.Millisecond
)

// Lead moves the leader of a shard's stream to this node, and waits until it is
// there or ctx is done. Records are then appended with one hop less, and what
// ends this node ends no other node's streams.
//
// It is for the owner before its first append: what is under way meanwhile may
// be lost without an answer. A failure leaves another leader, which serves as
// well. It does nothing for a node alone, or with an external NATS, whose
// servers are not this process's.
func (e *Engine) Lead(ctx context.Context, shard int) error {
	if e.cfg.Cluster == nil {
		return nil
	}
	if err := e.lead(ctx, streamName(shard)); err != nil {
		return fmt.Errorf("lead shard %d: %w", shard, err)
	}
	return nil
}

func (e *Engine) lead(ctx context.Context, stream string) error {
	var asked time.Time
	for !e.server.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
		if time.Since(asked) > leadAgain {
			group, err := e.group(ctx, stream)
			if err != nil {
				return err
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

// mayLead reports whether this node is ready to lead a group. It is not when it
// has just come up: then another one would, if the leader were asked.
func (e *Engine) mayLead(group *jetstream.ClusterInfo) bool {
	return slices.ContainsFunc(group.Replicas, func(r *jetstream.PeerInfo) bool {
		return r.Name == e.cfg.Cluster.Node && r.Current && !r.Offline
	})
}

// group is who keeps a stream, without a leader while there is none.
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

// stepDown asks the leader of a stream to make way for this node. Source: NATS
// JetStream API, $JS.API.STREAM.LEADER.STEPDOWN.
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
