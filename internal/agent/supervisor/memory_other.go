//go:build !linux

package supervisor

// unmapProgram does nothing: how much of a program is mapped is left to the system.
func unmapProgram() {}
