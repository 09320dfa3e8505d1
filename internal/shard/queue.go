package shard

import "sync"

// A request is a command or a read, with exactly one of done and call set; or a refresh, with nothing set.
type request[C, M any] struct {
	cmd     C
	read    func(M) // set: cmd is empty
	done    func(answer any, err error)
	call    *call
	refresh bool
}

// A queue is the bounded queue of requests for the loop. The loop takes all waiting requests at once, to lock rarely.
type queue[C, M any] struct {
	limit int
	wake  chan struct{} // has a token if the loop does not know of waiting requests

	mu      sync.Mutex
	waiting []request[C, M]
	closed  bool
	room    chan struct{} // closed when there is room again; nil if nobody waits for it
}

func newQueue[C, M any](limit int) *queue[C, M] {
	return &queue[C, M]{limit: limit, wake: make(chan struct{}, 1)}
}

// put adds a request. If the queue is full and wait is set, it returns a channel to wait on. The error reports that the
// queue is closed, or full without wait.
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

// push adds a request even if the queue is full; it returns false if it is closed.
func (q *queue[C, M]) push(r request[C, M]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.add(r)
	}
	return !q.closed
}

// add adds a request. mu is held.
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

// take returns all waiting requests and uses empty, which is cleared, for the next ones.
func (q *queue[C, M]) take(empty []request[C, M]) []request[C, M] {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.waiting
	q.waiting = empty[:0]
	q.makeRoom()
	return taken
}

// close rejects all further requests. Waiting ones remain for take.
func (q *queue[C, M]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.makeRoom()
}

// makeRoom wakes the callers that wait for room.
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

// claim reports whether the request is still wanted. Its caller cannot withdraw it afterwards.
func (r *request[C, M]) claim() bool {
	return r.call == nil || r.call.stage.CompareAndSwap(callWaiting, callHandled)
}
