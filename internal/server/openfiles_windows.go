package server

// openFiles limits the memory of connections: Windows has no small limit of handles.
func openFiles() int { return 32_768 }
