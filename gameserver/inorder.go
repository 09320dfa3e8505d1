package gameserver

import "sync"

// A sequence runs jobs one after the other, in the order in which they were added. It has a goroutine only while there
// is something to run. The zero value is ready to use.
type sequence struct {
	mu   sync.Mutex
	jobs []func()
	busy chan struct{} // closed when the last job has ended; nil while there is none
}

func (s *sequence) add(job func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, job)
	if s.busy == nil {
		s.busy = make(chan struct{})
		go s.run() // which idle waits for
	}
}

func (s *sequence) run() {
	for {
		job := s.next()
		if job == nil {
			return
		}
		job()
	}
}

// next takes the first job; nil when there is none, and then the goroutine ends.
func (s *sequence) next() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.jobs) == 0 {
		close(s.busy)
		s.busy = nil
		return nil
	}
	job := s.jobs[0]
	s.jobs = s.jobs[1:]
	return job
}

// idle is closed when all jobs so far have ended.
func (s *sequence) idle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy != nil {
		return s.busy
	}
	none := make(chan struct{})
	close(none)
	return none
}
