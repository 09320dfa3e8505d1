package jetstream

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A leader steps down once, when it had a majority and has lost it.
func TestLeaderLosesMajority(t *testing.T) {
	const now, late = time.Millisecond, silence + time.Millisecond
	for _, tt := range []struct {
		name  string
		state server.RaftState
		seen  [][2]time.Duration // by check: how long ago each of two followers responded
		want  int                // the check at which it steps down, counted from 1; 0: never
	}{
		{"all respond", server.Leader, [][2]time.Duration{{now, now}, {now, now}, {now, now}}, 0},
		{"one of two responds", server.Leader, [][2]time.Duration{{now, now}, {now, late}, {now, late}}, 0},
		{"none responds any more", server.Leader,
			[][2]time.Duration{{now, now}, {now, late}, {late, late}, {late, late}}, 3},
		{"none has responded yet", server.Leader, [][2]time.Duration{{late, late}, {late, late}}, 0},
		{"a follower", server.Follower, [][2]time.Duration{{now, now}, {late, late}, {late, late}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			backed, got := backed{}, 0
			for i, seen := range tt.seen {
				group := &server.RaftzGroup{State: tt.state.String(), QuorumNeeded: 2,
					Peers: map[string]server.RaftzGroupPeer{
						"B": {LastSeen: seen[0].String()}, "C": {LastSeen: seen[1].String()}, "D": {},
					}}
				if backed.lost("group", group) {
					if got != 0 {
						t.Errorf("steps down at check %d, too", i+1)
					}
					got = i + 1
				}
			}
			if got != tt.want {
				t.Errorf("steps down at check %d, want %d", got, tt.want)
			}
		})
	}
}
