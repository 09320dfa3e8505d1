// Package fault holds the tests of what a service keeps, as one node or as a cluster, when its nodes are killed,
// stopped, cut off from one another, run out of disk, or find their files damaged.
//
// Each trial runs the real binary on each node, game servers that connect through a balancer, some of them the arena's
// as processes of their own, and callers who use the AWS SDK at all nodes. A caller goes to the next node when one
// takes no connection; any other failure counts as a failed call, whose outcome is not known.
//
// Then the fault comes, under load. Afterwards, as every node says it: each thing that was acknowledged is there once,
// creations that are repeated give what they gave before, no process hosts two game sessions, every game server has
// come back by itself, and package history finds that the answers of the whole trial, of all nodes, are those of one
// service.
//
// The files: cluster_test.go has the nodes and the network between them, trial_test.go a trial's way from begin to end,
// load_test.go and servers_test.go the load, arena_test.go the arenas, judge_test.go what is checked, faults_test.go
// the faults.
package fault
