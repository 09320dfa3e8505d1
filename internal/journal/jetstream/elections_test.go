package jetstream

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// An election is called for when the leader is missed, when nobody was elected, and when
// two have stood at the same time.
func TestElectionIsDue(t *testing.T) {
	group := func(state server.RaftState, leader string, term uint64, seen time.Duration) *server.RaftzGroup {
		return &server.RaftzGroup{
			State: state.String(), Leader: leader, Term: term, PTerm: 1, QuorumNeeded: 2,
			Peers: map[string]server.RaftzGroupPeer{"B": {Name: "b", LastSeen: seen.String()}, "C": {Name: "c", LastSeen: "1ms"}},
		}
	}
	led := group(server.Follower, "B", 1, time.Millisecond)
	silent := group(server.Follower, "B", 1, silence+time.Second)
	vacant := group(server.Follower, "", 2, 0)
	standing := group(server.Candidate, "", 2, 0)
	both, gone := []string{"b", "c"}, []string{"c"}
	for _, tt := range []struct {
		name    string
		looks   []*server.RaftzGroup
		reached []string
		want    int // the look at which it is, counted from 1; 0: never
	}{
		{"a leader", []*server.RaftzGroup{led, led, led, led, led, led, led}, both, 0},
		{"this node leads", []*server.RaftzGroup{group(server.Leader, "A", 1, 0), group(server.Leader, "A", 1, 0)}, gone, 0},
		{"a leader who is not reached", []*server.RaftzGroup{led, led}, gone, 2},
		{"a leader who says nothing", []*server.RaftzGroup{silent, silent}, both, 2},
		{"one who was not heard once", []*server.RaftzGroup{silent, led, silent, led}, both, 0},
		{"no majority", []*server.RaftzGroup{silent, silent, silent, silent, silent, silent, silent}, nil, 0},
		{"nobody was elected", []*server.RaftzGroup{vacant, vacant, vacant, vacant, vacant, vacant}, gone, 6},
		{"two have stood", []*server.RaftzGroup{vacant, standing, standing, standing}, gone, 4},
		{"there was another election", []*server.RaftzGroup{standing, standing, group(server.Candidate, "", 3, 0), group(server.Candidate, "", 3, 0)}, gone, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w watch
			got := 0
			for i, g := range tt.looks {
				if w.due(g, tt.reached) && got == 0 {
					got = i + 1
				}
			}
			if got != tt.want {
				t.Errorf("due at look %d, want %d", got, tt.want)
			}
		})
	}
}

// A leader resigns who had a majority and has none any more.
func TestLeaderIsAlone(t *testing.T) {
	group := func(state server.RaftState) *server.RaftzGroup {
		return &server.RaftzGroup{State: state.String(), QuorumNeeded: 2, Peers: map[string]server.RaftzGroupPeer{"B": {Name: "b"}, "C": {Name: "c"}}}
	}
	both, one, none := []string{"b", "c"}, []string{"b"}, []string(nil)
	for _, tt := range []struct {
		name    string
		state   server.RaftState
		reached [][]string
		want    int // the look at which it does, counted from 1; 0: never
	}{
		{"all are reached", server.Leader, [][]string{both, both, both}, 0},
		{"one of two is", server.Leader, [][]string{both, one, one, one}, 0},
		{"nobody is", server.Leader, [][]string{both, both, none, none}, 3},
		{"nobody was yet", server.Leader, [][]string{none, none, none}, 0},
		{"a follower", server.Follower, [][]string{both, none, none, none}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w watch
			got := 0
			for i, reached := range tt.reached {
				if w.isAlone(group(tt.state), reached) && got == 0 {
					got = i + 1
				}
			}
			if got != tt.want {
				t.Errorf("resigns at look %d, want %d", got, tt.want)
			}
		})
	}
}
