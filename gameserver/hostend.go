package gameserver

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/life"
)

// HandleDestroySession begins the end of the process and returns at once: for the network layer when it shuts down, and
// for anything else that ends the process. After the end has begun it does nothing.
func (h *Host) HandleDestroySession() { h.terminate("the game server asks for it", nil) }

// Close begins the end of the process, unless it has begun, and waits for it. It returns Err, or the error of ctx if
// that is done before; the end then goes on. It must not be called from a callback: it would wait for it.
func (h *Host) Close(ctx context.Context) error {
	h.terminate("the game server closes", nil)
	if h.done == nil { // a zero value
		return nil
	}
	select {
	case <-h.done:
		return h.Err()
	case <-ctx.Done():
		return failed("Close", ctx.Err())
	}
}

// Wait waits for the end of the process and returns Err. It must not be called from a callback.
func (h *Host) Wait() error {
	<-h.done
	return h.Err()
}

// Ending is closed when the end of the process begins.
func (h *Host) Ending() <-chan struct{} { return h.ending.Done() }

// Done is closed when the process has ended for the service and the Host has nothing more to do. A callback may still
// be running if it took longer than its limit.
func (h *Host) Done() <-chan struct{} { return h.done }

// Err returns nil until Done is closed, and after an orderly end: the service asked for it, the last player has left,
// HandleDestroySession, or Close. Otherwise it returns why the process has ended: it could not be made ready,
// OnCreateSessionBegin returned false or panicked, or the game session could not be activated; or else why the end
// could not be reported to the service.
func (h *Host) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// ExitCode is what the process is to exit with when Done is closed: 0, or 1 if Err is not nil.
func (h *Host) ExitCode() int {
	if h.Err() != nil {
		return 1
	}
	return 0
}

func (h *Host) isEnding() bool { return h.ending.Err() != nil }

// terminate begins the end, the first time that it is called. It never waits.
// cause is the error that the process ends with; nil if the end is as it should be.
func (h *Host) terminate(reason string, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil || !h.life.Do(life.Destroy) {
		return
	}
	h.beginEnd()
	go h.end(reason, cause, h.initialized) // done is closed by it, which Wait waits for
}

// end is the end of the process, step by step.
func (h *Host) end(reason string, cause error, initialized bool) {
	defer close(h.done)
	planned, ordered := h.server.TerminationTime()
	if !ordered {
		planned = h.clock.Now()
	}
	h.log.Info("game server is ending", "reason", reason, "planned", planned.UTC().Format(time.RFC3339))
	h.change(func(r *roster, _ time.Time) { r.shut() })
	if initialized {
		h.destroyBegin()
		h.drain()
		if err := h.reportEnding(); cause == nil {
			cause = err
		}
		h.destroyEnd()
	}
	h.server.Close()
	h.running.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = cause
	h.life.Do(life.Release)
}

// destroyBegin has the game server prepare for the end. The other callbacks have the same time to return.
func (h *Host) destroyBegin() {
	limit, cancel := within(context.Background(), h.clock, h.cfg.DestroyLimit)
	defer cancel(nil)
	if !h.await(limit, "OnDestroySessionBegin", func() bool { return h.destroySessionBegin() == nil }) {
		<-limit.Done()
	}
	select {
	case <-h.callbacks.idle():
	case <-limit.Done():
		h.log.Warn("a callback still runs: the process ends without it")
	}
}

func (h *Host) destroyEnd() {
	limit, cancel := within(context.Background(), h.clock, h.cfg.DestroyLimit)
	defer cancel(nil)
	h.await(limit, "OnDestroySessionEnd", func() bool {
		h.destroySessionEnd()
		return true
	})
}

// await makes a call and waits for the answer, which is no if it does not come in time.
func (h *Host) await(limit context.Context, callback string, call func() bool) bool {
	answer := make(chan bool, 1)
	go func() { answer <- call() }() // one that hangs is left behind
	select {
	case yes := <-answer:
		return yes
	case <-limit.Done():
		h.log.Warn("callback took too long: the process ends without it", "callback", callback,
			"limit", h.cfg.DestroyLimit)
		return false
	}
}

// reportEnding notifies the service that the process ends.
func (h *Host) reportEnding() error {
	err := h.server.ProcessEnding(context.Background()) // which has a limit of its own
	if lost := h.server.Err(); err != nil && lost != nil {
		err = lost // says more than that the Server is closed
	}
	if err != nil {
		h.log.Error("reporting the end of the process failed", "error", err)
	}
	return err
}
