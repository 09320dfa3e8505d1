package shard

import "sync"

// A request is a command, or a read of the machine, and who waits for it:
// exactly one of done and call is set. Or it is a reminder, and nothing is.
type request[C, M any] struct {
	cmd     C
	read    func(M) // set: a read, and cmd is empty
	done    func(answer any, err error)
	call    *call
	refresh bool
}

// A queue is the bounded row of requests before the loop. The loop takes all
// that waits at once, so that the lock is taken once per handful.
type queue[C, M any] struct {
	limit int
	wake  chan struct{} // holds a token when requests wait that the loop has not been told of

	mu      sync.Mutex
	waiting []request[C, M]
	closed  bool
	room    chan struct{} // closed when there is room again; nil when nobody waits for it
}

func newQueue[C, M any](limit int) *queue[C, M] {
	return &queue[C, M]{limit: limit, wake: make(chan struct{}, 1)}
}

// put adds a request. It returns a channel to wait on when the queue is full and
// wait is set, and an error when the queue is closed, or full without wait.
func (q *queue[C, M]) put(r request[C, M], wait bool) (room <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return nil, Stopped()
	case len(q.waiting) < q.limit:
		q.add(r)
		return nil, nil
	case !wait:
		return nil, Full()
	}
	if q.room == nil {
		q.room = make(chan struct{})
	}
	return q.room, nil
}

// push adds a request even when the queue is full; false when it is closed.
func (q *queue[C, M]) push(r request[C, M]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.add(r)
	}
	return !q.closed
}

// add adds a request. The lock is held.
func (q *queue[C, M]) add(r request[C, M]) {
	q.waiting = append(q.waiting, r)
	if len(q.waiting) == 1 {
		q.signal()
	}
}

func (q *queue[C, M]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take returns all that waits and keeps empty, cleared, for what comes next.
func (q *queue[C, M]) take(empty []request[C, M]) []request[C, M] {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.waiting
	q.waiting = empty[:0]
	q.makeRoom()
	return taken
}

// close refuses all further requests. Those that wait stay for take.
func (q *queue[C, M]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.makeRoom()
}

// makeRoom lets everyone try again who found the queue full.
func (q *queue[C, M]) makeRoom() {
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}

func (q *queue[C, M]) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// claim reports whether the request is still wanted. From then on its caller
// cannot withdraw it.
func (r *request[C, M]) claim() bool {
	return r.call == nil || r.call.stage.CompareAndSwap(callWaiting, callHandled)
}
