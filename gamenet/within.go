package gamenet

import (
	"reflect"
	"runtime"
)

// The Close of a service waits for callbacks, and that of an executor for jobs. Within one of them it would wait for
// itself, possibly by way of another service or executor. Neither the receiver nor the context tells where Close was
// called, and a mark per goroutine would cost something with each packet. The call stack costs only Close.

// runners are the names of the functions that call the game's code, as they are in a call stack. None of them can be
// inlined, because each has a defer; a call stack would name an inlined function too.
var runners = namesOf((*Session).makeHandler, (*Session).call, (*Session).deliver, (*Session).sent, (*Executor).work)

func namesOf(functions ...any) map[string]bool {
	names := make(map[string]bool, len(functions))
	for _, f := range functions {
		names[runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()] = true
	}
	return names
}

// withinCallback reports whether the calling goroutine is running a callback of any session or a job of any executor.
func withinCallback() bool {
	var callers [64]uintptr
	for skip := 1; ; skip += len(callers) {
		n := runtime.Callers(skip, callers[:])
		frames := runtime.CallersFrames(callers[:n])
		for more := n > 0; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			if runners[frame.Function] {
				return true
			}
		}
		if n < len(callers) {
			return false
		}
	}
}
