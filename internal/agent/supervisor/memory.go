package supervisor

import "runtime/debug"

// FreeMemory returns memory of this process to the system that it needed for its start alone: of the heap, and on Linux
// the pages of the program, of which the kernel maps many around each that is used. Those that are needed are mapped
// again.
func FreeMemory() {
	debug.FreeOSMemory()
	unmapProgram()
}
